/** The fault policy for Messages, Responses and Embeddings, with failures in their vendors' forms. */
import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Exit, Option, Redacted, Result, Stream } from "effect"
import type { ApiName } from "../../../src/domain/upstream/apis.ts"
import type { JsonObject } from "../../../src/domain/json/json.ts"
import { RawObject } from "../../../src/domain/json/rawObject.ts"
import type { ApiRequest, ProviderId, UpstreamError } from "../../../src/domain/upstream/upstream.ts"
import { passingTime, upstreamOf } from "./ScriptedProvider.ts"
import { canned, events, json, paced } from "./providers/support/Canned.ts"
import { type ApiStreamedEvent, apiStreamOf } from "../../support/streamed.ts"

const sse =
  (...data: ReadonlyArray<JsonObject>) =>
  () =>
    events(data.map((event) => `event: ${String(event["type"])}\ndata: ${JSON.stringify(event)}\n\n`))

const usage = { input_tokens: 3, output_tokens: 1 }
const message = { id: "m", type: "message", role: "assistant", model: "claude-1", usage }
const BEGINNING = [
  { type: "message_start", message: { ...message, content: [], stop_reason: null } },
  { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
]
const WORD = { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "ok" } }
const END = [
  { type: "content_block_stop", index: 0 },
  { type: "message_delta", delta: { stop_reason: "end_turn" }, usage: { output_tokens: 1 } },
  { type: "message_stop" },
]
const OVERLOADED = { type: "overloaded_error", message: "Overloaded" }
const overloaded = { type: "error", error: OVERLOADED }
const response = { id: "r", object: "response", model: "gpt-1", output: [], usage }
const created = { type: "response.created", response: { ...response, status: "in_progress" } }

const VENDOR = { messages: "anthropic", responses: "openai", embeddings: "openai" } as const
type Api = keyof typeof VENDOR

/** Slots that answer by script, the last reply for good, and count their calls. */
const slots = Effect.fnUntraced(function* (api: Api, ...scripts: ReadonlyArray<ReadonlyArray<() => Response>>) {
  const ids: ReadonlyArray<ProviderId> = ["provider1", "provider2", "provider3"]
  const made = yield* Effect.forEach(scripts, (script, i) =>
    Effect.gen(function* () {
      let calls = 0
      const { provider, sent } = yield* canned(VENDOR[api], () =>
        (script[Math.min(calls++, script.length - 1)] ?? (() => json("{}")))(),
      )
      return { provider: { ...provider, id: ids[i] ?? "echo", defaultModel: `model-${i + 1}` }, sent }
    }),
  )
  const upstream = yield* upstreamOf(made.map(({ provider }) => provider))
  return { upstream, calls: () => made.map(({ sent }) => sent.length), sent: made.map(({ sent }) => sent) }
})

const asked = (api: ApiName, more: Partial<ApiRequest> = {}): ApiRequest => ({
  api,
  body: RawObject.of({ input: "hi" }),
  headers: {},
  model: undefined,
  restart: false,
  ...more,
})

/** Runs an effect whose retries take less than a minute, in which nothing is forgotten. */
const soon = <A, E, R>(effect: Effect.Effect<A, E, R>) => passingTime(effect, "1 minute")

/** Reads a stream and its final error. */
const read = (stream: Stream.Stream<ApiStreamedEvent, UpstreamError>) =>
  Effect.gen(function* () {
    const heard: Array<string> = []
    const exit = yield* soon(
      Effect.exit(
        Stream.runForEach(stream, (event) =>
          Effect.sync(() => heard.push(event._tag === "Delta" ? String(event.chunk["type"]) : event._tag)),
        ),
      ),
    )
    const error = Exit.isFailure(exit) ? Option.getOrUndefined(Cause.findErrorOption(exit.cause)) : undefined
    return { heard, error }
  })

const saidOf = ({ said }: UpstreamError) => (said === undefined ? undefined : Redacted.value(said))

