import { assert, describe, it } from "@effect/vitest"
import { Deferred, Duration, Effect, Fiber, Layer, Metric, Redacted, Stream } from "effect"
import { TestClock } from "effect/testing"
import type { ChatChunk } from "../../../src/domain/chat.ts"
import { jsonFault } from "../../../src/domain/iJson.ts"
import { type StreamEvent, UpstreamError, type UpstreamRequest } from "../../../src/domain/upstream.ts"
import { Drain } from "../../../src/services/lifecycle/Drain.ts"
import { SealedCompletions } from "../../../src/services/sealing/SealedCompletions.ts"
import { framesSealed, sealedResponses } from "../../../src/services/sealing/SealingMetrics.ts"
import { Upstream } from "../../../src/services/upstream/Upstream.ts"
import * as reference from "../../support/protocol/reference.ts"
import {
  beginSession,
  collect,
  exchange,
  layerSealing,
  openAnswer,
  sealChat,
  sealPayload,
} from "../../support/protocol/Sealing.ts"

const layerEcho = layerSealing({ sessions: { maxRequests: 100_000 } }).pipe(Layer.provide(Upstream.layerEcho))

const claimsOf = (statement: unknown): Record<string, unknown> => {
  const payload = String(statement).split(".")[1] ?? ""
  return JSON.parse(reference.fromB64u(payload).toString()) as Record<string, unknown>
}

const chunk = (content: string): ChatChunk => ({
  id: "c",
  object: "chat.completion.chunk",
  created: 1,
  model: "model-1",
  choices: [{ index: 0, delta: { content }, finish_reason: null }],
})
const delta = (content: string): StreamEvent => ({ _tag: "Delta", provider: "provider1", chunk: chunk(content) })

const layerStreaming = (events: Stream.Stream<StreamEvent, UpstreamError>, grace?: Duration.Duration) =>
  layerSealing(grace === undefined ? {} : { grace }).pipe(Layer.provide(Layer.mock(Upstream)({ stream: () => events })))

describe("sizes", () => {
  const answerOf = (tokens: number): string => Array.from({ length: tokens }, () => "token").join(" ")
  /** Every length up to one at which a stream's chunk alone outgrows the smallest block. */
  const MODEL_LENGTHS = Array.from({ length: 320 }, (_, i) => i + 1)

  it.effect.each([
    ["at every number of tokens", Array.from({ length: 16 }, (_, i) => i + 1), [1, 6, 20, 64]],
    ["at every length of the model's name", [1, 16], MODEL_LENGTHS],
  ] as const)("complete answers of 1 to 16 tokens have one length, %s", ([, tokens, models]) =>
    Effect.gen(function* () {
      const offer = yield* beginSession()
      for (const model of models) {
        const seen = new Set<string>()
        for (const count of tokens) {
          const { sizes } = yield* exchange(offer, { prompt: answerOf(count), model: "m".repeat(model) })
          seen.add(String(sizes))
        }
        assert.strictEqual(seen.size, 1, `${[...seen].join(" and ")} with a model name of ${model} characters`)
      }
    }).pipe(Effect.provide(layerEcho)),
  )

  it.effect.each([
    ["at every number of tokens", Array.from({ length: 16 }, (_, i) => i + 1), [1, 6, 20, 64]],
    ["at every length of the model's name", [1, 16], MODEL_LENGTHS],
  ] as const)("streamed deltas have one length, and so have the ends of 1 to 16 of them, %s", ([, tokens, models]) =>
    Effect.gen(function* () {
      const offer = yield* beginSession()
      for (const model of models) {
        const deltas = new Set<number>()
        const ends = new Set<number | undefined>()
        for (const count of tokens) {
          const { sizes } = yield* exchange(offer, { prompt: answerOf(count), model: "m".repeat(model), stream: true })
          for (const size of sizes.slice(0, -1)) deltas.add(size)
          ends.add(sizes.at(-1))
        }
        assert.deepStrictEqual([...deltas], [512 + 16], `a model name of ${model} characters`)
        assert.strictEqual(ends.size, 1, `${[...ends].join(" and ")} with a model name of ${model} characters`)
      }
    }).pipe(Effect.provide(layerEcho)),
  )

  it.effect("one delta of 1 to 16 tokens has one length", () => {
    const all = Array.from({ length: 16 }, (_, i) => delta(answerOf(i + 1)))
    return Effect.gen(function* () {
      const { sizes } = yield* exchange(yield* beginSession(), { prompt: "x", stream: true })
      assert.deepStrictEqual(new Set(sizes.slice(0, -1)), new Set([512 + 16]))
    }).pipe(
      Effect.provide(
        layerStreaming(
          Stream.concat(
            Stream.fromIterable(all),
            Stream.make({
              _tag: "Finished",
              served: { provider: "provider1", model: "model-1", finishReasons: ["stop"], usage: null },
              attempts: [],
            } satisfies StreamEvent),
          ),
        ),
      ),
    )
  })
})

