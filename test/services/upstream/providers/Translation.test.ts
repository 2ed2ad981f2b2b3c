/** Requests in the vendors' formats mean what they meant in Chat Completions. */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { readAnthropic } from "../../../support/fake-upstream/AnthropicRequest.ts"
import { readGemini } from "../../../support/fake-upstream/GeminiRequest.ts"
import type { Said } from "../../../support/fake-upstream/Meaning.ts"
import { canned, json, MINIMAL } from "./support/Canned.ts"
import { Conversation, DEFINITIONS, meaningOf, requestOf } from "./support/Conversations.ts"

const READERS = { anthropic: readAnthropic, gemini: readGemini } as const

/** The results of parallel calls may come in any order. */
const inOrderOfCalls = (message: ReadonlyArray<Said>): ReadonlyArray<Said> => {
  const [results, others] = [message.filter((one) => "resultOf" in one), message.filter((one) => !("resultOf" in one))]
  return [...results.toSorted((a, b) => a.resultOf - b.resultOf), ...others]
}

for (const vendor of ["anthropic", "gemini"] as const) {
  it.effect.prop(`${vendor}: a conversation keeps its meaning`, [Conversation], ([conversation]) =>
    Effect.gen(function* () {
      const request = requestOf(conversation)
      const { provider, sent } = yield* canned(vendor, () => json(MINIMAL[vendor]))
      yield* provider.complete(request)
      assert.lengthOf(sent, 1)
      const { messages, system, tools } = READERS[vendor]({ body: sent[0]?.body, path: "" })
      assert.deepStrictEqual({ system, said: messages.flatMap(inOrderOfCalls) }, meaningOf(conversation))
      assert.deepStrictEqual<unknown>(tools, request.tools === undefined ? [] : DEFINITIONS)
    }),
  )
}
