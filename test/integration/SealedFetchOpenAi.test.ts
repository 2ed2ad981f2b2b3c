/** The OpenAI SDK over `createSealedFetch`, a proxy and a fake vendor, over real sockets. */
import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect } from "effect"
import OpenAI, {
  APIConnectionError,
  APIError,
  BadRequestError,
  InternalServerError,
  NotFoundError,
  RateLimitError,
  UnprocessableEntityError,
} from "openai"
import {
  AnswerIncomplete,
  type SealedFetchOptions,
  StreamTruncated,
  Tampered,
  type VerifiedAnswer,
  verifyProof,
  verifyReceipt,
} from "../../src/client/index.ts"
import { fault } from "../support/FakeUpstream.ts"
import { collected, failing, failureOf } from "../support/promises.ts"
import { sealedSetup } from "../support/sealedSetup.ts"
import { changing, changingEvents } from "../support/tamper.ts"

const CANARY = "canary-4711"
/** A host that does not exist, so every request to it fails. */
const NOWHERE = "https://sealed.invalid/v1"

const setup = Effect.fnUntraced(function* (changes: Parameters<typeof sealedSetup>[0] = {}) {
  const sealed = yield* sealedSetup(changes)
  const openai = (options: Partial<SealedFetchOptions> = {}) =>
    new OpenAI({ fetch: sealed.fetch(options), baseURL: NOWHERE, apiKey: `secret-${CANARY}`, maxRetries: 0 })
  return { ...sealed, openai }
})

const ask = (content: string) => ({ model: "model-1", messages: [{ role: "user" as const, content }] })

const tools = ["weather", "time"].map((name) => ({
  type: "function" as const,
  function: { name, parameters: { type: "object", properties: { city: { type: "string" } } } },
}))

describe("a whole answer", () => {
  it.live("is what the provider gave, and unreadable on the wire", () =>
    Effect.gen(function* () {
      const { fake, openai, wire } = yield* setup()
      fake.script({ text: `answer ${CANARY}`, usage: { input: 9, cached: 4, output: 2 } })
      const answer = yield* Effect.promise(() => openai().chat.completions.create(ask(`question ${CANARY}`)))
      assert.strictEqual(answer.choices[0]?.message.content, `answer ${CANARY}`)
      assert.strictEqual(answer.choices[0]?.finish_reason, "stop")
      assert.strictEqual(answer.usage?.prompt_tokens, 9)
      assert.match(answer._request_id ?? "", /^[0-9a-f-]{36}$/)
      assert.strictEqual(fake.requests[0]?.asked?.text, `question ${CANARY}`)
      assert.include(wire.seen(), "POST /v1/completions")
      assert.notInclude(wire.seen(), CANARY)
      assert.notInclude(wire.seen().toLowerCase(), "authorization")
    }),
  )

  it.live("carries several choices and structured output", () =>
    Effect.gen(function* () {
      const { fake, openai } = yield* setup()
      fake.always({ text: '{"city":"Oslo"}' })
      const schema = { type: "object", properties: { city: { type: "string" } }, required: ["city"] }
      const answer = yield* Effect.promise(() =>
        openai().chat.completions.parse({
          ...ask("Which city?"),
          n: 2,
          response_format: { type: "json_schema", json_schema: { name: "place", schema, strict: true } },
        }),
      )
      assert.deepStrictEqual(
        answer.choices.map(({ index, message }) => [index, message.parsed]),
        [0, 1].map((index) => [index, { city: "Oslo" }]),
      )
      assert.deepStrictEqual(fake.requests[0]?.asked?.json, schema)
      assert.strictEqual(fake.requests[0]?.asked?.choices, 2)
    }),
  )

  it.live("is passed to onVerified with its proof, and fails if onVerified fails", () =>
    Effect.gen(function* () {
      const { openai, proxy } = yield* setup()
      const kept: Array<VerifiedAnswer> = []
      const keep = openai({ onVerified: (answer) => void kept.push(answer) })
      const answer = yield* Effect.promise(() => keep.chat.completions.create(ask("Hello")))
      const [verified] = kept
      assert.strictEqual(verified?.receipt.jti, answer._request_id)
      const trust = { pins: [proxy.kid], keys: verified?.keys }
      const claims = yield* Effect.promise(() => verifyReceipt(verified?.statements.receipt ?? "", trust))
      assert.strictEqual(claims.form, "complete")

      const full = openai({ onVerified: () => Promise.reject(new Error("no space left")) })
      const error = yield* failing(full.chat.completions.create(ask("Hello")))
      assert.instanceOf(error, APIConnectionError)
      assert.strictEqual(String(error.cause), "Error: no space left")
    }),
  )
})

