/** One unit is an accepted job, without waiting for its end. */
import type { Work } from "../harness/Load.ts"
import { jsonOf, makeAsk } from "./http.ts"
import type { JobsLoad } from "./jobs.ts"

export const make = async ({ accept, accepted, body, headers }: JobsLoad): Promise<Work> => {
  const ask = makeAsk()
  const text = JSON.stringify(body)
  return { unit: async () => void jsonOf(await ask("POST", accept, text, headers), accepted) }
}
