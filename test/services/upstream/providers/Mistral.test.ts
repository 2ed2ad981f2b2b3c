/** Requests to Mistral, which takes ids of tool calls of exactly 9 letters and digits. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema, Stream } from "effect"
import { ChatRequest } from "../../../../src/domain/chat/chat.ts"
import { RawObject } from "../../../../src/domain/json/rawObject.ts"
import { PROVIDERS } from "../../../../src/services/upstream/Slots.ts"
import { canned, json, MINIMAL } from "./support/Canned.ts"

/** A conversation in which each of these calls has a result. */
const called = (...ids: ReadonlyArray<string>): ChatRequest => ({
  messages: [
    { role: "user", content: "Add." },
    {
      role: "assistant",
      content: null,
      tool_calls: ids.map((id) => ({ id, type: "function", function: { name: "add", arguments: "{}" } })),
    },
    ...ids.map((id) => ({ role: "tool" as const, tool_call_id: id, content: "3" })),
  ],
})

const callsOf = ({ messages }: ChatRequest) =>
  messages.flatMap((message) => (message.role === "assistant" ? (message.tool_calls ?? []) : [])).map(({ id }) => id)

const resultsOf = ({ messages }: ChatRequest) =>
  messages.flatMap((message) => (message.role === "tool" ? [message.tool_call_id] : []))

/** What Mistral gets of a request: translated and native, whole and streamed. */
const sentOf = Effect.fnUntraced(function* (request: ChatRequest) {
  const { provider, sent } = yield* canned("openai", () => json(MINIMAL.openai), { format: PROVIDERS.provider2.format })
  const { native } = provider
  assert.isDefined(native)
  const call = { api: "chat.completions", body: RawObject.of({ ...request }), headers: {}, model: "m" } as const
  yield* provider.complete({ ...request, model: "m" })
  yield* Stream.runDrain(provider.stream({ ...request, model: "m" }))
  yield* native.complete(call)
  yield* Stream.runDrain(native.stream(call))
  assert.lengthOf(sent, 4)
  return sent.map(({ body }) => Schema.decodeUnknownSync(ChatRequest)(body))
})

describe("the ids of tool calls", () => {
  const own = "D681PevKs"

  it.effect("are such as Mistral takes, the same in call and result, and different for different calls", () =>
    Effect.gen(function* () {
      const foreign = ["call_O6SKrzZzMyrm2GsQ", "toolu_01A09q90qw90lq917835lq9", "gemini-call-r1-0-0", "D681PevK"]
      for (const sent of yield* sentOf(called(own, ...foreign))) {
        const ids = callsOf(sent)
        for (const id of ids) assert.match(id, /^[a-zA-Z0-9]{9}$/)
        assert.strictEqual(new Set(ids).size, 5)
        assert.strictEqual(ids[0], own)
        assert.deepStrictEqual(resultsOf(sent), ids)
      }
    }),
  )

  it.effect("are all that changes", () =>
    Effect.gen(function* () {
      for (const id of ["call_1", own]) {
        for (const sent of yield* sentOf(called(id))) {
          assert.deepStrictEqual(sent.messages, called(...callsOf(sent)).messages)
        }
      }
    }),
  )
})
