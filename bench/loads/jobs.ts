/** One unit is a job, from its post to its end. */
import type { Work } from "../harness/Load.ts"
import { jsonOf, makeAsk } from "./http.ts"

export interface JobsLoad {
  /** URLs to post a job and to wait for it; `{id}` is its id. */
  readonly accept: string
  readonly wait: string
  readonly body: object
  readonly headers: Readonly<Record<string, string>>
  /** HTTP status of an accepted job, and `status` of a successful one. */
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