describe("the times of an exchange", () => {
  it.effect.each([false, true])("never run backwards, however the clock is set (streamed: %s)", (stream) => {
    const served = { provider: "provider1", model: "model-1", finishReasons: ["stop"], usage: null } as const
    const setBack = TestClock.setTime(100_000)
    const upstream = Layer.mock(Upstream)({
      complete: () =>
        Effect.as(setBack, {
          completion: { ...chunk(""), object: "chat.completion", choices: [] },
          served,
          attempts: [],
        }),
      stream: () =>
        Stream.fromIterable<StreamEvent>([delta("a"), { _tag: "Finished", served, attempts: [] }]).pipe(
          Stream.tap(() => setBack),
        ),
    })
    return Effect.gen(function* () {
      yield* TestClock.setTime(200_700)
      const offer = yield* beginSession()
      yield* TestClock.setTime(190_000)
      const { payloads, proof } = yield* exchange(offer, { prompt: "x", stream })
      const { completed_at, iat, received_at } = claimsOf(payloads.at(-1)?.["receipt"])
      assert.strictEqual(claimsOf(offer.attestation)["iat"], 200)
      assert.deepStrictEqual([received_at, completed_at, iat], [200, 200, 200])
      if (stream) assert.strictEqual(claimsOf(proof)["iat"], 200)
    }).pipe(Effect.provide(layerSealing().pipe(Layer.provide(upstream))))
  })
})

describe("what providers cut between the two halves of a character", () => {
  const HALF = "\ud83d"
  const served = { provider: "provider1", model: `m${HALF}`, finishReasons: [`stop${HALF}`], usage: { [HALF]: HALF } }
  // Not what the types say, but what a provider may send.
  const finished = { _tag: "Finished", served, attempts: [] } as unknown as StreamEvent
  const assertIJson = (payloads: ReadonlyArray<Record<string, unknown>>) => {
    for (const payload of payloads) assert.isUndefined(jsonFault(JSON.stringify(payload)))
    const record = payloads.at(-1) ?? {}
    const { finish_reasons, model, usage } = claimsOf(record["receipt"])
    assert.deepStrictEqual([finish_reasons, usage], [record["finish_reasons"], record["usage"]])
    assert.deepStrictEqual([model, finish_reasons], ["m\uFFFD", ["stop\uFFFD"]])
  }

  it.effect("is joined in a stream", () => {
    const texts = ["a", HALF, "\udc4bb", `${HALF}`, "c", HALF]
    const events = [...texts.map(delta), finished]
    return Effect.gen(function* () {
      const { payloads } = yield* exchange(yield* beginSession(), { prompt: "x", stream: true })
      assertIJson(payloads)
      const text = payloads.slice(0, -1).map(({ delta }) => (delta as ChatChunk).choices[0]?.delta.content ?? "")
      assert.deepStrictEqual(text, ["a", "", "\u{1F44B}b", "", "\uFFFDc", "", "\uFFFD"])
    }).pipe(Effect.provide(layerStreaming(Stream.fromIterable(events))))
  })

  it.effect("is forgotten when the stream begins anew", () => {
    const events: ReadonlyArray<StreamEvent> = [
      delta(HALF),
      { _tag: "Restarted", reason: `reason${HALF}`, provider: "provider2", model: "m" },
      delta("\udc4b"),
      finished,
    ]
    return Effect.gen(function* () {
      const { payloads } = yield* exchange(yield* beginSession(), { prompt: "x", stream: true })
      assert.deepStrictEqual(payloads[1], { restart: { reason: "reason\uFFFD", provider: "provider2", model: "m" } })
      assert.deepStrictEqual(payloads[2], { delta: chunk("\uFFFD") })
    }).pipe(Effect.provide(layerStreaming(Stream.fromIterable(events))))
  })

  it.effect("is replaced in a whole answer, and in a problem", () => {
    const completion = {
      id: "c",
      object: "chat.completion",
      created: 1,
      model: HALF,
      choices: [{ [HALF]: `a${HALF}` }],
    }
    const layer = (complete: Effect.Effect<unknown, UpstreamError>) =>
      layerSealing().pipe(
        // Not what the types say, but what a provider may send.
        Layer.provide(Layer.mock(Upstream)({ complete: () => complete as Effect.Effect<never, UpstreamError> })),
      )
    const asked = Effect.flatMap(beginSession(), (offer) => exchange(offer, { prompt: "x" }))
    return Effect.gen(function* () {
      const { payloads } = yield* Effect.provide(asked, layer(Effect.succeed({ completion, served, attempts: [] })))
      assertIJson(payloads)
      assert.deepStrictEqual(payloads[0]?.["choices"], [{ "\uFFFD": "a\uFFFD" }])

      const quoting = new UpstreamError({ code: "invalid-request", detail: Redacted.make(`cut here: ${HALF}`) })
      const refused = yield* Effect.provide(asked, layer(Effect.fail(quoting)))
      assert.strictEqual(refused.payloads[0]?.["detail"], "cut here: \uFFFD")
    })
  })
})