describe("a member `error` that holds no error", () => {
  it.live("is removed from the answer, whole or streamed", () =>
    Effect.gen(function* () {
      const { fake, openai } = yield* setup()
      const choice = { index: 0, finish_reason: "stop", error: null }
      const rest = { id: "c", created: 1, model: "m", error: null }
      const whole = { ...rest, object: "chat.completion", choices: [{ ...choice, message: { content: "Hi" } }] }
      const chunk = { ...rest, object: "chat.completion.chunk", choices: [{ ...choice, delta: { content: "Hi" } }] }
      const headers = { "content-type": "text/event-stream" }
      fake.script(
        fault.status(200, { body: whole }),
        // Without the line ends behind it.
        fault.status(200, { headers, body: `data: ${JSON.stringify(chunk)}` }),
      )
      const answer = yield* Effect.promise(() => openai().chat.completions.create(ask("x")))
      const pieces = yield* collected(openai().chat.completions.create({ ...ask("x"), stream: true }))
      assert.strictEqual(pieces[0]?.choices[0]?.delta.content, "Hi")
      for (const piece of [answer, ...pieces]) {
        assert.notProperty(piece, "error")
        for (const choice of piece.choices) assert.notProperty(choice, "error")
      }
    }),
  )
})

describe("a streamed answer", () => {
  it.live.each(["streaming", "verified"] as const)("is the provider's, chunk by chunk (release: %s)", (release) =>
    Effect.gen(function* () {
      const { fake, openai, proxy, wire } = yield* setup()
      const kept: Array<VerifiedAnswer> = []
      fake.always({ text: ["Hel", "lo ", CANARY] })
      const client = openai({ release, onVerified: (answer) => void kept.push(answer) })
      const chunks = yield* collected(client.chat.completions.create({ ...ask(CANARY), stream: true }))
      assert.strictEqual(chunks.map(({ choices }) => choices[0]?.delta.content ?? "").join(""), `Hello ${CANARY}`)
      assert.strictEqual(chunks.at(-1)?.choices[0]?.finish_reason, "stop")
      // Usage was not requested, so every chunk has a choice.
      assert.isTrue(chunks.every(({ choices }) => choices.length === 1))
      assert.notInclude(wire.seen(), CANARY)
      const trust = { pins: [proxy.kid], keys: kept[0]?.keys }
      const proof = yield* Effect.promise(() => verifyProof(kept[0]?.statements.proof ?? "", trust))
      assert.strictEqual(proof.iss, proxy.kid)
    }),
  )

  it.live("has usage at its end if it was requested", () =>
    Effect.gen(function* () {
      const { fake, openai } = yield* setup()
      fake.always({ text: "Hello", usage: { input: 3, output: 1 } })
      const chunks = yield* collected(
        openai().chat.completions.create({
          ...ask("Hi"),
          stream: true,
          stream_options: { include_usage: true },
        }),
      )
      assert.deepStrictEqual(chunks.at(-1)?.choices, [])
      assert.strictEqual(chunks.at(-1)?.usage?.total_tokens, 4)
    }),
  )

  it.live("carries parallel tool calls, and the turn that follows", () =>
    Effect.gen(function* () {
      const { fake, openai } = yield* setup()
      fake.script(
        {
          toolCalls: [
            { name: "weather", arguments: ['{"ci', 'ty":"Os', 'lo"}'] },
            { name: "time", arguments: { city: "Oslo" } },
          ],
        },
        { text: "22 °C at noon." },
      )
      const client = openai()
      const question = ask("Weather and time in Oslo?")
      const first = yield* Effect.promise(() => client.chat.completions.stream({ ...question, tools }).finalMessage())
      const calls = (first.tool_calls ?? []).filter((call) => call.type === "function")
      assert.deepStrictEqual(
        calls.map((call) => [call.function.name, JSON.parse(call.function.arguments)]),
        [
          ["weather", { city: "Oslo" }],
          ["time", { city: "Oslo" }],
        ],
      )
      const results = calls.map(({ id }) => ({ role: "tool" as const, tool_call_id: id, content: "22 °C, noon" }))
      const messages = [
        ...question.messages,
        { role: "assistant" as const, content: null, tool_calls: calls },
        ...results,
      ]
      const second = yield* Effect.promise(() =>
        client.chat.completions.stream({ ...question, messages, tools }).finalContent(),
      )
      assert.strictEqual(second, "22 °C at noon.")
      assert.strictEqual(fake.requests[1]?.asked?.turns.filter(({ role }) => role === "tool").length, 2)
    }),
  )

  it.live("ends the provider's call when its body is cancelled, and rejects with the reason of a signal", () =>
    Effect.gen(function* () {
      // Only the caller may end it.
      const { fake, fetch } = yield* setup({ idleTimeout: Duration.minutes(5) })
      fake.always({ text: ["one ", "two"], delivery: { breaks: { after: 1, how: "silence" } } })
      const send = fetch()
      const post = (signal?: AbortSignal) =>
        send(`${NOWHERE}/chat/completions`, {
          method: "POST",
          body: JSON.stringify({ ...ask("Hi"), stream: true }),
          ...(signal === undefined ? {} : { signal }),
        })
      yield* Effect.promise(async () => {
        const body = (await post()).body
        const reader = body?.getReader()
        // The role, "one ", and a read that is under way.
        await reader?.read()
        await reader?.read()
        const pending = reader?.read()
        await new Promise((resolve) => setImmediate(resolve))
        await reader?.cancel()
        assert.isTrue((await pending)?.done)
        assert.strictEqual(await (await fake.received(1)).ended, "hung-up")

        const controller = new AbortController()
        const reason = new Error("enough")
        const response = await post(controller.signal)
        const text = response.text()
        controller.abort(reason)
        assert.strictEqual(await failureOf(text), reason)
        assert.strictEqual(await (await fake.received(2)).ended, "hung-up")
      })
    }),
  )

  it.live("ends with its provider, without a second call, unless its release was held back", () =>
    Effect.gen(function* () {
      const { fake, openai } = yield* setup({ failover: true })
      const broken = { text: ["void ", "void"], delivery: { breaks: { after: 1, how: "cut" as const } } }
      fake.when({ model: "model-1" }).always(broken)
      fake.when({ model: "model-2" }).always({ text: "from the second" })
      const messages = ask("Hi").messages
      const read = (options: Partial<SealedFetchOptions>) =>
        // No model: every provider takes its own.
        openai(options).chat.completions.create({ messages, stream: true } as never)
      const streamed = yield* Effect.promise(async () => failureOf(Array.fromAsync((await read({})) as never)))
      assert.instanceOf(streamed, AnswerIncomplete)
      assert.deepInclude(streamed.problem, { code: "upstream-interrupted", retryable: true })
      assert.strictEqual(fake.requests.length, 1)
      const held = yield* collected(
        read({ release: "verified" }) as unknown as Promise<AsyncIterable<OpenAI.ChatCompletionChunk>>,
      )
      assert.strictEqual(held.map(({ choices }) => choices[0]?.delta.content ?? "").join(""), "from the second")
    }),
  )

  it.live("that the provider breaks off is an error in either release mode", () =>
    Effect.gen(function* () {
      const { fake, openai } = yield* setup()
      fake.always({ text: ["half ", "half"], delivery: { breaks: { after: 1, how: "cut" } } })
      const read = (options: Partial<SealedFetchOptions>) =>
        openai(options).chat.completions.create({ ...ask("Hi"), stream: true })
      const streamed = yield* Effect.promise(async () => failureOf(Array.fromAsync(await read({}))))
      assert.instanceOf(streamed, AnswerIncomplete)
      const held = yield* failing(read({ release: "verified" }))
      assert.instanceOf(held, InternalServerError)
      assert.strictEqual(held.status, 502)
      assert.strictEqual(held.code, "upstream-truncated")
    }),
  )
})