describe("a request for messages", () => {
  it.effect("is retried without a trace if its stream fails before output", () =>
    Effect.gen(function* () {
      const failed = [sse(...BEGINNING, overloaded), sse(...BEGINNING), () => json(overloaded)]
      const { calls, upstream } = yield* slots("messages", failed, [sse(...BEGINNING, WORD, ...END)])
      const { error, heard } = yield* read(apiStreamOf(upstream, asked("messages")))
      assert.isUndefined(error)
      assert.deepStrictEqual(calls(), [3, 1])
      assert.deepStrictEqual(heard, [...[...BEGINNING, WORD, ...END].map(({ type }) => type), "Finished"])
    }),
  )

  it.effect.each([
    ["an error", sse(...BEGINNING, WORD, overloaded)],
    ["its end", sse(...BEGINNING, WORD)],
    ["its end before message_stop", sse(...BEGINNING, WORD, ...END.slice(0, 2))],
    ["what is none", sse(...BEGINNING, WORD, BEGINNING[0] ?? {})],
  ] as const)("whose stream breaks behind output by %s end there, unless they may begin anew", ([, broken]) =>
    Effect.gen(function* () {
      const { calls, upstream } = yield* slots("messages", [broken], [sse(...BEGINNING, WORD, ...END)])
      const { error, heard } = yield* read(apiStreamOf(upstream, asked("messages")))
      assert.strictEqual(error?.code, "upstream-interrupted")
      assert.notInclude(heard, "Finished")
      assert.notInclude(heard, "Restarted")
      assert.deepStrictEqual(calls(), [1, 0])
      const again = yield* read(apiStreamOf(upstream, asked("messages", { restart: true })))
      assert.isUndefined(again.error)
      assert.include(again.heard, "Restarted")
      assert.strictEqual(again.heard.at(-1), "Finished")
    }),
  )

  it.effect("that broke off fails in the vendor's words", () =>
    Effect.gen(function* () {
      const { upstream } = yield* slots("messages", [sse(...BEGINNING, WORD, overloaded)])
      const { error } = yield* read(apiStreamOf(upstream, asked("messages")))
      assert.deepStrictEqual(error && saidOf(error), { status: 529, error: OVERLOADED })
    }),
  )

  it.effect("that is malformed is refused once, in the vendor's words", () =>
    Effect.gen(function* () {
      const wrong = { type: "invalid_request_error", message: "max_tokens: Field required" }
      const { calls, upstream } = yield* slots(
        "messages",
        [() => json({ type: "error", error: wrong }, { status: 400 })],
        [],
      )
      const error = yield* soon(Effect.flip(upstream.request(asked("messages"))))
      assert.deepStrictEqual([error.code, saidOf(error)], ["invalid-request", { status: 400, error: wrong }])
      assert.deepStrictEqual(calls(), [1, 0])
    }),
  )
})

