/** Answers in every vendor's format, whole and streamed, become the same Chat Completions answer. */
import { assert, it } from "@effect/vitest"
import { Effect, Result, Schema, Stream } from "effect"
import { ChatChunk, ChatCompletion, type ChatRequest } from "../../../../src/domain/chat/chat.ts"
import { accumulate } from "../../../../src/domain/chat/chatStream.ts"
import { Answer, Cuts, cutBytes, eventsOf, expected, gist, wholeOf } from "./support/Answers.ts"
import { canned, events, json, VENDOR_NAMES } from "./support/Canned.ts"

const request = (answer: Answer): ChatRequest => ({
  messages: [{ role: "user", content: "hi" }],
  n: answer.choices.length,
})

/** Anthropic refuses to be asked for several, and so is asked for one. */
const requestFor = (vendor: (typeof VENDOR_NAMES)[number], answer: Answer): ChatRequest =>
  vendor === "anthropic" ? { messages: [{ role: "user", content: "hi" }] } : request(answer)

/** Events and lines that may stand between the pieces of an answer. */
const Harmless = Schema.Array(
  Schema.Literals([
    ": keep-alive",
    "data:",
    "data: null",
    "data: {}",
    'data: {"type":"ping"}',
    "event: ping\ndata: alive",
    "event: ping",
    "retry: 10",
    'data: {"choices":null,"candidates":null,"type":"new"}',
  ]),
).check(Schema.isMinLength(1), Schema.isMaxLength(6))

const isCompletion = Schema.is(ChatCompletion)
const isChunk = Schema.is(ChatChunk)

for (const vendor of VENDOR_NAMES) {
  it.effect.prop(`${vendor}: a whole answer`, [Answer], ([answer]) =>
    Effect.gen(function* () {
      const { provider } = yield* canned(vendor, () => json(wholeOf(vendor, answer)))
      const completion = yield* provider.complete(requestFor(vendor, answer))
      assert.isTrue(isCompletion(completion))
      assert.deepStrictEqual(gist(completion), expected(vendor, answer))
    }),
  )

  it.effect.prop(`${vendor}: the same whole answer where a stream was asked for`, [Answer], ([answer]) =>
    Effect.gen(function* () {
      const { provider } = yield* canned(vendor, () => json(wholeOf(vendor, answer)))
      const chunks = yield* Stream.runCollect(provider.stream(requestFor(vendor, answer)))
      assert.lengthOf(chunks, 1)
      assert.isTrue(chunks.every(isChunk))
      assert.deepStrictEqual(accumulate(chunks), yield* provider.complete(requestFor(vendor, answer)))
    }),
  )

  it.effect.prop(
    `${vendor}: the same answer streamed, wherever it is cut`,
    [Answer, Cuts, Cuts],
    ([answer, cuts, byteCuts]) =>
      Effect.gen(function* () {
        const stream = eventsOf(vendor, answer, cuts).join("")
        const whole = yield* canned(vendor, () => json(wholeOf(vendor, answer)))
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

  it.effect.prop(
    `${vendor}: the same answer with events without content in between`,
    [Answer, Cuts, Harmless],
    ([answer, cuts, harmless]) =>
      Effect.gen(function* () {
        const sent = eventsOf(vendor, answer, cuts)
        const padded = sent.flatMap((event, at) => [event, `${harmless[at % harmless.length]}\n\n`])
        const plain = yield* canned(vendor, () => events(sent))
        const noisy = yield* canned(vendor, () => events(padded))
        const request = requestFor(vendor, answer)
        const joined = accumulate(yield* Stream.runCollect(noisy.provider.stream(request)))
        assert.deepStrictEqual(joined, accumulate(yield* Stream.runCollect(plain.provider.stream(request))))
      }),
  )

  it.effect.prop(
    `${vendor}: the same answer cut anywhere is all of it, or a failure`,
    [Answer, Cuts, Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 1 }))],
    ([answer, cuts, where]) =>
      Effect.gen(function* () {
        const bytes = new TextEncoder().encode(eventsOf(vendor, answer, cuts).join(""))
        const { provider } = yield* canned(vendor, () => events([bytes.subarray(0, Math.floor(where * bytes.length))]))
        const read = yield* Effect.result(Stream.runCollect(provider.stream(requestFor(vendor, answer))))
        if (Result.isFailure(read)) return assert.strictEqual(read.failure.kind, "truncated")
        assert.deepStrictEqual(gist(accumulate(read.success)).choices, expected(vendor, answer).choices)
      }),
  )
}
