/**
 * One unit is a sealed request and its answer. Requests are sealed before a round and answers are not opened, so the load
 * costs the same as for peers.
 */
import type { Work } from "../harness/Load.ts"
import { makeAsk } from "./http.ts"
import { type Payload, sealingTo } from "./sealing.ts"

export interface SealedLoad {
  readonly url: string
  readonly payload: Payload
  /** Expected end of the answer. */
  readonly ending: string
  /** Most requests per second that a round can need. */
  readonly perSecond: number
}

export const make = async ({ ending, payload, perSecond, url }: SealedLoad): Promise<Work> => {
  const ask = makeAsk()
  const last = Buffer.from(ending)
  const ready: Array<Buffer> = []
  return {
    prepare: async ({ lanes, seconds }) => {
      // Requests left from the last round expire.
      ready.length = 0
      const seal = await sealingTo(ask, url)
      while (ready.length < perSecond * seconds + 2 * lanes) ready.push(await seal(payload))
    },
    unit: async () => {
      const request = ready.pop()
      if (request === undefined) throw new Error("more requests were needed than had been sealed")
      const { body, status } = await ask("POST", `${url}/v1/completions`, request)
      if (status === 200 && body.subarray(body.length - last.length).equals(last)) return
      throw new Error(`answered with ${status}: ${body.toString().slice(0, 500)}`)
    },
  }
}