describe("a stream of messages that thinks unseen", () => {
  const sent = (event: JsonObject) => `event: ${String(event["type"])}\ndata: ${JSON.stringify(event)}\n\n`
  const ping = sent({ type: "ping" })
  const start = sent({ type: "message_start", message: { ...message, content: [], stop_reason: null } })
  const thinking = { type: "thinking", thinking: "", signature: "" }
  const opened = sent({ type: "content_block_start", index: 0, content_block: thinking })
  const signature = { type: "signature_delta", signature: "sig" }
  const PINGS = Array.from({ length: 7 }, () => [30_000, ping] as const)
  const REST = [
    sent({ type: "content_block_delta", index: 0, delta: signature }),
    sent({ type: "content_block_stop", index: 0 }),
    sent({ type: "content_block_start", index: 1, content_block: { type: "text", text: "" } }),
    sent({ ...WORD, index: 1 }),
    ...END.map(sent),
  ].map((piece) => [0, piece] as const)

  /** The provider that finished, if the first one answers so and a second one at once. */
  const finishedBy = (pieces: ReadonlyArray<readonly [number, string]>, api: ApiName) =>
    Effect.gen(function* () {
      const first = yield* canned("anthropic", () => paced(pieces))
      const second = yield* canned("anthropic", () => paced([[0, start], ...REST]))
      const upstream = yield* upstreamOf([first.provider, { ...second.provider, id: "provider2" }])
      const body = RawObject.of({ messages: [{ role: "user", content: "hi" }] })
      const completion = () => Result.succeed({ messages: [{ role: "user", content: "hi" }] } as const)
      const last = yield* passingTime(Stream.runLast(apiStreamOf(upstream, asked(api, { body, completion }))))
      return Option.match(last, {
        onNone: () => undefined,
        onSome: (event) => (event._tag === "Finished" ? event.served.provider : undefined),
      })
    })

  it.effect.each(["messages", "chat.completions"] as const)(
    "is waited for while pings come within its thinking block (%s)",
    (api) =>
      Effect.gen(function* () {
        const pieces = [[0, start], [3_000, opened], ...PINGS, ...REST] as const
        assert.strictEqual(yield* finishedBy(pieces, api), "provider3")
      }),
  )

  it.effect.each(["messages", "chat.completions"] as const)(
    "is left in time for another one if its thinking block holds nothing but pings (%s)",
    (api) =>
      Effect.gen(function* () {
        const pieces = [[0, start], [3_000, opened], ...PINGS, ...PINGS, ...PINGS] as const
        assert.strictEqual(yield* finishedBy(pieces, api), "provider2")
      }),
  )

  it.effect.each(["messages", "chat.completions"] as const)(
    "is left although pings come, if no block is open (%s)",
    (api) =>
      Effect.gen(function* () {
        const pieces = [[0, start], ...PINGS, [0, opened], ...REST] as const
        assert.strictEqual(yield* finishedBy(pieces, api), "provider2")
      }),
  )
})

describe("streamed responses", () => {
  it.effect("finish with the final event, even if it abbreviates the response", () =>
    Effect.gen(function* () {
      const { upstream } = yield* slots("responses", [
        sse(created, { type: "response.completed", response: { id: "r", usage } }),
        sse(created, {
          type: "response.incomplete",
          response: { id: "r", incomplete_details: { reason: "max_output_tokens" } },
        }),
      ])
      for (const reason of ["completed", "max_output_tokens"]) {
        const last = yield* soon(Stream.runLast(apiStreamOf(upstream, asked("responses"))))
        const finished = Option.getOrUndefined(last)
        assert.deepStrictEqual(finished?._tag === "Finished" ? finished.served.finishReasons : undefined, [reason])
      }
    }),
  )

  it.effect.each([
    ["rate_limit_exceeded", "rate-limited", 3, { status: 429 }],
    ["server_error", "upstream-unavailable", 3, { status: 500 }],
    ["invalid_prompt", "content-filtered", 1, {}],
    ["image_content_policy_violation", "content-filtered", 1, {}],
    ["invalid_image_url", "invalid-request", 1, { status: 400 }],
    ["image_too_large", "invalid-request", 1, { status: 400 }],
  ] as const)("that fail with %s are %s", ([code, expected, times, said]) =>
    Effect.gen(function* () {
      const error = { code, message: "It failed." }
      const failed = { ...response, status: "failed", error }
      const { calls, upstream } = yield* slots("responses", [
        ...Array.from({ length: times }, () => sse(created, { type: "response.failed", response: failed })),
        () => json(failed),
      ])
      const streamed = yield* read(apiStreamOf(upstream, asked("responses")))
      assert.deepStrictEqual([streamed.error?.code, streamed.heard], [expected, []])
      assert.deepStrictEqual(calls(), [times])
      const whole = yield* soon(Effect.flip(upstream.request(asked("responses"))))
      assert.strictEqual(whole.code, expected)
      assert.deepStrictEqual(saidOf(whole), { ...said, error })
    }),
  )
})

