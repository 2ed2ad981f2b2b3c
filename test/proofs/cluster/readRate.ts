/** How many requests of one caller several gateways let through together, beside how many they should. */
import type { Caller } from "./Caller.ts"
import { READ_LIMIT } from "./Gateways.ts"

export interface ReadRate {
  readonly passed: number
  readonly refused: number
  /** Answers that were neither. */
  readonly others: ReadonlyArray<string>
  readonly seconds: number
  /** What one bucket allows in that time: all that it holds, and what flows in. */
  readonly allowed: number
}

/** Requests under way at each gateway. */
const AT_ONCE = 4

/** How long it goes on once the limit is reached, and at most. */
const BEYOND_SECONDS = 3
const MAX_SECONDS = 60

/** Reads as fast as it can, until well beyond the limit. The caller's bucket has to be full: it does that once. */
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
