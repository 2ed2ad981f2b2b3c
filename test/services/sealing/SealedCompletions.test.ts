import { assert, describe, it } from "@effect/vitest"
import { Deferred, Duration, Effect, Fiber, Latch, Layer, Metric, Redacted, Stream } from "effect"
import { TestClock } from "effect/testing"
import type { ChatChunk, ChatCompletion } from "../../../src/domain/chat/chat.ts"
import { jsonFault } from "../../../src/domain/json/iJson.ts"
import type { RawObject } from "../../../src/domain/json/rawObject.ts"
import { type ApiEvent, type ApiRequest, UpstreamError } from "../../../src/domain/upstream/upstream.ts"
import { Drain } from "../../../src/services/lifecycle/Drain.ts"
import { SealedCompletions } from "../../../src/services/sealing/SealedCompletions.ts"
import type { Outlet } from "../../../src/services/sealing/sealStream.ts"
import type { SealedEvent } from "../../../src/services/sealing/StreamFrames.ts"
import { framesSealed, sealedResponses } from "../../../src/services/sealing/SealingMetrics.ts"
import type { Provider } from "../../../src/services/upstream/Provider.ts"
import { echo } from "../../../src/services/upstream/providers/echo/Echo.ts"
import { Upstream } from "../../../src/services/upstream/Upstream.ts"
import * as reference from "../../support/protocol/reference.ts"
import {
  beginSession,
  collect,
  collectEvents,
  eventsOf,
  exchange,
  layerSealing,
  openAnswer,
  sealChat,
  sealPayload,
} from "../../support/protocol/Sealing.ts"
import { type ApiStreamedEvent, streaming } from "../../support/streamed.ts"

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
const delta = (content: string): ApiEvent => ({ _tag: "Delta", provider: "provider1", chunk: chunk(content) })

/** The text of the data frames. */
const textOf = (payloads: ReadonlyArray<Record<string, unknown>>): string =>
  payloads
    .slice(0, -1)
    .flatMap(({ deltas }) => deltas as ReadonlyArray<ChatChunk>)
    .map(({ choices }) => choices[0]?.delta.content ?? "")
    .join("")

const SERVED = { provider: "provider1", model: "model-1", finishReasons: ["stop"], usage: null } as const
const FINISHED: ApiStreamedEvent = { _tag: "Finished", served: SERVED, attempts: [] }

const layerOver = (upstream: Partial<Upstream["Service"]>, grace?: Duration.Duration) =>
  layerSealing(grace === undefined ? {} : { grace }).pipe(Layer.provide(Layer.mock(Upstream)(upstream)))

const layerStreaming = (events: Stream.Stream<ApiStreamedEvent, UpstreamError>, grace?: Duration.Duration) =>
  layerOver({ requestStreamTo: streaming(() => events) }, grace)

/** A stream that was asked for, and how its events are opened. */
const askStream = Effect.fnUntraced(function* (more: object = {}) {
  const completions = yield* SealedCompletions
  const request = yield* sealChat(yield* beginSession(), { prompt: "x", stream: true }, more)
  const answer = yield* completions.handle(request.envelope)
  if (answer._tag !== "Stream") return assert.fail("no stream")
  const { responseNonce } = answer
  const opened = (events: ReadonlyArray<SealedEvent>) =>
    openAnswer(request, { form: "stream", responseNonce, ...collectEvents(events) })
  return { answer, opened }
})

/** An outlet that never takes anything. */
const STALLED: Outlet = {
  isReady: () => false,
  write: () => assert.fail("nothing can be written"),
  end: () => undefined,
  fail: (defect) => assert.fail(String(defect)),
}

