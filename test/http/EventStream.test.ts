/** Event streams under a test clock: keep-alives, and readers that do not read. */
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Duration, Effect, Fiber, Metric, Queue, Stream } from "effect"
import { TestClock } from "effect/testing"
import type { HttpServerResponse } from "effect/http"
import { streamedAnswer } from "../../src/http/gateway/calls/answers.ts"
import { eventStreamResponse, renderEvent } from "../../src/http/shared/EventStream.ts"
import { layerEchoWith } from "../support/echo.ts"
import { FakeUpstream } from "../support/FakeUpstream.ts"
import { behind, startProxy } from "../support/proxy.ts"
import { scrape, valueOf } from "../support/prometheus.ts"
import { openSocket, postOf } from "../support/sockets.ts"
import { beginSession, seal } from "../support/sealing.ts"
import { streaming } from "../support/streamed.ts"

const COMMENT = ": keep-alive\n\n"
const CONTENT = "x".repeat(16_384)

const textOf = (response: HttpServerResponse.HttpServerResponse): Stream.Stream<string, unknown> =>
  response.body._tag === "Stream" ? Stream.decodeText(response.body.stream) : Stream.die(new Error("not a stream"))

describe("an event stream", () => {
  it.effect("renders events as WHATWG HTML defines them, with headers against caching and buffering", () =>
    Effect.gen(function* () {
      assert.strictEqual(renderEvent("frame", `{"a":1}`), `event: frame\ndata: {"a":1}\n\n`)
      assert.strictEqual(renderEvent("step", "{}", "7"), "id: 7\nevent: step\ndata: {}\n\n")
      const response = eventStreamResponse(Stream.make(renderEvent("a", "1"), renderEvent("b", "2")))
      assert.strictEqual(response.headers["cache-control"], "no-store")
      assert.strictEqual(response.body._tag === "Stream" && response.body.contentType, "text/event-stream")
      assert.strictEqual(
        (yield* Stream.runCollect(textOf(response))).join(""),
        "event: a\ndata: 1\n\nevent: b\ndata: 2\n\n",
      )
    }),
  )

  it.effect("sends a comment after every 15 seconds without an event", () =>
    Effect.gen(function* () {
      const events = yield* Queue.unbounded<string>()
      const heard: Array<string> = []
      const reading = yield* textOf(eventStreamResponse(Stream.fromQueue(events))).pipe(
        Stream.runForEach((text) => Effect.sync(() => heard.push(text))),
        Effect.forkChild,
      )
      yield* TestClock.adjust("14 seconds")
      assert.deepStrictEqual(heard, [])
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(heard, [COMMENT])
      yield* TestClock.adjust("10 seconds")
      yield* Queue.offer(events, "one")
      yield* TestClock.adjust("14 seconds")
      assert.deepStrictEqual(heard, [COMMENT, "one"])
      yield* TestClock.adjust("31 seconds")
      assert.deepStrictEqual(heard, [COMMENT, "one", COMMENT, COMMENT, COMMENT])
      yield* Fiber.interrupt(reading)
    }),
  )

  it.effect.each([
    ["messages", 'event: ping\ndata: {"type": "ping"}\n\n'],
    ["chat.completions", COMMENT],
    ["responses", COMMENT],
  ] as const)("of %s sends %j after 15 seconds of silence", ([api, keptAliveBy]) =>
    Effect.gen(function* () {
      const pieces = Stream.concat(Stream.succeed({ type: "message_start" }), Stream.never)
      const response = yield* streamedAnswer({ api, withUsage: true }, pieces)
      const heard = yield* Queue.unbounded<string>()
      const reading = yield* textOf(response).pipe(
        Stream.runForEach((text) => Queue.offer(heard, text)),
        Effect.forkChild,
      )
      assert.include(yield* Queue.take(heard), "message_start")
      const next = yield* Effect.forkChild(Queue.take(heard))
      while (next.pollUnsafe() === undefined) yield* TestClock.adjust("15 seconds")
      assert.strictEqual(yield* Fiber.join(next), keptAliveBy)
      yield* Fiber.interrupt(reading)
    }),
  )

  it.effect("buffers few events while nobody reads, and releases its source at the end", () =>
    Effect.gen(function* () {
      let produced = 0
      const released = yield* Deferred.make<void>()
      const endless = Stream.forever(Stream.sync(() => `event ${++produced}`)).pipe(
        Stream.ensuring(Deferred.succeed(released, undefined)),
      )
      yield* Effect.scoped(
        Effect.gen(function* () {
          const pull = yield* Stream.toPull(textOf(eventStreamResponse(endless)))
          yield* pull
          yield* TestClock.adjust("1 hour")
          assert.isBelow(produced, 64)
        }),
      )
      yield* Deferred.await(released)
    }),
  )

  it.effect("buffers fewer events the longer they are", () =>
    Effect.gen(function* () {
      let produced = 0
      const endless = Stream.forever(Stream.sync(() => `${++produced} ${CONTENT}`)).pipe(Stream.rechunk(1))
      const pull = yield* Stream.toPull(textOf(eventStreamResponse(endless)))
      const heard: Array<string> = []
      for (let i = 0; i < 50; i++) {
        heard.push(...(yield* pull))
        yield* TestClock.adjust("1 second")
        // Sent events, 64 KiB that wait, and one event on either side.
        assert.isBelow(produced - heard.length, 8)
      }
      assert.deepStrictEqual(
        heard.map((text) => Number.parseInt(text, 10)),
        heard.map((_, index) => index + 1),
      )
    }),
  )

  it.effect("loses nothing for a reader that reads slowly", () =>
    Effect.gen(function* () {
      const total = 100
      let read = 0
      const events = Stream.range(1, total).pipe(Stream.map(String), Stream.rechunk(1))
      const reading = yield* textOf(eventStreamResponse(events)).pipe(
        Stream.runForEachArray((array) =>
          Effect.delay(
            Effect.sync(() => (read += array.length)),
            "50 seconds",
          ),
        ),
        Effect.forkChild,
      )
      while (reading.pollUnsafe() === undefined) yield* TestClock.adjust("50 seconds")
      yield* Fiber.join(reading)
      assert.strictEqual(read, total)
    }),
  )
})

