/** One unit is an unsealed request and its whole answer. */
import type { Work } from "../harness/Load.ts"
import { makeAsk } from "./http.ts"

export interface PlainLoad {
  readonly url: string
  readonly body?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly status?: number
  /** Expected end of the answer. */
  readonly ending?: string
}

export const make = async ({ body, ending = "", headers, status = 200, url }: PlainLoad): Promise<Work> => {
  const ask = makeAsk()
  const bytes = body === undefined ? undefined : Buffer.from(body)
  const last = Buffer.from(ending)
  return {
    unit: async () => {
      const answer = await ask(bytes === undefined ? "GET" : "POST", url, bytes, headers)
      if (answer.status === status && answer.body.subarray(answer.body.length - last.length).equals(last)) return
      throw new Error(`answered with ${answer.status}: ${answer.body.toString().slice(0, 500)}`)
    },
  }
}