describe("an attacker on the path", () => {
  it.live("who changes an answer causes an error", () =>
    Effect.gen(function* () {
      const { openai } = yield* setup()
      const flip = changing((body) =>
        body.replace(/("frames":\[")(.)/, (_, start, first) => start + (first === "A" ? "B" : "A")),
      )
      const error = yield* failing(openai({ fetch: flip }).chat.completions.create(ask("Hi")))
      assert.instanceOf(error, APIConnectionError)
      assert.instanceOf(error.cause, Tampered)
    }),
  )

  it.live("who cuts a stream before its proof leaves it without any sign of an end", () =>
    Effect.gen(function* () {
      const { fake, fetch, openai } = yield* setup()
      fake.always({ text: "Hello there" })
      const cut = changingEvents((events) => events.filter(({ event }) => event !== "proof"))
      const error = yield* Effect.promise(async () =>
        failureOf(
          Array.fromAsync(await openai({ fetch: cut }).chat.completions.create({ ...ask("Hi"), stream: true })),
        ),
      )
      assert.instanceOf(error, StreamTruncated)

      const seen: Array<string> = []
      yield* Effect.promise(async () => {
        const body = JSON.stringify({ ...ask("Hi"), stream: true })
        const response = await fetch({ fetch: cut })(`${NOWHERE}/chat/completions`, { method: "POST", body })
        const text = response.body?.pipeThrough(new TextDecoderStream()) ?? []
        const read = (async () => {
          for await (const piece of text) seen.push(piece)
        })()
        assert.instanceOf(await failureOf(read), StreamTruncated)
      })
      assert.include(seen.join(""), "Hello")
      assert.notInclude(seen.join(""), "stop")
      assert.notInclude(seen.join(""), "[DONE]")

      const held = yield* failing(
        openai({ fetch: cut, release: "verified" }).chat.completions.create({ ...ask("Hi"), stream: true }),
      )
      assert.instanceOf(held, APIConnectionError)
      assert.instanceOf(held.cause, StreamTruncated)
    }),
  )

  it.live("who lets a request pass and answers that it was refused gets it served once", () =>
    Effect.gen(function* () {
      const { fake, openai } = yield* setup()
      const refused = { title: "Too many requests.", code: "rate-limited", status: 429, retryable: true }
      const refuse = changing(() => Response.json(refused, { status: 429 }))
      // The SDK retries as often as by default.
      const client = openai({ fetch: refuse }).withOptions({ maxRetries: 2 })
      const error = yield* failing(client.chat.completions.create(ask("Hi")))
      assert.instanceOf(error, RateLimitError)
      assert.strictEqual(fake.requests.length, 1)
    }),
  )
})

describe("a refusal becomes the SDK's own error", () => {
  it.live("400, with the code that applications know", () =>
    Effect.gen(function* () {
      const { fake, openai } = yield* setup()
      fake.script(fault.contextTooLong())
      const long = yield* failing(openai().chat.completions.create(ask("Hi")))
      assert.instanceOf(long, BadRequestError)
      assert.strictEqual(long.code, "context_length_exceeded")
      assert.strictEqual(long.type, "invalid_request_error")
    }),
  )

  it.live("400 for a malformed request, with the member that is wrong", () =>
    Effect.gen(function* () {
      const { openai } = yield* setup()
      const error = yield* failing(openai().chat.completions.create({ ...ask("Hi"), model: 7 } as never))
      assert.instanceOf(error, BadRequestError)
      assert.strictEqual(error.param, "model")
    }),
  )

  it.live("422", () =>
    Effect.gen(function* () {
      const { openai } = yield* setup()
      const error = yield* failing(
        openai({ provider: "provider4" }).chat.completions.create({ ...ask("Hi"), stream: true }),
      )
      assert.instanceOf(error, UnprocessableEntityError)
      assert.strictEqual(error.code, "provider-not-configured")
    }),
  )

  it.live("with the provider's status, from any form of its error", () =>
    Effect.gen(function* () {
      const { fake, openai } = yield* setup()
      const said = [
        [422, { detail: [{ loc: ["body", "top_k"], msg: "too large" }] }],
        [503, { error: "the model is loading" }],
        [500, "out of memory"],
        [422, ""],
        [503, { errors: ["the model is loading"] }],
      ] as const
      for (const [status, body] of said) {
        fake.script(fault.status(status, { body }))
        const error = yield* failing(openai().chat.completions.create(ask("x")))
        assert.instanceOf(error, APIError)
        assert.strictEqual(error instanceof APIError ? error.status : undefined, status)
      }
    }),
  )

  it.live("429 in the middle of a stream that was held back", () =>
    Effect.gen(function* () {
      const { fake, openai } = yield* setup()
      const begin = 'data: {"choices":[{"index":0,"delta":{"content":"Hi"}}]}'
      const error = 'data: {"error":{"message":"Slow down.","code":429}}'
      const headers = { "content-type": "text/event-stream" }
      fake.script(fault.status(200, { headers, body: `${begin}\n\n${error}\n\n` }))
      const stream = { ...ask("x"), stream: true as const }
      const failed = yield* failing(openai({ release: "verified" }).chat.completions.create(stream))
      assert.instanceOf(failed, RateLimitError)
    }),
  )

  it.live("429, of the provider and of the proxy, with Retry-After", () =>
    Effect.gen(function* () {
      const { fake, openai } = yield* setup({ rateLimitCompletions: 1 })
      fake.script(fault.rateLimited({ retryAfter: 7 }))
      const client = openai()
      for (const code of ["rate_limit_exceeded", "rate_limit_exceeded"]) {
        const error = yield* failing(client.chat.completions.create(ask("Hi")))
        assert.instanceOf(error, RateLimitError)
        assert.strictEqual(error.code, code)
        assert.match(error.headers.get("retry-after") ?? "", /^\d+$/)
      }
      assert.strictEqual(fake.requests.length, 1)
    }),
  )
})

describe("a request that is not for a completion", () => {
  it.live("is refused before anything is sent", () =>
    Effect.gen(function* () {
      const { openai, wire } = yield* setup()
      const client = openai()
      const attempts = [
        () => client.responses.compact({ model: "model-1", input: CANARY }),
        () => client.completions.create({ model: "model-1", prompt: CANARY }),
        () => client.moderations.create({ input: CANARY }),
      ]
      for (const attempt of attempts) {
        const error = yield* failing(attempt())
        assert.instanceOf(error, NotFoundError)
        assert.include(error.message, "cannot be sealed")
      }
      assert.strictEqual(wire.seen(), "")
    }),
  )

  it.live("is passed on if it lists the models", () =>
    Effect.gen(function* () {
      const { openai } = yield* setup({ failover: true })
      const listed = yield* collected(openai().models.list())
      assert.deepStrictEqual(
        listed.map(({ id, owned_by }) => [id, owned_by]),
        [
          ["model-1", "provider1"],
          ["model-2", "provider2"],
        ],
      )
      const own = openai({ models: ["org/large"] })
      assert.strictEqual((yield* Effect.promise(() => own.models.retrieve("org/large"))).id, "org/large")
      assert.instanceOf(yield* failing(own.models.retrieve("small")), NotFoundError)
    }),
  )
})
