/** Requests in the vendors' formats mean what they meant in Chat Completions. */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import type { ChatRequest } from "../../../../src/domain/chat/chat.ts"
import { canned, json, MINIMAL, type Vendor } from "./support/Canned.ts"
import { Conversation, DEFINITIONS, meaningOf, requestOf } from "./support/Conversations.ts"
import { readAnthropic, readGemini } from "./support/readRequests.ts"

const READERS = { anthropic: readAnthropic, gemini: readGemini } as const

/** Returns the request to `vendor` for `request`. */
const sentFor = Effect.fnUntraced(function* (vendor: Vendor, request: ChatRequest) {
  const { provider, sent } = yield* canned(vendor, () => json(MINIMAL[vendor]))
  yield* provider.complete(request)
  const [only, ...others] = sent
  assert.isDefined(only)
  assert.isEmpty(others)
  return only
})

for (const vendor of ["anthropic", "gemini"] as const) {
  it.effect.prop(`${vendor}: a conversation keeps its meaning`, [Conversation], ([conversation]) =>
    Effect.gen(function* () {
      const request = requestOf(conversation)
      const { body } = yield* sentFor(vendor, request)
      const { tools, ...meaning } = READERS[vendor](body)
      assert.deepStrictEqual(meaning, meaningOf(conversation))
      assert.deepStrictEqual(tools, request.tools === undefined ? [] : DEFINITIONS)
    }),
  )
}