describe("sizes", () => {
  const answerOf = (tokens: number): string => Array.from({ length: tokens }, () => "token").join(" ")
  const ANSWERS = [1, 2, 5, 16]
  /** Of the first payload of a short answer and of an end record, sealed. */
  const SHORT = 1024 + 16
  const END = 4096 + 16

  it.effect("of complete answers are the same for short answers and failures of any kind", () =>
    Effect.gen(function* () {
      const offer = yield* beginSession()
      const seen = new Set<string>()
      for (const model of [1, 64, 250]) {
        for (const count of ANSWERS) {
          const { sizes } = yield* exchange(offer, { prompt: answerOf(count), model: "m".repeat(model) })
          seen.add(String(sizes))
        }
      }
      seen.add(String((yield* exchange(offer, {})).sizes))
      seen.add(String((yield* exchange(offer, { prompt: "x" }, { provider: "provider4" })).sizes))
      seen.add(String((yield* exchange(offer, { prompt: "x" }, { issued_at: 900_000 })).sizes))
      assert.deepStrictEqual([...seen], [String([SHORT, END])])
    }).pipe(Effect.provide(layerEcho)),
  )

  it.effect("do not reveal a defect in the proxy", () =>
    Effect.gen(function* () {
      const { sizes } = yield* exchange(yield* beginSession(), { prompt: "x" })
      assert.deepStrictEqual(sizes, [SHORT, END])
    }).pipe(Effect.provide(layerOver({ request: () => Effect.die("a fault") }))),
  )

  it.effect("of the ends of streams are the same", () =>
    Effect.gen(function* () {
      const offer = yield* beginSession()
      const ends = new Set<number | undefined>()
      for (const model of [1, 64]) {
        for (const count of ANSWERS) {
          const { sizes } = yield* exchange(offer, { prompt: answerOf(count), model: "m".repeat(model), stream: true })
          ends.add(sizes.at(-1))
        }
      }
      assert.deepStrictEqual([...ends], [END])
    }).pipe(Effect.provide(layerEcho)),
  )

  it.effect("of end records do not depend on the length of a problem", () => {
    const detail = `"${"ü".repeat(5000)}`
    const error = new UpstreamError({ code: "invalid-request", detail: Redacted.make(detail) })
    return Effect.gen(function* () {
      const { payloads, sizes } = yield* exchange(yield* beginSession(), { prompt: "x" })
      assert.deepStrictEqual(sizes, [SHORT, END])
      const told = String(Reflect.get(Object(payloads[1]?.["problem"]), "detail"))
      assert.isTrue(detail.startsWith(told) && told.length > 500, String(told.length))
    }).pipe(Effect.provide(layerOver({ request: () => Effect.fail(error) })))
  })
})

describe("timestamps of an exchange", () => {
  it.effect.each([false, true])("never run backwards, however the clock is set (streamed: %s)", (stream) => {
    const setBack = TestClock.setTime(100_000)
    const over = layerOver({
      request: () => Effect.as(setBack, { json: "{}", served: SERVED, attempts: [] }),
      requestStreamTo: (_, emit) =>
        Effect.andThen(
          Effect.andThen(setBack, emit([delta("a")])),
          Effect.as(setBack, { served: SERVED, attempts: [] }),
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
    }).pipe(Effect.provide(over))
  })
})

describe("a surrogate pair that a provider cut in two", () => {
  const HALF = "\ud83d"
  const served = { provider: "provider1", model: `m${HALF}`, finishReasons: [`stop${HALF}`], usage: { [HALF]: HALF } }
  // Not what the types say, but what a provider may send.
  const finished = { _tag: "Finished", served, attempts: [] } as unknown as ApiStreamedEvent
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
      assert.strictEqual(textOf(payloads), "a\u{1F44B}b\uFFFDc\uFFFD")
    }).pipe(Effect.provide(layerStreaming(Stream.fromIterable(events))))
  })

  it.effect("is discarded if the stream restarts", () => {
    const events: ReadonlyArray<ApiStreamedEvent> = [
      delta(HALF),
      { _tag: "Restarted", reason: `reason${HALF}`, provider: "provider2", model: "m" },
      delta("\udc4b"),
      finished,
    ]
    return Effect.gen(function* () {
      const { payloads } = yield* exchange(yield* beginSession(), { prompt: "x", stream: true })
      assert.deepStrictEqual<unknown>(payloads[0], {
        restart: { reason: "reason\uFFFD", provider: "provider2", model: "m" },
        deltas: [chunk("\uFFFD")],
      })
    }).pipe(Effect.provide(layerStreaming(Stream.fromIterable(events))))
  })

  it.effect("is replaced in a whole answer, and in a problem", () => {
    const completion = {
      id: "c",
      object: "chat.completion",
      created: 1,
      model: `m${HALF}`,
      choices: [{ [HALF]: `a${HALF}`, finish_reason: `stop${HALF}` }],
    }
    const saying: Provider = {
      ...echo,
      // Not what the types say, but what a provider may send.
      complete: () => Effect.succeed(completion as unknown as ChatCompletion),
    }
    const asked = Effect.flatMap(beginSession(), (offer) => exchange(offer, { prompt: "x" }))
    return Effect.gen(function* () {
      const said = layerSealing().pipe(Layer.provide(Upstream.layer({ providers: [saying] })))
      const { payloads } = yield* Effect.provide(asked, said)
      assertIJson(payloads)
      assert.deepStrictEqual(payloads[0]?.["choices"], [{ "\uFFFD": "a\uFFFD", finish_reason: "stop\uFFFD" }])

      const quoting = new UpstreamError({ code: "invalid-request", detail: Redacted.make(`cut here: ${HALF}`) })
      const refused = yield* Effect.provide(asked, layerOver({ request: () => Effect.fail(quoting) }))
      assert.deepInclude(refused.payloads[1]?.["problem"], { detail: "cut here: \uFFFD" })
    })
  })
})

