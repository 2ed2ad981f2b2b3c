/** One unit is a job that was accepted and waited for. */
import type { Work } from "../harness/Load.ts"
import { jsonOf, makeAsk } from "./http.ts"

export interface JobsLoad {
  /** Where a job is posted, and where one is waited for, with `{id}` for its id. */
  readonly accept: string
  readonly wait: string
  readonly body: object
  readonly headers: Readonly<Record<string, string>>
  /** Status of an accepted job, and the `status` of one that ended well. */
  readonly accepted: number
  readonly completed: string
}

export const make = async ({ accept, accepted, body, completed, headers, wait }: JobsLoad): Promise<Work> => {
  const ask = makeAsk()
  const text = JSON.stringify(body)
  return {
    unit: async () => {
      const { id } = jsonOf(await ask("POST", accept, text, headers), accepted)
      const job = jsonOf(await ask("GET", wait.replace("{id}", String(id)), undefined, headers), 200)
      if (job["status"] !== completed) throw new Error(`a job ended otherwise: ${JSON.stringify(job)}`)
    },
  }
}
