/** Token counts that no call can have, from providers whose answers are otherwise right. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Result, Stream } from "effect"
import { accumulate } from "../../../../src/domain/chat/chatStream.ts"
import { MAX_TOKENS } from "../../../../src/domain/chat/chat.ts"
import { isObject } from "../../../../src/domain/json/json.ts"
import { CHAT_COMPLETIONS } from "../../../../src/domain/upstream/apis.ts"
import { RawObject } from "../../../../src/domain/json/rawObject.ts"
import { READINGS } from "../../../../src/services/upstream/answerReaders/readings.ts"
import { canned, events, json, type Vendor } from "./support/Canned.ts"
import { REQUEST, sse } from "./support/raw.ts"

const ABSURD = [MAX_TOKENS + 1, Number.MAX_SAFE_INTEGER, 2 ** 60, 1e300]

const ASKED = { body: RawObject.of({}), model: "m" }

const chat = (usage: object) => ({
  id: "c",
  choices: [{ index: 0, message: { role: "assistant", content: "x" }, finish_reason: "stop" }],
  usage,
})
const message = (usage: object) => ({
  type: "message",
  content: [{ type: "text", text: "x" }],
  stop_reason: "end_turn",
  usage,
})
const candidate = (usage: object) => ({
  candidates: [{ content: { parts: [{ text: "x" }] }, finishReason: "STOP" }],
  usageMetadata: usage,
})

/** Answers of each vendor, with `count` in the place of every count and sum in turn. */
const wholes: ReadonlyArray<readonly [Vendor, (count: number) => ReadonlyArray<object>]> = [
  [
    "openai",
    (count) => [
      chat({ prompt_tokens: count, completion_tokens: 1, total_tokens: 2 }),
      chat({ prompt_tokens: 1, completion_tokens: count, total_tokens: 2 }),
      chat({ prompt_tokens: 1, completion_tokens: 1, total_tokens: count }),
      chat({ prompt_tokens: count - 1, completion_tokens: 2 }),
    ],
  ],
  [
    "anthropic",
    (count) => [
      message({ input_tokens: count, output_tokens: 1 }),
      message({ input_tokens: 1, output_tokens: count }),
      message({ input_tokens: 1, output_tokens: 1, cache_read_input_tokens: count }),
      message({ input_tokens: count - 1, output_tokens: 1, cache_creation_input_tokens: 2 }),
    ],
  ],
  [
    "gemini",
    (count) => [
      candidate({ promptTokenCount: count, candidatesTokenCount: 1 }),
      candidate({ promptTokenCount: 1, candidatesTokenCount: count }),
      candidate({ promptTokenCount: 1, candidatesTokenCount: 1, thoughtsTokenCount: count }),
      candidate({ promptTokenCount: count - 1, toolUsePromptTokenCount: 2 }),
    ],
  ],
]

describe("implausible token counts", () => {
  it.effect.each(wholes)("of %s make the usage unknown and leave the answer", ([vendor, answers]) =>
    Effect.gen(function* () {
      for (const answer of ABSURD.flatMap(answers)) {
        const { provider } = yield* canned(vendor, () => json(answer))
        const { choices, usage } = yield* provider.complete(REQUEST)
        assert.strictEqual(choices[0]?.message.content, "x")
        assert.strictEqual(usage ?? null, null, JSON.stringify(answer))
      }
    }),
  )

  it.effect.each([
    ["the largest count of OpenAI", "openai", chat({ prompt_tokens: MAX_TOKENS - 1, completion_tokens: 1 })],
    ["the largest count of Anthropic", "anthropic", message({ input_tokens: MAX_TOKENS - 1, output_tokens: 1 })],
    ["the largest count of Gemini", "gemini", candidate({ promptTokenCount: MAX_TOKENS - 1, candidatesTokenCount: 1 })],
  ] as const)("%s is believed", ([, vendor, answer]) =>
    Effect.gen(function* () {
      const { provider } = yield* canned(vendor, () => json(answer))
      assert.strictEqual((yield* provider.complete(REQUEST)).usage?.total_tokens, MAX_TOKENS)
    }),
  )

  it.effect("at the end of a message's stream do not leave the counts of its beginning", () =>
    Effect.gen(function* () {
      for (const output_tokens of ABSURD) {
        const { provider } = yield* canned("anthropic", () =>
          events([
            sse(
              { type: "message_start", message: { id: "m", model: "c", usage: { input_tokens: 3, output_tokens: 1 } } },
              { type: "content_block_start", index: 0, content_block: { type: "text", text: "x" } },
              { type: "content_block_stop", index: 0 },
              { type: "message_delta", delta: { stop_reason: "end_turn" }, usage: { output_tokens } },
              { type: "message_stop" },
            ),
          ]),
        )
        const answer = accumulate(yield* Stream.runCollect(provider.stream(REQUEST)))
        assert.strictEqual(answer.usage ?? null, null)
      }
    }),
  )

  it("of answers that are passed on make the usage unknown", () => {
    for (const count of ABSURD) {
      const response = { output: [], status: "completed", usage: { input_tokens: count, output_tokens: 1 } }
      const embeddings = { data: [{ embedding: [] }], usage: { prompt_tokens: count } }
      for (const read of [
        READINGS.messages.whole(message({ input_tokens: count, output_tokens: 1 }), ASKED),
        READINGS.responses.whole(response, ASKED),
        READINGS.embeddings.whole(embeddings, ASKED),
      ]) {
        assert.isNull(Result.getOrThrow(read).usage)
      }
    }
  })
})

