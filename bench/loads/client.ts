/** One unit is a completion by the client: sealed, sent, opened, verified. */
import { SealedClient } from "../../src/client/sealed/SealedClient.ts"
import type { Work } from "../harness/Load.ts"

export const make = async (options: { readonly url: string; readonly pin: string }): Promise<Work> => {
  const client = new SealedClient({ baseUrl: options.url, pins: [options.pin] })
  return {
    unit: async () => {
      const { completion } = await client.complete({ prompt: "Hello" })
      if (completion.choices.length !== 1) throw new Error("an answer without a choice")
    },
  }
}
