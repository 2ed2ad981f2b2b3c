/** Requests to Mistral, which takes ids of tool calls of exactly 9 letters and digits, and no `stream_options`. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema, Stream } from "effect"
import { ChatRequest } from "../../../../src/domain/chat/chat.ts"
import { accumulate } from "../../../../src/domain/chat/chatStream.ts"
import { isObject } from "../../../../src/domain/json/json.ts"
import { RawObject } from "../../../../src/domain/json/rawObject.ts"
import type { Provider } from "../../../../src/services/upstream/Provider.ts"
import { PROVIDERS } from "../../../../src/services/upstream/Slots.ts"
import { canned, events, json, MINIMAL, type Sent } from "./support/Canned.ts"
import { REQUEST, sse } from "./support/raw.ts"

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

const SLOT = { format: PROVIDERS.provider2.format }

/** Sends a request to Mistral translated and native, whole and streamed, and returns the four bodies. */
const sentOf = Effect.fnUntraced(function* (request: ChatRequest, options: Parameters<typeof canned>[2] = SLOT) {
  const { provider, sent } = yield* canned("openai", () => json(MINIMAL.openai), options)
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

  it.effect("are such also in another slot at Mistral's host", () =>
    Effect.gen(function* () {
      for (const sent of yield* sentOf(called("call_1"), { baseUrl: "https://api.mistral.ai/v1" })) {
        assert.match(callsOf(sent).join(), /^[a-zA-Z0-9]{9}$/)
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

describe("an output limit", () => {
  const limits = ({ max_completion_tokens, max_tokens }: ChatRequest) => [max_tokens, max_completion_tokens]

  for (const [title, options] of [
    ["Mistral, which refuses the newer one", SLOT],
    ["Mistral in another slot", { baseUrl: "https://api.mistral.ai/v1" }],
    ["DeepSeek, which ignores the newer one", { baseUrl: "https://api.deepseek.com" }],
  ] as const) {
    it.effect(`goes in the older member to ${title}`, () =>
      Effect.gen(function* () {
        const both = { max_tokens: 5, max_completion_tokens: null }
        for (const given of [{ max_completion_tokens: 7 }, { max_tokens: 7 }, { ...both, max_tokens: 7 }]) {
          for (const body of yield* sentOf({ ...REQUEST, ...given }, options)) {
            assert.deepStrictEqual([limits(body)[0], limits(body)[1] ?? undefined], [7, undefined])
          }
        }
        const { provider, sent } = yield* canned("openai", () => json(MINIMAL.openai), options)
        const body = RawObject.of({ ...REQUEST, max_completion_tokens: 7 })
        const capped = {
          api: "chat.completions",
          body,
          headers: {},
          model: "m",
          limit: { max_completion_tokens: 3 },
        } as const
        yield* provider.native?.complete(capped) ?? Effect.die("no native API")
        assert.deepStrictEqual(sent[0]?.body, { ...REQUEST, max_tokens: 3, model: "m" })
      }),
    )
  }

  it.effect("goes to other servers as it is", () =>
    Effect.gen(function* () {
      for (const body of yield* sentOf({ ...REQUEST, max_completion_tokens: 7 }, {})) {
        assert.deepStrictEqual(limits(body), [undefined, 7])
      }
    }),
  )
})

const EXTRA = { type: "extra_forbidden", loc: ["body", "stream_options", "include_usage"] }

/** Streams with the usage in the last chunk, and refuses `stream_options` (https://github.com/BerriAI/litellm/issues/8978). */
const answer = ({ body }: Sent): Response =>
  isObject(body) && "stream_options" in body
    ? json({ object: "error", message: { detail: [EXTRA] } }, { status: 422 })
    : events([
        sse(
          { id: "c", model: "m", choices: [{ index: 0, delta: { role: "assistant", content: "Hi" } }] },
          {
            id: "c",
            model: "m",
            choices: [{ index: 0, delta: { content: "" }, finish_reason: "stop" }],
            usage: { prompt_tokens: 4, completion_tokens: 2, total_tokens: 6 },
          },
        ),
        "data: [DONE]\n\n",
      ])

const mistral = (baseUrl: string) => canned("openai", answer, { baseUrl })

const nativeStream = ({ native }: Provider, members: object) =>
  native?.stream({ api: "chat.completions", body: RawObject.of({ ...members }), headers: {}, model: "m" }) ??
  Stream.die("no native API")

describe.each(["https://api.mistral.ai/v1", "https://codestral.mistral.ai/v1/"])("at %s", (baseUrl) => {
  it.effect("a translated stream succeeds with its usage", () =>
    Effect.gen(function* () {
      const { provider } = yield* mistral(baseUrl)
      const request = { ...REQUEST, stream_options: { include_usage: true } }
      const whole = accumulate(yield* Stream.runCollect(provider.stream(request)))
      assert.strictEqual(whole.choices[0]?.message.content, "Hi")
      assert.strictEqual(whole.usage?.total_tokens, 6)
    }),
  )

  it.effect("a stream in OpenAI's own format succeeds with its usage, whatever options it names", () =>
    Effect.gen(function* () {
      const { provider, sent } = yield* mistral(baseUrl)
      for (const options of [{}, { stream_options: { include_usage: true } }, { stream_options: null }]) {
        const chunks = yield* Stream.runCollect(nativeStream(provider, { ...options, ...REQUEST, stream: true }))
        assert.deepInclude(chunks.at(-1)?.["usage"], { total_tokens: 6 })
        assert.deepStrictEqual(sent.at(-1)?.body, { ...REQUEST, stream: true, model: "m" })
      }
    }),
  )
})

it.effect("another server at the same API is asked for usage", () =>
  Effect.gen(function* () {
    const { provider, sent } = yield* mistral("https://mistral.ai.example/v1")
    yield* Effect.ignore(Stream.runDrain(provider.stream(REQUEST)))
    assert.deepInclude(sent[0]?.body, { stream_options: { include_usage: true } })
  }),
)

it.effect("another server that refuses to be asked for usage is not asked again for that model", () =>
  Effect.gen(function* () {
    const { provider, sent } = yield* mistral("https://foundry.example/v1")
    let seen = 0
    const isAsked = () => {
      const asked = sent.slice(seen).map(({ body }) => isObject(body) && "stream_options" in body)
      seen = sent.length
      return asked
    }
    for (const asked of [[true, false], [false]]) {
      const whole = accumulate(yield* Stream.runCollect(provider.stream({ ...REQUEST, model: "m" })))
      assert.strictEqual(whole.choices[0]?.message.content, "Hi")
      assert.deepStrictEqual(isAsked(), asked)
    }
    yield* Stream.runDrain(nativeStream(provider, { ...REQUEST, stream: true }))
    assert.deepStrictEqual(isAsked(), [false])
    yield* Stream.runDrain(provider.stream({ ...REQUEST, model: "n" }))
    assert.deepStrictEqual(isAsked(), [true, false])
  }),
)

it.effect("another refusal of a stream is no reason to ask again", () =>
  Effect.gen(function* () {
    const refused = () => json({ detail: [{ loc: ["body", "top_k"], type: "extra_forbidden" }] }, { status: 422 })
    const { provider, sent } = yield* canned("openai", refused, { baseUrl: "https://strict.example/v1" })
    assert.strictEqual((yield* Effect.flip(Stream.runDrain(provider.stream(REQUEST)))).kind, "invalid-request")
    assert.lengthOf(sent, 1)
    const { provider: foundry, sent: asked } = yield* mistral("https://other-foundry.example/v1")
    const own = { ...REQUEST, stream_options: { include_usage: true, other: 1 } }
    yield* Effect.flip(Stream.runDrain(foundry.stream(own)))
    assert.lengthOf(asked, 1, "the caller's own options may be at fault")
  }),
)