describe("a response that continues another one", () => {
  const busy = () => json({ error: { message: "slow down", type: "requests" } }, { status: 429 })
  const made = (id: string) => () => json({ ...response, id, status: "completed" })
  const goingOn = (previous: string, more: Partial<ApiRequest> = {}) =>
    asked("responses", {
      caller: "alice",
      body: RawObject.of({ input: "and?", previous_response_id: previous }),
      ...more,
    })
  const first = asked("responses", { caller: "alice" })

  it.effect.each([false, true])(
    "is asked where the response to continue was made, and nowhere else (streamed: %s)",
    (streamed) =>
      Effect.gen(function* () {
        const completed = { type: "response.completed", response: { ...response, id: "r1", status: "completed" } }
        const { calls, upstream } = yield* slots(
          "responses",
          [busy, busy, busy, made("r0")],
          [streamed ? sse(created, completed) : made("r1"), made("r2"), made("r3"), busy],
        )
        yield* streamed ? read(apiStreamOf(upstream, first)) : soon(upstream.request(first))
        assert.deepStrictEqual(calls(), [3, 1])
        for (const previous of ["r1", "r2"]) {
          const { served } = yield* soon(upstream.request(goingOn(previous)))
          assert.strictEqual(served.provider, "provider2")
        }
        const error = yield* soon(Effect.flip(upstream.request(goingOn("r3"))))
        assert.deepStrictEqual([error.code, calls()], ["rate-limited", [3, 6]])
      }),
  )

  it.effect("goes to the first slot if the response to continue is unknown or another caller's", () =>
    Effect.gen(function* () {
      const { upstream } = yield* slots("responses", [busy, busy, busy, made("r0")], [made("r1")])
      yield* soon(upstream.request(first))
      for (const other of [goingOn("r9"), goingOn("r1", { caller: "bob" })]) {
        const { served } = yield* soon(upstream.request(other))
        assert.strictEqual(served.provider, "provider1")
      }
    }),
  )

  const lost =
    (error: JsonObject, status = 400) =>
    () =>
      json({ error }, { status })
  const unknown = { message: "Previous response with id 'r9' not found.", type: "invalid_request_error" }
  it.effect.each([
    lost({ ...unknown, param: "previous_response_id", code: "previous_response_not_found" }),
    lost({ message: "Invalid `previous_response_id`.", type: "invalid_request_error" }),
    lost({ message: "Response with id 'r9' not found.", type: "NotFoundError", code: 404 }, 404),
  ])("is looked for in all slots if it is unknown who made it (%#)", (lost) =>
    Effect.gen(function* () {
      const { calls, upstream } = yield* slots("responses", [lost], [lost], [made("r10"), made("r11")])
      for (const previous of ["r9", "r10"]) {
        const { served } = yield* soon(upstream.request(goingOn(previous)))
        assert.strictEqual(served.provider, "provider3")
      }
      assert.deepStrictEqual(calls(), [1, 1, 2])
    }),
  )

  it.effect("is asked nowhere else if a slot that may have made it fails otherwise, or if none made it", () =>
    Effect.gen(function* () {
      const { calls, upstream } = yield* slots("responses", [busy], [made("r1")])
      const failed = yield* soon(Effect.flip(upstream.request(goingOn("r9"))))
      assert.deepStrictEqual([failed.code, calls()], ["rate-limited", [3, 0]])
      const { upstream: others } = yield* slots("responses", [lost(unknown)], [lost(unknown)])
      const missed = yield* soon(Effect.flip(others.request(goingOn("r9"))))
      assert.deepStrictEqual([missed.code, saidOf(missed)], ["invalid-request", { status: 400, error: unknown }])
    }),
  )

  it.effect("follows the order if the response to continue was not to be stored", () =>
    Effect.gen(function* () {
      const { upstream } = yield* slots("responses", [busy, busy, busy, made("r0")], [made("r1")])
      const body = RawObject.of({ input: "hi", store: false })
      yield* soon(upstream.request(asked("responses", { caller: "alice", body })))
      const { served } = yield* soon(upstream.request(goingOn("r1")))
      assert.strictEqual(served.provider, "provider1")
    }),
  )
})

