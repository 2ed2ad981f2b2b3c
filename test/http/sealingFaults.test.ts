/** A defect of the proxy after the status was sent: the connection breaks, and the log says why. */
import { Readable } from "node:stream"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Fiber, Layer, Logger, Stream } from "effect"
import { TestClock } from "effect/testing"
import { makeCompleteResponse } from "../../src/http/proxy/completeResponse.ts"
import { streamResponse } from "../../src/http/proxy/streamResponse.ts"
import { Attestation } from "../../src/services/sealing/Attestation.ts"
import { SealedCompletions, type SealedReply } from "../../src/services/sealing/SealedCompletions.ts"
import { Upstream } from "../../src/services/upstream/Upstream.ts"
import { beginSession, layerIdentity, layerSealing, sealChat } from "../support/protocol/Sealing.ts"

/** Signs nothing of one kind. */
const layerFailing = (failing: "receipt" | "proof") => {
  const attestation = Layer.effect(
    Attestation,
    Effect.map(Attestation, (identity) =>
      Attestation.of({
        ...identity,
        sign: (kind, claims) => {
          if (kind === failing) throw new RangeError("a secret")
          return identity.sign(kind, claims)
        },
      }),
    ),
  ).pipe(Layer.provide(layerIdentity()))
  return layerSealing({ attestation }).pipe(Layer.provide(Upstream.layerEcho))
}

const logged = () => {
  const lines: Array<string> = []
  return { lines, layer: Logger.layer([Logger.make((entry) => void lines.push(Logger.formatJson.log(entry)))]) }
}

/** The bytes of an answer, as the server reads them. */
const bodyOf = Effect.fnUntraced(function* (answer: SealedReply) {
  const { body } = answer._tag === "Complete" ? (yield* makeCompleteResponse)(answer) : yield* streamResponse(answer)
  if (body._tag === "Stream") return body.stream
  if (body._tag !== "Raw" || !(body.body instanceof Readable)) return assert.fail("no body")
  const readable = body.body
  return Stream.fromAsyncIterable<Uint8Array, unknown>(readable, (error) => error)
})

const read = Effect.fnUntraced(function* (more: object, pace = 0) {
  const completions = yield* SealedCompletions
  const request = yield* sealChat(yield* beginSession(), { prompt: "x y z", ...more }, { pace })
  const body = yield* bodyOf(yield* completions.handle(request.envelope))
  const reading = yield* Stream.runDrain(body).pipe(Effect.exit, Effect.forkScoped)
  for (let n = 0; n < 30; n++) {
    yield* TestClock.adjust(100)
    // Readable streams need turns of the event loop.
    yield* Effect.promise(() => new Promise(setImmediate))
  }
  return yield* Fiber.join(reading)
}, Effect.scoped)

describe("a defect while an answer is sealed", () => {
  it.effect.each([
    ["of a whole answer", "receipt", {}, 0],
    ["of an unpaced stream", "receipt", { stream: true }, 0],
    ["of a paced stream", "receipt", { stream: true }, 20],
    ["after the last frame of a stream", "proof", { stream: true }, 20],
  ] as const)("%s breaks it off, and is logged once by its place", ([, failing, more, pace]) => {
    const { layer, lines } = logged()
    return Effect.gen(function* () {
      assert.isTrue(Exit.isFailure(yield* read(more, pace)))
      const [line = "", ...others] = lines.filter((line) => line.includes("ERROR"))
      assert.lengthOf(others, 0)
      assert.include(line, "RangeError")
      assert.include(line, "sealingFaults.test.ts")
      assert.notInclude(line, "a secret")
    }).pipe(Effect.provide([layerFailing(failing), layer]))
  })

  it.effect("in a paced stream is reported and logged once, however many ticks follow", () => {
    const { layer, lines } = logged()
    let failures = 0
    return Effect.gen(function* () {
      const completions = yield* SealedCompletions
      const request = yield* sealChat(yield* beginSession(), { prompt: "x", stream: true }, { pace: 20 })
      const answer = yield* completions.handle(request.envelope)
      if (answer._tag !== "Stream") return assert.fail("no stream")
      yield* answer.begin({
        isReady: () => true,
        write: () => {
          throw new RangeError("a secret")
        },
        end: () => assert.fail("it ended"),
        fail: () => failures++,
      })
      yield* TestClock.adjust(1000)
      assert.strictEqual(failures, 1)
      assert.lengthOf(
        lines.filter((line) => line.includes("stream failed")),
        1,
      )
    }).pipe(Effect.scoped, Effect.provide([layerFailing("proof"), layer]))
  })
})
