/** One unit is a session that was begun, with the post-quantum suite. */
import { sessionRequest } from "../../src/client/sealed/session.ts"
import type { Work } from "../harness/Load.ts"
import { jsonOf, makeAsk } from "./http.ts"

export const make = async ({ url }: { readonly url: string }): Promise<Work> => {
  const ask = makeAsk()
  return {
    unit: async () => {
      const { body } = sessionRequest(["MLKEM768-X25519"])
      jsonOf(await ask("POST", `${url}/v1/init`, body), 200)
    },
  }
}
