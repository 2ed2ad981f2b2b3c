/** Event streams under a clock of the test's own: keep-alives, and readers that do not read. */
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber, Layer, Queue, Stream } from "effect"
import { TestClock } from "effect/testing"
import { HttpServerResponse } from "effect/http"
import { eventStreamResponse, renderEvent } from "../../src/http/shared/EventStream.ts"
import { Upstream } from "../../src/services/upstream/Upstream.ts"
import { startProxy } from "../support/proxy.ts"
import { openSocket } from "../support/sockets.ts"
import { beginSession, seal } from "../support/sealing.ts"

const COMMENT = ": keep-alive\n\n"

const textOf = (response: HttpServerResponse.HttpServerResponse): Stream.Stream<string, unknown> =>
  response.body._tag === "Stream" ? Stream.decodeText(response.body.stream) : Stream.die(new Error("not a stream"))

describe("an event stream", () => {
  it.effect("renders events as WHATWG HTML has them, and says how it is to be treated", () =>
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

  it.effect("sends a comment after every 15 seconds without an event, and no sooner", () =>
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

  it.effect("gives up a reader that does not read, and what it was reading from", () =>
    Effect.gen(function* () {
      let produced = 0
      const released = yield* Deferred.make<void>()
      const endless = Stream.forever(Stream.sync(() => `event ${++produced}`)).pipe(
        Stream.ensuring(Deferred.succeed(released, undefined)),
      )
      const outcome = yield* Effect.scoped(
        Effect.gen(function* () {
          const pull = yield* Stream.toPull(textOf(eventStreamResponse(endless)))
          yield* pull
          yield* TestClock.adjust("59 seconds")
          const full = produced
          assert.isBelow(full, 64)
          assert.isFalse(yield* Deferred.isDone(released))
          yield* TestClock.adjust("2 seconds")
          assert.strictEqual(produced, full)
          yield* Deferred.await(released)
          return yield* Effect.exit(Effect.forever(pull))
        }),
      )
      assert.isTrue(Exit.isFailure(outcome))
      assert.include(String(outcome), "ReaderStalled")
    }),
  )

  it.effect("does not give up a reader that reads slowly", () =>
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

it.effect("a sealed stream whose reader stalls costs bounded memory, and is cut after a minute", () =>
  Effect.gen(function* () {
    let produced = 0
    const released = yield* Deferred.make<void>()
    const chunk = {
      id: "1",
      object: "chat.completion.chunk" as const,
      created: 1,
      model: "m",
      choices: [{ index: 0, delta: { content: "x".repeat(16_384) }, finish_reason: null }],
    }
    const flood = Stream.forever(
      Stream.sync(() => {
        produced++
        return { _tag: "Delta" as const, provider: "echo" as const, chunk }
      }),
    ).pipe(Stream.rechunk(1), Stream.ensuring(Deferred.succeed(released, undefined)))
    const upstream = Layer.effect(
      Upstream,
      Effect.map(Effect.service(Upstream), (echo) => Upstream.of({ ...echo, stream: () => flood })),
    ).pipe(Layer.provide(Upstream.layerEcho))
    const proxy = yield* startProxy({ upstream })
    const { body } = yield* Effect.promise(async () => seal(await beginSession(proxy), { prompt: "x", stream: true }))
    const text = JSON.stringify(body)
    const connection = yield* openSocket(
      proxy.port,
      `POST /v1/completions HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: ${text.length}\r\n\r\n${text}`,
    )
    yield* Effect.promise(() => connection.receives(/event: frame/))
    connection.socket.pause()
    // Until the buffers of both sockets are full, nothing is said about how large those are.
    let before = -1
    while (before !== produced) {
      before = produced
      yield* TestClock.withLive(Effect.sleep("100 millis"))
    }
    assert.isBelow(produced * 22_000, 64 * 1024 * 1024)
    yield* TestClock.adjust("61 seconds")
    yield* Deferred.await(released)
    connection.socket.resume()
    const received = yield* Effect.promise(() => connection.ended)
    // Cut, not ended: neither the last chunk of the transfer coding nor a proof.
    assert.notInclude(received, "event: proof")
    assert.isFalse(received.endsWith("0\r\n\r\n"))
  }),
)