/** A message's stream, broken off before the provider counts the output. */
const begun = sse(
  { type: "message_start", message: { id: "m", model: "c", usage: { input_tokens: 3, output_tokens: 1 } } },
  { type: "content_block_start", index: 0, content_block: { type: "thinking", thinking: "Hm" } },
)

describe("token counts", () => {
  it.effect("include the reasoning that xAI counts beside the completion", () =>
    Effect.gen(function* () {
      const usage = {
        prompt_tokens: 32,
        completion_tokens: 9,
        total_tokens: 135,
        completion_tokens_details: { reasoning_tokens: 94 },
      }
      const { provider } = yield* canned("openai", () => json(chat(usage)))
      const beside = (yield* provider.complete(REQUEST)).usage
      assert.deepStrictEqual([beside?.completion_tokens, beside?.total_tokens], [103, 135])
      const { provider: openai } = yield* canned("openai", () => json(chat({ ...usage, total_tokens: 41 })))
      assert.strictEqual((yield* openai.complete(REQUEST)).usage?.completion_tokens, 9)
    }),
  )

  it.effect("do not include in the output what a gateway's cache read beside the prompt", () =>
    Effect.gen(function* () {
      const usage = { prompt_tokens: 368, completion_tokens: 19, total_tokens: 10_923 }
      const cache = [{ cache_read_input_tokens: 10_536 }, { prompt_tokens_details: { cached_tokens: 10_536 } }]
      for (const members of cache) {
        const { provider } = yield* canned("openai", () => json(chat({ ...usage, ...members })))
        assert.strictEqual((yield* provider.complete(REQUEST)).usage?.completion_tokens, 19)
      }
    }),
  )

  it.effect("include thinking tokens that Google's compatible API counts only in total_tokens", () =>
    Effect.gen(function* () {
      const usage = { prompt_tokens: 9, completion_tokens: 3, total_tokens: 105 }
      for (const details of [
        {},
        { completion_tokens_details: null },
        { completion_tokens_details: { reasoning_tokens: 0 } },
      ]) {
        const { provider } = yield* canned("openai", () => json(chat({ ...usage, ...details })))
        const said = (yield* provider.complete(REQUEST)).usage
        assert.deepStrictEqual([said?.prompt_tokens, said?.completion_tokens, said?.total_tokens], [9, 96, 105])
      }
    }),
  )

  it.effect("come once in a stream, with its end, because clients add them up", () =>
    Effect.gen(function* () {
      const piece = (content: string, total_tokens: number, finish_reason?: string) => ({
        choices: [{ index: 0, delta: { content }, finish_reason }],
        usage: { prompt_tokens: 9, completion_tokens: total_tokens - 9, total_tokens },
      })
      const counted = [piece("1", 10), piece(", 2", 12), piece(".", 13, "stop")]
      const { usage } = piece("", 13)
      const streams: ReadonlyArray<readonly [ReadonlyArray<number | undefined>, ReadonlyArray<object>]> = [
        [[undefined, undefined, 13], counted],
        [
          [undefined, undefined, 12],
          [...counted.slice(0, 2), { ...piece(".", 13, "stop"), usage: null }],
        ],
        [
          [undefined, undefined, 13, undefined],
          [...counted, { choices: [], usage }],
        ],
      ]
      for (const [sent, stream] of streams) {
        const { provider } = yield* canned("openai", () => events([sse(...stream, "[DONE]")]))
        const chunks = yield* Stream.runCollect(provider.stream(REQUEST))
        assert.deepStrictEqual(
          chunks.map(({ usage }) => usage?.total_tokens),
          sent,
        )
      }
      const { provider } = yield* canned("openai", () => events([sse(...counted)]))
      const body = RawObject.of({ stream_options: { continuous_usage_stats: true } })
      const asked = provider.native?.stream({ api: CHAT_COMPLETIONS, body, headers: {}, model: "m" }) ?? Stream.empty
      const sums = (yield* Stream.runCollect(asked)).map(({ usage }) => isObject(usage) && usage["total_tokens"])
      assert.deepStrictEqual(sums, [10, 12, 13], "unless the caller asks for it")
    }),
  )

  it.effect.each([
    ["Moonshot's", { cached_tokens: 80 }],
    ["DeepSeek's", { prompt_cache_hit_tokens: 80, prompt_cache_miss_tokens: 20 }],
    ["OpenAI's, which count first,", { prompt_tokens_details: { cached_tokens: 80 }, cached_tokens: 7 }],
    ["Moonshot's, beside other details,", { prompt_tokens_details: { audio_tokens: 0 }, cached_tokens: 80 }],
  ] as const)("include %s tokens from the cache", ([, counts]) =>
    Effect.gen(function* () {
      const usage = { prompt_tokens: 100, completion_tokens: 1, total_tokens: 101, ...counts }
      const { provider } = yield* canned("openai", () => json(chat(usage)))
      assert.deepInclude((yield* provider.complete(REQUEST)).usage, { prompt_tokens: 100, total_tokens: 101 })
      assert.strictEqual((yield* provider.complete(REQUEST)).usage?.prompt_tokens_details?.cached_tokens, 80)
    }),
  )

  it.effect("survive an odd count of tokens from the cache", () =>
    Effect.gen(function* () {
      for (const cached_tokens of ["80", -1, MAX_TOKENS + 1, null]) {
        const usage = { prompt_tokens: 100, completion_tokens: 1, total_tokens: 101, cached_tokens }
        const { provider } = yield* canned("openai", () => json(chat(usage)))
        const read = (yield* provider.complete(REQUEST)).usage
        assert.strictEqual(read?.prompt_tokens, 100)
        assert.isUndefined(read?.prompt_tokens_details)
      }
    }),
  )

  it("include compactions and advisors, which Anthropic leaves out of its totals", () => {
    const written = { cache_creation_input_tokens: 40, cache_creation: { ephemeral_1h_input_tokens: 30 } }
    const usage = {
      input_tokens: 23_000,
      output_tokens: 1000,
      iterations: [
        { type: "compaction", input_tokens: 180_000, output_tokens: 3500, ...written },
        { type: "message", input_tokens: 23_000, output_tokens: 1000, cache_read_input_tokens: 7 },
      ],
    }
    const { usage: said } = Result.getOrThrow(READINGS.messages.whole(message(usage), ASKED))
    assert.deepStrictEqual([said?.prompt_tokens, said?.completion_tokens], [203_047, 4500])
    assert.deepInclude(said?.prompt_tokens_details, { cache_write_tokens: 40, cache_write_1h_tokens: 30 })
    const { usage: alike } = Result.getOrThrow(READINGS.messages.whole(message({ ...usage, iterations: [{}] }), ASKED))
    assert.deepStrictEqual([alike?.prompt_tokens, alike?.completion_tokens], [23_000, 1000])
  })

  it.effect("leave out the one token of output that a message begins with, whatever follows", () =>
    Effect.gen(function* () {
      const { provider } = yield* canned("anthropic", () => events([begun]))
      const error = yield* Effect.flip(Stream.runDrain(provider.stream(REQUEST)))
      assert.deepStrictEqual([error.usage?.prompt_tokens, error.usage?.completion_tokens], [3, 0])
      const reading = READINGS.messages.stream?.()
      for (const line of begun.match(/(?<=^data: ).*/gm) ?? []) reading?.add(JSON.parse(line))
      assert.deepStrictEqual(reading?.said.usage, error.usage)
    }),
  )
})