describe("an answer", () => {
  it.effect.each([false, true])(
    "reports when its request is no longer needed, and overwrites it (stream: %s)",
    (stream) => {
      const [asked, gate, answered] = [Latch.makeUnsafe(), Latch.makeUnsafe(), Latch.makeUnsafe()]
      let body: RawObject | undefined
      const refuse = (request: ApiRequest) => {
        body = request.body
        asked.openUnsafe()
        return Effect.andThen(gate.await, Effect.fail(new UpstreamError({ code: "overloaded" })))
      }
      return Effect.gen(function* () {
        const completions = yield* SealedCompletions
        let times = 0
        const completion = { messages: [{ role: "user", content: "a secret" }], stream }
        const request = yield* sealChat(yield* beginSession(), completion)
        const collecting = yield* Effect.flatMap(
          completions.handle(request.envelope, () => {
            times++
            answered.openUnsafe()
          }),
          collect,
        ).pipe(Effect.forkScoped)
        yield* asked.await
        assert.include(body?.text, "a secret")
        assert.strictEqual(times, 0)
        yield* gate.open
        yield* answered.await
        assert.notInclude(body?.text, "a secret")
        yield* TestClock.adjust("1 second")
        yield* Fiber.join(collecting)
        assert.strictEqual(times, 1)
      }).pipe(Effect.scoped, Effect.provide(layerOver({ request: refuse, requestStreamTo: refuse })))
    },
  )

  it.effect("passes the options under the seal to the upstream", () => {
    const asked: Array<Pick<ApiRequest, "provider" | "restart"> & { readonly completion: unknown }> = []
    const refuse = ({ body, provider, restart }: ApiRequest) => {
      // It is overwritten once it was refused.
      asked.push({ completion: JSON.parse(body.text), provider, restart })
      return Effect.fail(new UpstreamError({ code: "overloaded" }))
    }
    return Effect.gen(function* () {
      const completion = { prompt: "hi", system: "brief", seed: 7, custom: { kept: true } }
      yield* exchange(yield* beginSession(), completion, { provider: "provider4" })
      yield* exchange(yield* beginSession(), { prompt: "hi", stream: true }, { restart: false })
      assert.deepStrictEqual<unknown>(asked, [
        {
          provider: "provider4",
          restart: true,
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
    }).pipe(Effect.provide(layerOver({ request: refuse, requestStreamTo: refuse })))
  })
})

describe("a request that was opened but cannot be served", () => {
  const id = "018f3b1e-7c1a-7d2b-8a3c-1f2e3d4c5b6a"
  const good = { request_id: id, issued_at: 100_000, api: "chat.completions", body: { prompt: "hi" } }
  const messages = [{ role: "user", content: "hi" }]

  // The published requests, which negatives.test.ts sends, have most of the other faults.
  it.effect.each<readonly [string, number, string, object]>([
    ["is for no API", 400, "invalid-request", { ...good, api: undefined }],
    ["has a time that is no integer", 400, "invalid-request", { ...good, issued_at: 1.5 }],
    ["asks in two ways", 400, "invalid-request", { ...good, body: { prompt: "a", messages: [] } }],
    ["asks in two ways, one empty", 400, "invalid-request", { ...good, body: { prompt: null, messages } }],
    ["has a system and nothing else", 400, "invalid-request", { ...good, body: { system: "a" } }],
    ["wants a provider that does not exist", 422, "provider-not-configured", { ...good, provider: "secret" }],
    ["wants a provider that is not configured", 422, "provider-not-configured", { ...good, provider: "provider1" }],
  ])("because it %s is refused under seal, and used up", ([, status, code, payload]) =>
    Effect.gen(function* () {
      yield* TestClock.setTime(100_000)
      const offer = yield* beginSession()
      const completions = yield* SealedCompletions
      const request = yield* Effect.promise(() => sealPayload(offer, reference.text(JSON.stringify(payload))))
      const collected = yield* Effect.flatMap(completions.handle(request.envelope), collect)
      const { payloads, sizes } = openAnswer(request, collected)
      assert.strictEqual(collected.form, "complete")
      assert.isNull(payloads[0])
      assert.deepInclude(payloads[1], { status: "failed", finish_reasons: [], usage: null })
      assert.deepInclude(payloads[1]?.["problem"], { type: `urn:sealgate:problem:${code}`, code, status })
      assert.deepInclude(claimsOf(payloads[1]?.["receipt"]), {
        jti: id,
        provider: null,
        model: null,
        status: "failed",
        count: 1,
      })
      assert.deepStrictEqual(sizes, [1024 + 16, 4096 + 16])
      assert.strictEqual((yield* Effect.flip(completions.handle(request.envelope)))._tag, "Replayed")
    }).pipe(Effect.scoped, Effect.provide(layerEcho)),
  )

  it.effect("is refused if it has both messages and a prompt", () =>
    Effect.gen(function* () {
      const offer = yield* beginSession()
      const told = (completion: object) =>
        Effect.map(exchange(offer, completion), ({ payloads }) => JSON.stringify(payloads[1]?.["problem"]))
      assert.include(yield* told({ prompt: "a", messages }), "Give either messages or a prompt")
      assert.include(yield* told({ system: "a", messages }), "system goes with prompt alone")
    }).pipe(Effect.provide(layerEcho)),
  )

  it.effect.each([40_000, 160_000])("is served at the edge of the time allowed (%d)", (issued_at) =>
    Effect.gen(function* () {
      yield* TestClock.setTime(100_000)
      const { payloads } = yield* exchange(yield* beginSession(), { prompt: "hi" }, { issued_at })
      assert.deepInclude(payloads[1], { status: "complete" })
    }).pipe(Effect.provide(layerEcho)),
  )

  it.effect("gets the provider's error and its Retry-After", () => {
    const detail = Redacted.make("You said: hi")
    const refuse = () => Effect.fail(new UpstreamError({ code: "rate-limited", detail, retryAfterMs: 1500 }))
    return Effect.gen(function* () {
      const completions = yield* SealedCompletions
      const offer = yield* beginSession()
      for (const stream of [false, true]) {
        const request = yield* sealChat(offer, { prompt: "hi", stream })
        const answer = yield* completions.handle(request.envelope)
        const { payloads } = openAnswer(request, yield* collect(answer))
        assert.deepInclude(payloads.at(-1)?.["problem"], {
          status: 429,
          code: "rate-limited",
          detail: "You said: hi",
          retryable: true,
          retry_after_ms: 1500,
        })
      }
    }).pipe(Effect.scoped, Effect.provide(layerOver({ request: refuse, requestStreamTo: refuse })))
  })
})

describe("a stream", () => {
  it.effect("passes a restart on, and its receipt names the provider that finished", () => {
    const restarted: ApiStreamedEvent = {
      _tag: "Restarted",
      reason: "truncated",
      provider: "provider2",
      model: "model-2",
    }
    return Effect.gen(function* () {
      const { payloads } = yield* exchange(yield* beginSession(), { prompt: "x", stream: true })
      assert.deepStrictEqual<unknown>(payloads[0], {
        restart: { reason: "truncated", provider: "provider2", model: "model-2" },
        deltas: [],
      })
      assert.deepInclude(claimsOf(payloads[1]?.["receipt"]), { provider: "provider2", model: "model-2" })
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
      const answering = Effect.flatMap(askStream(), ({ answer }) =>
        Stream.runDrain(Stream.take(eventsOf(answer), read)),
      )
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
            Stream.make(FINISHED),
          ),
        ),
      ),
    ),
  )

  it.effect("loses nothing if more text than a frame holds arrives together with its end", () => {
    const texts = ["a", "b", "c", "d"].map((letter) => letter.repeat(200_000))
    const together = Stream.fromIterable<ApiStreamedEvent>([...texts.map(delta), FINISHED])
    return Effect.gen(function* () {
      const { payloads } = yield* exchange(yield* beginSession(), { prompt: "x", stream: true })
      assert.strictEqual(textOf(payloads), texts.join(""))
      assert.deepInclude(payloads.at(-1), { status: "complete" })
    }).pipe(Effect.provide(layerStreaming(together)))
  })

  it.effect("that does not finish in time when the proxy stops ends with a signed abort", () => {
    const endless = Stream.concat(Stream.make(delta("one ")), Stream.never)
    return Effect.gen(function* () {
      const drain = yield* Drain
      const opened = yield* Deferred.make<void>()
      const fiber = yield* Effect.forkChild(
        Effect.gen(function* () {
          yield* drain.inFlight("stream")
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
      assert.deepInclude(claimsOf(proof), { count: 2 })
    }).pipe(Effect.provide(layerStreaming(endless, Duration.seconds(5))))
  })
})

describe("a paced stream", () => {
  const FRAME = 1024 + 16
  const END = 4096 + 16

  /** The times and sizes of the frames of a stream at the given pace, in milliseconds since it opened. */
  const watch = Effect.fnUntraced(function* (events: Stream.Stream<ApiStreamedEvent, UpstreamError>, pace?: number) {
    const { answer, opened } = yield* askStream({ pace })
    const openedAt = yield* Effect.clockWith((clock) => clock.currentTimeMillis)
    const seen: Array<readonly [at: number, size: number]> = []
    const sealed: Array<SealedEvent> = []
    const reading = yield* eventsOf(answer).pipe(
      Stream.runForEach((event) =>
        Effect.gen(function* () {
          sealed.push(event)
          const at = (yield* Effect.clockWith((clock) => clock.currentTimeMillis)) - openedAt
          if (event._tag === "Frame") seen.push([at, event.ciphertext.length])
        }),
      ),
      Effect.forkScoped,
    )
    for (let passed = 0; passed < 1000; passed += 10) yield* TestClock.adjust(10)
    yield* Fiber.join(reading)
    return { seen, ...opened(sealed), events }
  }, Effect.scoped)

  const saying = (texts: ReadonlyArray<string>, everyMs: number) =>
    Stream.concat(
      Stream.fromIterable(texts).pipe(
        Stream.rechunk(1),
        Stream.mapEffect((text) => Effect.as(Effect.sleep(everyMs), delta(text))),
      ),
      Stream.make(FINISHED),
    )

  const words = (count: number) => Array.from({ length: count }, (_, index) => `${index} `)

  it.effect.each([
    ["few long", words(3).map((word) => word.repeat(20)), 90],
    ["many short", words(54), 5],
  ] as const)("shows the same of %s tokens: frames by the clock, of one size", ([, texts, everyMs]) => {
    const said = saying(texts, everyMs)
    return Effect.gen(function* () {
      const { payloads, seen } = yield* watch(said)
      assert.deepStrictEqual(seen, [
        [100, FRAME],
        [200, FRAME],
        [300, FRAME],
        [400, END],
      ])
      assert.strictEqual(textOf(payloads), texts.join(""))
      for (const { deltas } of payloads.slice(0, -1)) assert.isAtMost((deltas as ReadonlyArray<unknown>).length, 1)
    }).pipe(Effect.provide(layerStreaming(said)))
  })

  it.effect("that fails before anything came looks like a short one", () => {
    const failing = Stream.fail(new UpstreamError({ code: "overloaded" }))
    return Effect.gen(function* () {
      const { payloads, seen } = yield* watch(failing)
      assert.deepStrictEqual(seen, [
        [100, FRAME],
        [200, END],
      ])
      assert.deepInclude(payloads[1]?.["problem"], { code: "overloaded" })
    }).pipe(Effect.provide(layerStreaming(failing)))
  })

  it.effect("spreads text that does not fit into one block over the next ticks, however much waits", () => {
    const long = (bytes: number, pieces: number) =>
      Stream.concat(
        Stream.fromIterable(Array.from({ length: pieces }, () => delta("y".repeat(bytes)))),
        Stream.make(FINISHED),
      )
    return Effect.gen(function* () {
      const few = yield* Effect.provide(watch(long(300, 6), 20), layerStreaming(long(300, 6)))
      assert.deepStrictEqual(new Set(few.seen.slice(0, -1).map(([, size]) => size)), new Set([FRAME]))
      assert.strictEqual(textOf(few.payloads), "y".repeat(1800))
      for (const [bytes, pieces] of [
        [1, 600],
        [500, 60],
        [30_000, 1],
      ] as const) {
        const much = yield* Effect.provide(watch(long(bytes, pieces), 20), layerStreaming(long(bytes, pieces)))
        assert.deepStrictEqual(new Set(much.seen.slice(0, -1).map(([, size]) => size)), new Set([FRAME]))
        assert.strictEqual(textOf(much.payloads), "y".repeat(bytes * pieces))
      }
    })
  })

  it.effect.each([
    [100, 1024 * 1024],
    [0, 16 * 1024],
  ] as const)(
    "at pace %s lets its provider be read no further than %s bytes beyond the waiting text",
    ([pace, most]) => {
      const size = 16 * 1024
      let heard = 0
      const endless = Stream.iterate(0, (n) => n + 1).pipe(
        Stream.rechunk(1),
        Stream.mapEffect(() => Effect.sync(() => ++heard)),
        Stream.map(() => delta("y".repeat(size))),
      )
      return Effect.gen(function* () {
        const { answer } = yield* askStream({ pace })
        yield* answer.begin(STALLED)
        yield* TestClock.adjust(2000)
        assert.isAtLeast(heard * size, most * 0.9)
        assert.isAtMost(heard * size, most + 2 * size)
      }).pipe(Effect.scoped, Effect.provide(layerStreaming(endless)))
    },
  )

  it.effect("reads on from its provider once ticks have merged the backlog, even if nothing can be written", () => {
    let heard = 0
    const endless = Stream.iterate(0, (n) => n + 1).pipe(
      Stream.map(() => {
        heard++
        return delta("y")
      }),
      Stream.rechunk(1000),
    )
    return Effect.gen(function* () {
      const { answer } = yield* askStream({ pace: 100 })
      yield* answer.begin(STALLED)
      yield* TestClock.adjust(99)
      let before = 0
      while (heard > before) {
        before = heard
        yield* TestClock.adjust(0)
      }
      assert.isAbove(before, 1000)
      yield* TestClock.adjust(1000)
      assert.isAbove(heard, before)
    }).pipe(Effect.scoped, Effect.provide(layerStreaming(endless)))
  })

  it.live("sends the frames of ticks that passed while the process was busy", () => {
    const begun = Latch.makeUnsafe()
    const busy = Stream.concat(
      Stream.fromEffectDrain(
        Effect.map(begun.await, () => {
          const until = performance.now() + 500
          while (performance.now() < until);
        }),
      ),
      Stream.make(FINISHED),
    )
    return Effect.gen(function* () {
      const { answer, opened } = yield* askStream({ pace: 20 })
      const { sizes } = opened(yield* Stream.runCollect(Stream.tap(eventsOf(answer), () => begun.open)))
      assert.isAtLeast(sizes.length - 1, 500 / 20)
    }).pipe(Effect.scoped, Effect.provide(layerStreaming(busy)))
  })

  it.effect("sends the due frames once its reader goes on, one for each tick", () => {
    const said = saying(words(3), 300)
    return Effect.gen(function* () {
      const { answer, opened } = yield* askStream({ pace: 100 })
      const sealed: Array<SealedEvent> = []
      let isReady = false
      const goOn = yield* answer.begin({
        isReady: () => isReady,
        write: (events) => void sealed.push(...events),
        end: () => undefined,
        fail: (defect) => assert.fail(String(defect)),
      })
      yield* TestClock.adjust(45_000)
      assert.lengthOf(sealed, 0)
      isReady = true
      goOn()
      yield* TestClock.adjust(0)
      const { payloads, sizes } = opened(sealed)
      // The last word came after 900 ms: nine or ten ticks, and the end.
      assert.isTrue(sizes.length === 10 || sizes.length === 11, String(sizes))
      assert.deepStrictEqual(new Set(sizes.slice(0, -1)), new Set([FRAME]))
      assert.strictEqual(textOf(payloads), words(3).join(""))
    }).pipe(Effect.scoped, Effect.provide(layerStreaming(said)))
  })

  it.effect("at a shutdown, seals the due frames only as its reader takes them, and then the signed abort", () => {
    const endless = Stream.concat(Stream.make(delta("one ")), Stream.never)
    return Effect.gen(function* () {
      const { answer, opened } = yield* askStream({ pace: 100 })
      const sealed: Array<SealedEvent> = []
      let isReady = false
      const goOn = yield* answer.begin({
        isReady: () => isReady,
        write: (events) => {
          sealed.push(...events)
          isReady = false
        },
        end: () => undefined,
        fail: (defect) => assert.fail(String(defect)),
      })
      const drain = yield* Drain
      yield* drain.inFlight("stream")
      yield* Effect.forkScoped(drain.drain)
      yield* TestClock.adjust(15_050)
      assert.lengthOf(sealed, 0)
      for (let most = 64; most <= 192; most += 64) {
        isReady = true
        goOn()
        yield* TestClock.adjust(100)
        assert.isAtMost(sealed.length, most)
      }
      isReady = true
      goOn()
      yield* TestClock.adjust(0)
      const { payloads, proof, sizes } = opened(sealed)
      // The ticks of 15 s and one more.
      assert.deepStrictEqual(sizes, [...Array.from({ length: 151 }, () => FRAME), END])
      assert.strictEqual(textOf(payloads), "one ")
      assert.deepInclude(payloads.at(-1), { status: "aborted" })
      assert.deepInclude(claimsOf(proof), { count: 152 })
    }).pipe(Effect.scoped, Effect.provide(layerStreaming(endless, Duration.millis(15_050))))
  })

  it.effect("sends only the last of two restarts, without the data that it voids", () => {
    const again = (provider: "provider2" | "provider3"): ApiStreamedEvent => ({
      _tag: "Restarted",
      reason: "truncated",
      provider,
      model: "m",
    })
    const said = Stream.make(
      delta("void"),
      again("provider2"),
      delta("void too"),
      again("provider3"),
      delta("kept"),
      FINISHED,
    )
    return Effect.gen(function* () {
      const { payloads } = yield* watch(said)
      assert.deepStrictEqual<unknown>(payloads[0], {
        restart: { reason: "truncated", provider: "provider3", model: "m" },
        deltas: [chunk("kept")],
      })
    }).pipe(Effect.provide(layerStreaming(said)))
  })

  it.effect.each(["fast", -1, 19, 1001, 20.5, null])("has the default pace if the request asks for pace %s", (pace) => {
    const said = saying(["a"], 1)
    return Effect.gen(function* () {
      assert.deepInclude((yield* askStream({ pace })).answer, { paced: true })
    }).pipe(Effect.scoped, Effect.provide(layerStreaming(said)))
  })
})
