/** Answers in every vendor's format, whole and streamed, become the same Chat Completions answer. */
import { assert, it } from "@effect/vitest"
import { Effect, Schema, Stream } from "effect"
import { ChatChunk, ChatCompletion, type ChatRequest } from "../../../../src/domain/chat.ts"
import { accumulate } from "../../../../src/domain/chatStream.ts"
import { Answer, Cuts, cutBytes, eventStream, expected, gist, RENDERINGS } from "./support/Answers.ts"
import { canned, events, json, VENDOR_NAMES } from "./support/Canned.ts"

const request = (answer: Answer): ChatRequest => ({
  messages: [{ role: "user", content: "hi" }],
  n: answer.choices.length,
})

/** Anthropic refuses to be asked for several, and so is asked for one. */
const requestFor = (vendor: (typeof VENDOR_NAMES)[number], answer: Answer): ChatRequest =>
  vendor === "anthropic" ? { messages: [{ role: "user", content: "hi" }] } : request(answer)

const isCompletion = Schema.is(ChatCompletion)
const isChunk = Schema.is(ChatChunk)

for (const vendor of VENDOR_NAMES) {
  it.effect.prop(`${vendor}: a whole answer`, [Answer], ([answer]) =>
    Effect.gen(function* () {
      const { provider } = yield* canned(vendor, () => json(RENDERINGS[vendor].complete(answer)))
      const completion = yield* provider.complete(requestFor(vendor, answer))
      assert.isTrue(isCompletion(completion))
      assert.deepStrictEqual(gist(completion), expected(vendor, answer))
    }),
  )

  it.effect.prop(
    `${vendor}: the same answer streamed, wherever it is cut`,
    [Answer, Cuts, Cuts],
    ([answer, cuts, byteCuts]) =>
      Effect.gen(function* () {
        const stream = eventStream(vendor, RENDERINGS[vendor].stream(answer, cuts))
        const whole = yield* canned(vendor, () => json(RENDERINGS[vendor].complete(answer)))
        const streamed = yield* canned(vendor, () => events(cutBytes(stream, byteCuts)))
        const chunks = yield* Stream.runCollect(streamed.provider.stream(requestFor(vendor, answer)))
        assert.isTrue(chunks.every(isChunk))
        assert.strictEqual(chunks[0]?.choices[0]?.delta.role, "assistant", "the role comes first")
        assert.isDefined(chunks.at(-1)?.usage, "the usage comes last")
        const joined = accumulate(chunks)
        assert.deepStrictEqual(gist(joined), expected(vendor, answer))
        assert.deepStrictEqual(joined, yield* whole.provider.complete(requestFor(vendor, answer)))
      }),
  )
}
