/** A stream that ends before the provider said that the answer is finished is a failure, wherever it ends. */
import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Exit, Fiber, Option, Schedule, Stream } from "effect"
import { TestClock } from "effect/testing"
import type { ChatChunk } from "../../../../src/domain/chat/chat.ts"
import { accumulate } from "../../../../src/domain/chat/chatStream.ts"
import { canned, events, json, MINIMAL, type Vendor, VENDOR_NAMES } from "./support/Canned.ts"
import { eventFixture, STREAMS } from "./support/fixtures.ts"
import { REQUEST } from "./support/raw.ts"

/** The chunks that came, and how the stream ended. */
const outcome = Effect.fnUntraced(function* (vendor: Vendor, response: () => Response) {
  const { provider } = yield* canned(vendor, response)
  const chunks: Array<ChatChunk> = []
  const exit = yield* Effect.exit(
    Stream.runForEach(provider.stream(REQUEST), (chunk) => Effect.sync(() => chunks.push(chunk))),
  )
  const failure = Exit.isFailure(exit) ? Option.getOrUndefined(Cause.findErrorOption(exit.cause)) : undefined
  return { chunks, failure, succeeded: Exit.isSuccess(exit) }
})

/** A response whose connection breaks after `pieces`, or that says nothing more and stays open. */
const unfinished = (pieces: ReadonlyArray<string>, then: "break" | "hang"): Response => {
  const left = pieces.map((piece) => new TextEncoder().encode(piece))
  return new Response(
    new ReadableStream<Uint8Array>({
      pull: (controller) => {
        const piece = left.shift()
        if (piece !== undefined) return controller.enqueue(piece)
        if (then === "break") return controller.error(new Error("reset"))
        return new Promise<void>(() => {})
      },
    }),
    { headers: { "content-type": "text/event-stream" } },
  )
}

for (const { vendor, name, finishedAfter } of STREAMS) {
  describe(name, () => {
    const recorded = eventFixture(name)

    for (let count = 0; count <= recorded.length; count++) {
      const finished = count >= finishedAfter
      const kept = recorded.slice(0, count)
      it.effect(`${count} of ${recorded.length} events, then the end: ${finished ? "an answer" : "truncated"}`, () =>
        Effect.gen(function* () {
          for (const response of [() => events(kept), () => unfinished(kept, "break")]) {
            const { failure, succeeded } = yield* outcome(vendor, response)
            assert.strictEqual(succeeded, finished)
            assert.strictEqual(failure?.kind, finished ? undefined : "truncated")
          }
        }),
      )
    }

    it.effect(
      "a finished stream ends although the connection stays open: at once after its closing event, else soon",
      () =>
        Effect.gen(function* () {
          const fiber = yield* Effect.forkChild(outcome(vendor, () => unfinished(recorded, "hang")))
          if (vendor === "gemini" || name === "openai-stream-compatible") {
            for (let turn = 0; turn < 10; turn++) yield* settled
            assert.isUndefined(fiber.pollUnsafe(), "nothing says that this was all")
            yield* TestClock.adjust("500 millis")
          }
          // The clock stands still here, so that nothing that waits can pass for at once.
          const { chunks, succeeded } = yield* Fiber.join(fiber)
          assert.isTrue(succeeded)
          const whole = yield* outcome(vendor, () => events(recorded))
          assert.deepStrictEqual(accumulate(chunks), accumulate(whole.chunks))
        }),
    )
  })
}

it.effect("a usage that never comes is waited for briefly", () =>
  Effect.gen(function* () {
    const kept = eventFixture("openai-stream").slice(0, 4)
    const fiber = yield* Effect.forkChild(outcome("openai", () => unfinished(kept, "hang")))
    yield* TestClock.adjust("1999 millis")
    assert.isUndefined(fiber.pollUnsafe())
    yield* TestClock.adjust("1 millis")
    const { chunks, succeeded } = yield* fiber.pollUnsafe() ?? Exit.die("still waiting")
    assert.isTrue(succeeded)
    assert.isNull(accumulate(chunks).usage)
  }),
)