it.live("a sealed stream that nobody reads takes limited memory, and is cut off with its provider call", () =>
  Effect.gen(function* () {
    let produced = 0
    const released = yield* Deferred.make<void>()
    const chunk = {
      id: "1",
      object: "chat.completion.chunk" as const,
      created: 1,
      model: "m",
      choices: [{ index: 0, delta: { content: CONTENT }, finish_reason: null }],
    }
    const flood = Stream.forever(
      Stream.sync(() => {
        produced++
        return { _tag: "Delta" as const, provider: "echo" as const, chunk }
      }),
    ).pipe(Stream.rechunk(1), Stream.ensuring(Deferred.succeed(released, undefined)))
    const proxy = yield* startProxy({
      upstream: layerEchoWith(() => ({ requestStreamTo: streaming(() => flood) })),
      settings: { writeTimeout: Duration.millis(500) },
    })
    const { body } = yield* Effect.promise(async () => seal(await beginSession(proxy), { prompt: "x", stream: true }))
    const connection = yield* openSocket(proxy.port, postOf("/v1/completions", body))
    yield* Effect.promise(() => connection.receives(/event: frame/))
    connection.socket.pause()
    yield* Deferred.await(released)
    // The buffers of both sockets, which the system sizes, and a few buffered events.
    assert.isBelow(produced * CONTENT.length, 64 * 1024 * 1024)
    connection.socket.resume()
    const received = yield* Effect.promise(() => connection.ended)
    // Cut, not ended: neither a proof nor the last chunk of the transfer coding.
    assert.notInclude(received, "event: proof")
    assert.isFalse(received.endsWith("0\r\n\r\n"))
  }),
)

it.live("a complete answer that nobody reads is cut", () =>
  Effect.gen(function* () {
    const content = "x".repeat(16 * 1024 * 1024)
    const served = { provider: "echo" as const, model: "m", finishReasons: ["stop" as const], usage: null }
    const message = { role: "assistant" as const, content }
    const choices = [{ index: 0, message, finish_reason: "stop" as const }]
    const completion = { id: "1", object: "chat.completion" as const, created: 1, model: "m", choices }
    const proxy = yield* startProxy({
      upstream: layerEchoWith(() => ({
        request: () => Effect.succeed({ json: JSON.stringify(completion), served, attempts: [] }),
      })),
      settings: { writeTimeout: Duration.millis(500) },
    })
    const { body } = yield* Effect.promise(async () => seal(await beginSession(proxy), { prompt: "x" }))
    const answered = Effect.tryPromise(
      async () =>
        valueOf(await scrape(proxy), "sealgate_sealed_responses_total", { form: "complete", status: "complete" }),
      // Sealing 16 MB takes a while, during which an idle connection may be cut as well.
    ).pipe(Effect.retry({ times: 5 }), Effect.orDie)
    const before = yield* answered
    const connection = yield* openSocket(proxy.port)
    connection.socket.pause()
    connection.write(postOf("/v1/completions", body, { connection: "close" }))
    yield* Effect.repeat(answered, { until: (count) => count > before })
    // A client that does not read cannot observe that its connection was cut.
    yield* Effect.sleep("2 seconds")
    connection.socket.resume()
    const received = yield* Effect.promise(() => connection.ended)
    assert.isBelow(received.length, content.length)
    // Without the counts of other tests in this process.
  }).pipe(Effect.provideService(Metric.MetricRegistry, new Map())),
)

it.live("an answer whose provider takes longer than the write time-out is not cut", () =>
  Effect.gen(function* () {
    const fake = yield* FakeUpstream.make()
    fake.script({ text: "late", delivery: { headersAfter: 1_000 } })
    fake.script({ text: "later still", delivery: { gap: 1_000 } })
    const proxy = yield* startProxy({ settings: { ...behind(fake), writeTimeout: Duration.millis(200) } })
    const client = proxy.client()
    const { completion } = yield* Effect.promise(() => client.complete({ prompt: "hello" }))
    assert.strictEqual(completion.choices[0]?.message.content, "late")
    const text = yield* Effect.promise(async () => (await client.stream({ prompt: "hello" })).text())
    assert.strictEqual(text, "later still")
  }),
)