describe("an answer", () => {
  it.effect.each([false, true])("carries a receipt of what was really served (streamed: %s)", (stream) =>
    Effect.gen(function* () {
      yield* TestClock.adjust(Duration.millis(5_500))
      const offer = yield* beginSession()
      const { payloads, proof, request } = yield* exchange(offer, { prompt: "one two", model: "m", stream })
      const record = payloads.at(-1)
      const receipt = claimsOf(record?.["receipt"])
      const usage = { prompt_tokens: 2, completion_tokens: 2, total_tokens: 4 }
      const status = { status: "complete", finish_reasons: ["stop"], usage }
      assert.deepInclude(record, status)
      assert.deepInclude(receipt, {
        ...status,
        session_id: offer.session_id,
        form: stream ? "stream" : "complete",
        provider: "echo",
        model: "m",
        received_at: 5,
        completed_at: 5,
        request_hash: reference.b64u(request.requestHash),
        count: payloads.length - 1,
        prompt_persisted: false,
      })
      const { request_id } = JSON.parse(request.payload.toString()) as { readonly request_id: string }
      assert.strictEqual(receipt["jti"], request_id)
      if (stream) assert.deepInclude(claimsOf(proof), { count: payloads.length, status: "complete" })
      else assert.isUndefined(proof)
    }).pipe(Effect.provide(layerEcho)),
  )

  it.effect("is given to one of 50 concurrent copies, for one call of a provider", () => {
    let calls = 0
    const upstream = Layer.mock(Upstream)({
      stream: () =>
        Stream.suspend(() => {
          calls++
          return Stream.make(delta("once"))
        }),
    })
    return Effect.gen(function* () {
      const completions = yield* SealedCompletions
      const request = yield* sealChat(yield* beginSession(), { prompt: "x", stream: true })
      const outcomes = yield* Effect.forEach(
        Array.from({ length: 50 }),
        () =>
          completions.handle(request.envelope).pipe(
            Effect.flatMap(collect),
            Effect.as("served"),
            Effect.catch(({ _tag }) => Effect.succeed(_tag)),
            Effect.scoped,
          ),
        { concurrency: "unbounded" },
      )
      assert.deepStrictEqual(outcomes.toSorted(), [...Array.from({ length: 49 }, () => "Replayed"), "served"])
      assert.strictEqual(calls, 1)
    }).pipe(Effect.provide(layerSealing().pipe(Layer.provide(upstream))))
  })

  it.effect("asks for what the seal says", () => {
    const asked: Array<UpstreamRequest> = []
    const refuse = (request: UpstreamRequest) => {
      asked.push(request)
      return Effect.fail(new UpstreamError({ code: "overloaded" }))
    }
    const upstream = Layer.mock(Upstream)({
      complete: refuse,
      stream: (request) => Stream.fromEffect(refuse(request)),
    })
    return Effect.gen(function* () {
      const completion = { prompt: "hi", system: "brief", seed: 7, custom: { kept: true } }
      yield* exchange(yield* beginSession(), completion, { provider: "provider4" })
      yield* exchange(yield* beginSession(), { prompt: "hi", stream: true }, { restart: false })
      assert.deepStrictEqual<unknown>(asked, [
        {
          provider: "provider4",
          restart: undefined,
          completion: {
            seed: 7,
            custom: { kept: true },
            messages: [
              { role: "system", content: "brief" },
              { role: "user", content: "hi" },
            ],
          },
        },
        {
          provider: undefined,
          restart: false,
          completion: { stream: true, messages: [{ role: "user", content: "hi" }] },
        },
      ])
    }).pipe(Effect.provide(layerSealing().pipe(Layer.provide(upstream))))
  })
})

