/** Measures how many requests of one caller several gateways admit together, against the limit. */
import type { Caller } from "./Caller.ts"
import { READ_LIMIT } from "./Cluster.ts"

interface ReadRate {
  readonly passed: number
  readonly refused: number
  /** Other answers. */
  readonly others: ReadonlyArray<string>
  readonly seconds: number
  /** Requests that one bucket allows in that time: its capacity and its refill. */
  readonly allowed: number
}

/** Concurrent requests per gateway. */
const AT_ONCE = 4

/** Duration beyond reaching the limit, and in all. */
const BEYOND_SECONDS = 3
const MAX_SECONDS = 60

/** Reads as fast as possible, well beyond the limit. Needs a full bucket, so it works once per caller. */
export const readRate = async (
  caller: Caller,
  gateways: ReadonlyArray<{ readonly url: string }>,
): Promise<ReadRate> => {
  let [passed, refused, until] = [0, 0, MAX_SECONDS]
  const others: Array<string> = []
  const began = performance.now()
  const elapsed = () => (performance.now() - began) / 1000
  const lane = async (gateway: { readonly url: string }) => {
    while (elapsed() < until) {
      const { json, status } = await caller.ask(gateway, "GET", "/api/v1/agents")
      if (status === 200) passed++
      else if (status !== 429) others.push(`${status} ${JSON.stringify(json)}`)
      else if (refused++ === 0) until = elapsed() + BEYOND_SECONDS
    }
  }
  await Promise.all(gateways.flatMap((gateway) => Array.from({ length: AT_ONCE }, () => lane(gateway))))
  const took = elapsed()
  return { passed, refused, others, seconds: took, allowed: READ_LIMIT + Math.floor((took * READ_LIMIT) / 60) }
}