it.effect.each([
  ["comments", ": ka\n\n"],
  ["empty chunks", 'data: {"id":"c","created":1,"model":"m","choices":[]}\n\n'],
] as const)("an answer that is finished does not wait longer because of %s", ([, piece]) =>
  Effect.gen(function* () {
    const context = yield* Effect.context()
    const kept = eventFixture("openai-stream").slice(0, 4).join("")
    // Endless events follow the answer, one every 100 ms.
    const warm = Stream.concat(
      Stream.make(kept),
      Stream.forever(Stream.fromEffect(Effect.delay(Effect.succeed(piece), "100 millis"))),
    )
    const body = Stream.toReadableStreamWith(Stream.encodeText(warm), context)
    const fiber = yield* Effect.forkChild(
      outcome("openai", () => new Response(body, { headers: { "content-type": "text/event-stream" } })),
    )
    for (let passed = 0; passed < 1999; passed += passed < 1900 ? 100 : 99) {
      yield* TestClock.adjust(passed < 1900 ? "100 millis" : "99 millis")
      yield* settled
    }
    assert.isUndefined(fiber.pollUnsafe())
    yield* TestClock.adjust("1 millis")
    yield* settled
    const { succeeded } = yield* fiber.pollUnsafe() ?? Exit.die("still waiting")
    assert.isTrue(succeeded)
  }),
)

/** Lets everything run that waits for no clock: web streams hand their pieces over in promises. */
const settled = Effect.promise(() => new Promise((resolve) => setImmediate(resolve)))

it.effect("a usage that comes late counts, and ends the wait", () =>
  Effect.gen(function* () {
    const context = yield* Effect.context()
    const kept = eventFixture("openai-stream").slice(0, 4).join("")
    const usage = 'data: {"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":7,"total_tokens":8}}\n\n'
    const late = Stream.fromEffect(Effect.delay(Effect.succeed(usage), "1900 millis"))
    const slow = Stream.concat(Stream.make(kept), Stream.concat(late, Stream.never))
    const body = Stream.toReadableStreamWith(Stream.encodeText(slow), context)
    const fiber = yield* Effect.forkChild(
      outcome("openai", () => new Response(body, { headers: { "content-type": "text/event-stream" } })),
    )
    for (let step = 0; step < 19; step++) {
      for (let turn = 0; turn < 3; turn++) yield* settled
      assert.isUndefined(fiber.pollUnsafe())
      yield* TestClock.adjust("100 millis")
    }
    for (let turn = 0; turn < 3; turn++) yield* settled
    const { chunks } = yield* fiber.pollUnsafe() ?? Exit.die("still waiting")
    assert.strictEqual(accumulate(chunks).usage?.completion_tokens, 7)
  }),
)

it.effect("a running usage is waited for until its last count", () =>
  Effect.gen(function* () {
    const chunk = (finish_reason: string | null, completion_tokens: number, choices = 1) =>
      `data: ${JSON.stringify({
        id: "c",
        created: 1,
        model: "m",
        choices: Array.from({ length: choices }, () => ({ index: 0, delta: { content: "x" }, finish_reason })),
        ...(completion_tokens < 0 ? {} : { usage: { prompt_tokens: 1, completion_tokens } }),
      })}\n\n`
    const { chunks } = yield* outcome("openai", () => events([chunk(null, 0), chunk("stop", -1), chunk(null, 7, 0)]))
    assert.strictEqual(accumulate(chunks).usage?.completion_tokens, 7)
  }),
)

it.effect("each late piece after the finish extends the wait", () =>
  Effect.gen(function* () {
    const context = yield* Effect.context()
    const piece = `data: ${JSON.stringify({ candidates: [{ content: { parts: [{ text: "x" }] }, finishReason: "STOP" }] })}\n\n`
    const slow = Stream.concat(
      Stream.take(
        Stream.repeat(Stream.fromEffect(Effect.delay(Effect.succeed(piece), "400 millis")), Schedule.forever),
        4,
      ),
      Stream.never,
    )
    const body = Stream.toReadableStreamWith(Stream.encodeText(slow), context)
    const fiber = yield* Effect.forkChild(
      outcome("gemini", () => new Response(body, { headers: { "content-type": "text/event-stream" } })),
    )
    for (let step = 0; step < 40; step++) {
      yield* TestClock.adjust("100 millis")
      for (let turn = 0; turn < 3; turn++) yield* settled
    }
    const { chunks, succeeded } = yield* fiber.pollUnsafe() ?? Exit.die("still waiting")
    assert.isTrue(succeeded)
    assert.strictEqual(accumulate(chunks).choices[0]?.message.content, "xxxx")
  }),
)

it.effect("a response left in the middle is closed at once", () =>
  Effect.gen(function* () {
    let cancelled = false
    const { provider } = yield* canned(
      "openai",
      () =>
        new Response(
          new ReadableStream<Uint8Array>({
            start: (controller) => controller.enqueue(new TextEncoder().encode(eventFixture("openai-stream")[0])),
            cancel: () => {
              cancelled = true
            },
          }),
          { headers: { "content-type": "text/event-stream" } },
        ),
    )
    // The clock stands still here, so that nothing that waits can pass for at once.
    yield* Stream.runDrain(Stream.take(provider.stream(REQUEST), 1))
    assert.isTrue(cancelled)
  }),
)