describe("a request that was opened but cannot be served", () => {
  const id = "018f3b1e-7c1a-7d2b-8a3c-1f2e3d4c5b6a"
  const good = { request_id: id, issued_at: 100_000, api: "chat.completions", body: { prompt: "hi" } }
  const messages = [{ role: "user", content: "hi" }]

  it.effect.each<readonly [string, number, string, Buffer | object]>([
    ["is not UTF-8", 400, "invalid-request", Buffer.from([0xff, 0xfe])],
    ["is not JSON", 400, "invalid-request", reference.text("{")],
    ["is empty", 400, "invalid-request", Buffer.alloc(0)],
    ["is a list", 400, "invalid-request", [good]],
    ["has no id", 400, "invalid-request", { ...good, request_id: undefined }],
    ["has an id that is no UUID", 400, "invalid-request", { ...good, request_id: "1" }],
    ["has an id in capitals", 400, "invalid-request", { ...good, request_id: id.toUpperCase() }],
    ["is for no API", 400, "invalid-request", { ...good, api: undefined }],
    ["is for another API", 400, "unsupported-api", { ...good, api: "responses", body: { input: "hi" } }],
    ["has no time", 400, "invalid-request", { ...good, issued_at: undefined }],
    ["has a time that is no integer", 400, "invalid-request", { ...good, issued_at: 1.5 }],
    ["asks for nothing", 400, "invalid-request", { ...good, body: {} }],
    ["asks in two ways", 400, "invalid-request", { ...good, body: { prompt: "a", messages: [] } }],
    ["asks two questions", 400, "invalid-request", { ...good, body: { prompt: "a", messages } }],
    ["asks in two ways, one empty", 400, "invalid-request", { ...good, body: { prompt: null, messages } }],
    ["has a system beside messages", 400, "invalid-request", { ...good, body: { system: "a", messages } }],
    ["has a system and nothing else", 400, "invalid-request", { ...good, body: { system: "a" } }],
    ["says neither yes nor no to a restart", 400, "invalid-request", { ...good, restart: "no" }],
    ["is from the past", 400, "stale", { ...good, issued_at: 39_999 }],
    ["is from the future", 400, "stale", { ...good, issued_at: 160_001 }],
    ["wants a provider that does not exist", 422, "provider-not-configured", { ...good, provider: "secret" }],
    ["wants a provider that is not configured", 422, "provider-not-configured", { ...good, provider: "provider1" }],
  ])("because it %s is refused under seal, and used up", ([, status, code, payload]) =>
    Effect.gen(function* () {
      yield* TestClock.setTime(100_000)
      const offer = yield* beginSession()
      const completions = yield* SealedCompletions
      const bytes = Buffer.isBuffer(payload) ? payload : reference.text(JSON.stringify(payload))
      const request = yield* Effect.promise(() => sealPayload(offer, bytes))
      const collected = yield* Effect.flatMap(completions.handle(request.envelope), collect)
      const { payloads, sizes } = openAnswer(request, collected)
      assert.strictEqual(collected.form, "problem")
      assert.strictEqual(collected.status, status)
      assert.deepInclude(payloads[0], { type: `urn:sealgate:problem:${code}`, code, status })
      assert.deepStrictEqual(sizes, [1024 + 16])
      assert.strictEqual((yield* Effect.flip(completions.handle(request.envelope)))._tag, "Replayed")
    }).pipe(Effect.scoped, Effect.provide(layerEcho)),
  )

  it.effect("because it asks in two ways is told so", () =>
    Effect.gen(function* () {
      const offer = yield* beginSession()
      const told = (completion: object) =>
        Effect.map(exchange(offer, completion), ({ payloads }) => JSON.stringify(payloads[0]?.["errors"]))
      assert.include(yield* told({ prompt: "a", messages }), "Give either messages or a prompt")
      assert.include(yield* told({ system: "a", messages }), "Only a prompt has a system beside it")
    }).pipe(Effect.provide(layerEcho)),
  )

  it.effect.each([40_000, 160_000])("is served at the edge of the time allowed (%d)", (issued_at) =>
    Effect.gen(function* () {
      yield* TestClock.setTime(100_000)
      const { collected } = yield* exchange(yield* beginSession(), { prompt: "hi" }, { issued_at })
      assert.strictEqual(collected.status, 200)
    }).pipe(Effect.provide(layerEcho)),
  )

  it.effect("is told what the provider said, and when to come again", () =>
    Effect.gen(function* () {
      const completions = yield* SealedCompletions
      const offer = yield* beginSession()
      for (const stream of [false, true]) {
        const request = yield* sealChat(offer, { prompt: "hi", stream })
        const answer = yield* completions.handle(request.envelope)
        assert.deepInclude(answer, { _tag: "Problem", status: 429, retryAfterMs: 1500 })
        const { payloads } = openAnswer(request, yield* collect(answer))
        assert.deepInclude(payloads[0], { code: "rate-limited", detail: "You said: hi", retryable: true })
      }
    }).pipe(
      Effect.scoped,
      Effect.provide(
        layerSealing().pipe(
          Layer.provide(
            Layer.suspend(() => {
              const error = new UpstreamError({
                code: "rate-limited",
                detail: Redacted.make("You said: hi"),
                retryAfterMs: 1500,
              })
              return Layer.mock(Upstream)({ complete: () => Effect.fail(error), stream: () => Stream.fail(error) })
            }),
          ),
        ),
      ),
    ),
  )
})