describe("embeddings", () => {
  const list = { object: "list", model: "e", data: [{ object: "embedding", index: 0, embedding: [0.5] }], usage: {} }
  const busy = () => json({ error: { message: "slow down", type: "requests" } }, { status: 429 })

  it.effect("do not fail over to another model, whose vectors are incomparable", () =>
    Effect.gen(function* () {
      const { calls, upstream } = yield* slots("embeddings", [busy], [() => json(list)])
      const error = yield* soon(Effect.flip(upstream.request(asked("embeddings", { model: "embed" }))))
      assert.strictEqual(error.code, "rate-limited")
      assert.deepStrictEqual(calls(), [3, 0])
    }),
  )

  it.effect("fail over to another slot with the same model", () =>
    Effect.gen(function* () {
      const { provider: one } = yield* canned("openai", busy)
      const { provider: two } = yield* canned("openai", () => json(list))
      const upstream = yield* upstreamOf([
        { ...one, defaultModel: "embed" },
        { ...two, id: "provider2", defaultModel: "embed" },
      ])
      const { served } = yield* soon(upstream.request(asked("embeddings", { model: "embed" })))
      assert.strictEqual(served.provider, "provider2")
    }),
  )

  const batch = (length: number, embedding: string) => json({ data: Array.from({ length }, () => ({ embedding })) })
  const inputs = (length: number) => RawObject.of({ input: Array.from({ length }, () => "hi") })

  it.effect("arrive if they are the largest batch of a vendor, in base64", () =>
    Effect.gen(function* () {
      const vector = Buffer.alloc(3072 * 4).toString("base64")
      const { upstream } = yield* slots("embeddings", [() => batch(2048, vector)])
      const { json } = yield* upstream.request(asked("embeddings", { body: inputs(2048) }))
      assert.isAbove(json.length, 2048 * vector.length)
    }),
  )

  it.effect("that are too large are the request's fault: none opens the circuit, and no other target is asked", () =>
    Effect.gen(function* () {
      const limits = { embeddingsBytes: 1000 }
      const { provider } = yield* canned("openai", () => batch(2, "A".repeat(500)), { limits })
      const { provider: other, sent } = yield* canned("openai", () => batch(2, "A"))
      const upstream = yield* upstreamOf(
        [
          { ...provider, defaultModel: "embed" },
          { ...other, id: "provider2", defaultModel: "embed" },
        ],
        { circuit: { failures: 1 } },
      )
      const error = yield* Effect.flip(upstream.request(asked("embeddings", { model: "embed", body: inputs(2) })))
      assert.deepInclude(error, { code: "invalid-request", status: 400 })
      assert.strictEqual(
        error.detail && Redacted.value(error.detail),
        "an answer of more than 1000 bytes; send fewer inputs, or ask for base64",
      )
      assert.deepInclude(error.attempts?.[0], { outcome: "oversized", usage: null })
      assert.strictEqual((yield* upstream.status)[0]?.circuit, "closed")
      assert.isEmpty(sent)
    }),
  )
})

describe("an API that a server lacks", () => {
  const CHAT = {
    id: "c",
    choices: [{ index: 0, message: { role: "assistant", content: "ok" }, finish_reason: "stop" }],
  }
  const chat: Partial<ApiRequest> = { body: RawObject.of({ messages: [{ role: "user", content: "hi" }] }) }

  it.effect.each<readonly [string, () => Response]>([
    ["a page", () => new Response("<p>Not Found", { status: 404, headers: { "content-type": "text/html" } })],
    ["501", () => json({ error: { message: "Not implemented" } }, { status: 501 })],
  ])("keeps nobody from those that it has (%s)", ([, lacking]) =>
    Effect.gen(function* () {
      const { provider } = yield* canned("openai", ({ url }) => (url.endsWith("/responses") ? lacking() : json(CHAT)))
      const upstream = yield* upstreamOf([provider])
      const stateOf = Effect.map(upstream.status, ([status]) => status?.circuit)
      // Longer than retries take, and shorter than a circuit stays open.
      const ask = (request: ApiRequest) => passingTime(Effect.result(upstream.request(request)), "2 seconds")
      for (let i = 0; i < 3; i++) yield* ask(asked("responses"))
      assert.strictEqual(yield* stateOf, "open")
      const served = yield* ask(asked("chat.completions", chat))
      assert.isTrue(Result.isSuccess(served))
      assert.strictEqual(yield* stateOf, "closed")
    }),
  )
})