it.effect("several choices must all finish", () =>
  Effect.gen(function* () {
    const chunk = (index: number, finish_reason: string | null) =>
      `data: ${JSON.stringify({ id: "c", created: 1, model: "m", choices: [{ index, delta: { content: "x" }, finish_reason }] })}\n\n`
    const run = (...sent: ReadonlyArray<string>) =>
      Effect.flatMap(
        canned("openai", () => events(sent)),
        ({ provider }) => Effect.exit(Stream.runDrain(provider.stream({ ...REQUEST, n: 2 }))),
      )
    assert.isTrue(Exit.isFailure(yield* run(chunk(0, null), chunk(1, null), chunk(0, "stop"))), "one is open")
    assert.isTrue(Exit.isFailure(yield* run(chunk(0, "stop"))), "one has not begun")
    assert.isTrue(Exit.isSuccess(yield* run(chunk(0, "stop"), chunk(1, "stop"))))
    assert.isTrue(Exit.isSuccess(yield* run(chunk(0, "stop"), "data: [DONE]\n\n")), "a server that ignores n says so")
  }),
)

describe("gemini, asked for two candidates", () => {
  const candidate = (index: number, finishReason?: string, candidatesTokenCount?: number) =>
    `data: ${JSON.stringify({
      candidates: [{ index, content: { parts: [{ text: "x" }] }, finishReason }],
      ...(candidatesTokenCount === undefined ? {} : { usageMetadata: { promptTokenCount: 1, candidatesTokenCount } }),
    })}\n\n`
  const run = Effect.fnUntraced(function* (response: Response) {
    const { provider } = yield* canned("gemini", () => response)
    return yield* Stream.runCollect(provider.stream({ ...REQUEST, n: 2 }))
  })

  it.effect("may answer with fewer if the response ends in good order", () =>
    Effect.gen(function* () {
      const { choices, usage } = accumulate(yield* run(events([candidate(0), candidate(0, "STOP", 7)])))
      assert.lengthOf(choices, 1)
      assert.strictEqual(usage?.completion_tokens, 7)
    }),
  )

  it.effect("has not answered while a candidate is unfinished, or if the connection broke", () =>
    Effect.gen(function* () {
      const open = events([candidate(0), candidate(1), candidate(0, "STOP")])
      assert.strictEqual((yield* Effect.flip(run(open))).kind, "truncated")
      const broken = unfinished([candidate(0, "STOP", 7)], "break")
      const failure = yield* Effect.flip(run(broken))
      assert.strictEqual(failure.kind, "truncated")
      assert.strictEqual(failure.usage?.completion_tokens, 7)
    }),
  )

  it.effect("fails if an unreadable event follows the first candidate, because more may have followed", () =>
    Effect.gen(function* () {
      const failure = yield* Effect.flip(run(events([candidate(0, "STOP", 7), "data: {\n\n"])))
      assert.strictEqual(failure.kind, "garbage")
    }),
  )

  it.effect("waits for a second candidate that begins late", () =>
    Effect.gen(function* () {
      const fiber = yield* Effect.forkChild(run(unfinished([candidate(0, "STOP", 7)], "hang")))
      yield* TestClock.adjust("1 minute")
      assert.isUndefined(fiber.pollUnsafe())
      yield* Fiber.interrupt(fiber)
      const { choices, usage } = accumulate(yield* run(events([candidate(0, "STOP", 7), candidate(1, "STOP", 9)])))
      assert.lengthOf(choices, 2)
      assert.strictEqual(usage?.completion_tokens, 9)
    }),
  )
})

for (const vendor of VENDOR_NAMES) {
  it.effect(`${vendor}: a whole answer that breaks off is truncated, one without a finish reason unfinished`, () =>
    Effect.gen(function* () {
      const whole = JSON.stringify(MINIMAL[vendor])
      const broken = () => unfinished([whole.slice(0, 20)], "break")
      const unfinishedBody = () =>
        json(whole.replace(/"(finish_reason|stop_reason|finishReason)":"[^"]*"/, '"$1":null'))
      for (const [response, kind] of [
        [broken, "truncated"],
        [unfinishedBody, "unfinished"],
      ] as const) {
        const { provider } = yield* canned(vendor, response)
        assert.strictEqual((yield* Effect.flip(provider.complete(REQUEST))).kind, kind)
      }
    }),
  )
}