describe("a stream", () => {
  it.effect("whose provider fails ends with a signed failure and the reason under seal", () => {
    const broken = Stream.concat(
      Stream.make(delta("one ")),
      Stream.fail(new UpstreamError({ code: "upstream-truncated", detail: Redacted.make("It broke.") })),
    )
    return Effect.gen(function* () {
      const { collected, payloads, proof } = yield* exchange(yield* beginSession(), { prompt: "x", stream: true })
      assert.strictEqual(collected.status, 200)
      assert.deepStrictEqual<unknown>(payloads[0], { delta: chunk("one ") })
      assert.deepInclude(payloads[1], { status: "failed", finish_reasons: [], usage: null })
      assert.deepInclude(payloads[1]?.["problem"], { code: "upstream-truncated", status: 502, detail: "It broke." })
      assert.deepInclude(claimsOf(payloads[1]?.["receipt"]), {
        status: "failed",
        provider: "provider1",
        model: "model-1",
        usage: null,
        count: 1,
      })
      assert.deepInclude(claimsOf(proof), { status: "failed", count: 2 })
    }).pipe(Effect.provide(layerStreaming(broken)))
  })

  it.effect("that ends before it said anything is a problem", () =>
    Effect.gen(function* () {
      const { collected, payloads } = yield* exchange(yield* beginSession(), { prompt: "x", stream: true })
      assert.strictEqual(collected.status, 502)
      assert.deepInclude(payloads[0], { code: "upstream-truncated" })
    }).pipe(Effect.provide(layerStreaming(Stream.empty))),
  )

  it.effect("passes a restart on, and the receipt names who finished", () => {
    const restarted: StreamEvent = { _tag: "Restarted", reason: "truncated", provider: "provider2", model: "model-2" }
    return Effect.gen(function* () {
      const { payloads } = yield* exchange(yield* beginSession(), { prompt: "x", stream: true })
      assert.deepStrictEqual<unknown>(payloads[1], {
        restart: { reason: "truncated", provider: "provider2", model: "model-2" },
      })
      assert.deepInclude(claimsOf(payloads[2]?.["receipt"]), { provider: "provider2", model: "model-2" })
    }).pipe(
      Effect.provide(
        layerStreaming(
          Stream.concat(Stream.make(delta("one"), restarted), Stream.fail(new UpstreamError({ code: "overloaded" }))),
        ),
      ),
    )
  })

  it.effect.each([
    ["before its first event", 0, 0],
    ["in the middle", 3, 3],
  ] as const)("whose client goes away %s is counted as abandoned, with the frames sealed so far", ([, read, sealed]) =>
    Effect.gen(function* () {
      const counts = Effect.all({
        frames: Metric.value(framesSealed),
        abandoned: Metric.value(sealedResponses("stream", "abandoned")),
        complete: Metric.value(sealedResponses("stream", "complete")),
      }).pipe(Effect.map(({ abandoned, complete, frames }) => [frames.count, abandoned.count, complete.count] as const))
      const offer = yield* beginSession()
      const [frames, abandoned, complete] = yield* counts
      const answering = Effect.gen(function* () {
        const completions = yield* SealedCompletions
        const request = yield* sealChat(offer, { prompt: "x", stream: true })
        const answer = yield* completions.handle(request.envelope)
        assert.strictEqual(answer._tag, "Stream")
        if (answer._tag === "Stream") yield* Stream.runDrain(Stream.take(answer.events, read))
      })
      yield* Effect.scoped(answering)
      assert.deepStrictEqual(yield* counts, [frames + sealed, abandoned + 1, complete])
      yield* exchange(offer, { prompt: "x", stream: true })
      const [, ...statuses] = yield* counts
      assert.deepStrictEqual(statuses, [abandoned + 1, complete + 1])
    }).pipe(
      Effect.provide(
        layerStreaming(
          Stream.concat(
            Stream.fromIterable(Array.from({ length: 8 }, () => delta("word "))).pipe(Stream.rechunk(1)),
            Stream.make({
              _tag: "Finished",
              served: { provider: "provider1", model: "model-1", finishReasons: ["stop"], usage: null },
              attempts: [],
            } satisfies StreamEvent),
          ),
        ),
      ),
    ),
  )

  it.effect("that does not finish in time when the proxy stops ends with a signed abort", () => {
    const endless = Stream.concat(Stream.make(delta("one ")), Stream.never)
    return Effect.gen(function* () {
      const drain = yield* Drain
      const opened = yield* Deferred.make<void>()
      const fiber = yield* Effect.forkChild(
        Effect.gen(function* () {
          yield* drain.inFlight
          const completions = yield* SealedCompletions
          const request = yield* sealChat(yield* beginSession(), { prompt: "x", stream: true })
          const answer = yield* completions.handle(request.envelope)
          yield* Deferred.succeed(opened, undefined)
          return openAnswer(request, yield* collect(answer))
        }).pipe(Effect.scoped),
      )
      yield* Deferred.await(opened)
      const stopping = yield* Effect.forkChild(drain.drain)
      yield* TestClock.adjust(Duration.seconds(5))
      const { payloads, proof } = yield* Fiber.join(fiber)
      yield* Fiber.join(stopping)
      assert.deepInclude(payloads[1], { status: "aborted" })
      assert.deepInclude(payloads[1]?.["problem"], { code: "draining", status: 503 })
      assert.deepInclude(claimsOf(payloads[1]?.["receipt"]), { status: "aborted", count: 1 })
      assert.deepInclude(claimsOf(proof), { status: "aborted", count: 2 })
    }).pipe(Effect.provide(layerStreaming(endless, Duration.seconds(5))))
  })
})
