/** Sharing and bounds of evidence, over a source that counts its reports. */
import { once } from "node:events"
import { createServer } from "node:http"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Fiber, Layer } from "effect"
import { TestClock } from "effect/testing"
import { bindingOf, rootOf } from "../../../src/attestation/binding.ts"
import { decodeEvidence } from "../../../src/attestation/evidence.ts"
import { type Bytes, utf8 } from "../../../src/domain/bytes/bytes.ts"
import { Evidence } from "../../../src/services/evidence/Evidence.ts"
import { dstackSeed } from "../../../src/services/evidence/Dstack.ts"
import {
  EvidencePlaces,
  EvidenceSource,
  type HardwareReport,
  SourceFailed,
} from "../../../src/services/evidence/EvidenceSource.ts"
import { Attestation } from "../../../src/services/sealing/Attestation.ts"
import { KeyVault } from "../../../src/services/sealing/KeyVault.ts"
import { sha256 } from "../../../src/services/sealing/sha256.ts"
import { temporaryFolder } from "../../support/proxy.ts"

const CONFIGURATION = '{"software":"test"}'

const nonceOf = (index: number) => sha256(Buffer.from(String(index)))

/** Evidence over a source with this behaviour; the report is the binding itself. */
const over = (report: (binding: Bytes) => Effect.Effect<HardwareReport, SourceFailed>) =>
  Evidence.layer(CONFIGURATION).pipe(
    Layer.provide(Layer.succeed(EvidenceSource, { report })),
    Layer.provideMerge(Attestation.layerFromSeed(Effect.sync(() => new Uint8Array(32).fill(7)))),
    Layer.provide(KeyVault.layerPlain),
  )

const counting = () => {
  const bindings: Array<Bytes> = []
  const layer = over((binding) =>
    Effect.sync(() => {
      bindings.push(binding)
      return { format: "tdx", report: binding }
    }),
  )
  return { bindings, layer }
}

const ask = Effect.fnUntraced(function* (index: number) {
  return yield* (yield* Evidence).ask(nonceOf(index))
})

describe("evidence", () => {
  it.effect("answers 1,000 clients that ask at once with one report", () => {
    const { bindings, layer } = counting()
    return Effect.gen(function* () {
      const asking = yield* Effect.forkChild(
        Effect.forEach(
          Array.from({ length: 1000 }, (_, index) => index),
          ask,
          { concurrency: "unbounded" },
        ),
      )
      yield* TestClock.adjust("50 millis")
      const answers = yield* Fiber.join(asking)
      assert.strictEqual(bindings.length, 1)
      const { kid } = yield* Attestation
      for (const [index, answer] of answers.entries()) {
        const evidence = decodeEvidence(answer)
        assert.strictEqual(answer.kid, kid)
        const root = rootOf(nonceOf(index), evidence.path)
        assert.isDefined(root)
        assert.deepStrictEqual(evidence.report, bindingOf({ ...evidence, configuration: utf8(CONFIGURATION), root }))
      }
    }).pipe(Effect.provide(layer))
  })

  it.effect("makes at most one report a second, and a fresh one for each client", () => {
    const { bindings, layer } = counting()
    return Effect.gen(function* () {
      const first = yield* Effect.forkChild(ask(1))
      yield* TestClock.adjust("50 millis")
      yield* Fiber.join(first)
      const second = yield* Effect.forkChild(ask(2))
      yield* TestClock.adjust("999 millis")
      assert.strictEqual(bindings.length, 1)
      yield* TestClock.adjust("1 millis")
      yield* Fiber.join(second)
      assert.strictEqual(bindings.length, 2)
      assert.notDeepEqual(bindings[0], bindings[1])
    }).pipe(Effect.provide(layer))
  })

  it.effect("answers 503 when the source fails, and asks it again for the next client", () => {
    let isBroken = true
    const layer = over((binding) =>
      isBroken
        ? Effect.fail(new SourceFailed({ problem: "broken" }))
        : Effect.succeed({ format: "tdx", report: binding }),
    )
    return Effect.gen(function* () {
      const first = yield* Effect.forkChild(Effect.flip(ask(1)))
      yield* TestClock.adjust("50 millis")
      assert.strictEqual((yield* Fiber.join(first)).code, "evidence-unavailable")
      isBroken = false
      const second = yield* Effect.forkChild(ask(2))
      yield* TestClock.adjust("1 second")
      assert.strictEqual((yield* Fiber.join(second)).format, "tdx")
    }).pipe(Effect.provide(layer))
  })

  it.effect("answers 503 when the source has a defect", () =>
    Effect.gen(function* () {
      const asking = yield* Effect.forkChild(Effect.flip(ask(1)))
      yield* TestClock.adjust("50 millis")
      assert.strictEqual((yield* Fiber.join(asking)).code, "evidence-unavailable")
    }).pipe(Effect.provide(over(() => Effect.die(new Error("a bug"))))),
  )

  it.effect("answers 503 after 10 s when the source hangs", () =>
    Effect.gen(function* () {
      const asking = yield* Effect.forkChild(Effect.exit(ask(1)))
      yield* TestClock.adjust("10 seconds")
      assert.isUndefined(asking.pollUnsafe())
      yield* TestClock.adjust("50 millis")
      assert.isTrue(Exit.isFailure(yield* Fiber.join(asking)))
    }).pipe(Effect.provide(over(() => Effect.never))),
  )

  it.effect("answers 503 to the 10,001st client that waits", () =>
    Effect.gen(function* () {
      yield* Effect.forkChild(
        Effect.forEach(
          Array.from({ length: 10_000 }, (_, index) => index),
          ask,
          {
            concurrency: "unbounded",
            discard: true,
          },
        ),
      )
      yield* Effect.yieldNow
      assert.strictEqual((yield* Effect.flip(ask(10_000))).code, "evidence-unavailable")
    }).pipe(Effect.provide(counting().layer)),
  )
})

it.effect("the identity fails in bounded time if dstack's guest agent is silent", () =>
  Effect.gen(function* () {
    const dstackSocket = join(yield* temporaryFolder, "dstack.sock")
    const asked = Promise.withResolvers<void>()
    yield* Effect.acquireRelease(
      Effect.promise(async () => {
        const server = createServer(() => asked.resolve()).listen(dstackSocket)
        await once(server, "listening")
        return server
      }),
      (server) => Effect.sync(() => server.close().closeAllConnections()),
    )
    const places = { ...(yield* EvidencePlaces), dstackSocket }
    const seed = yield* Effect.forkChild(Effect.flip(Effect.provideService(dstackSeed, EvidencePlaces, places)))
    yield* Effect.promise(() => asked.promise)
    yield* TestClock.adjust("10 seconds")
    assert.match((yield* Fiber.join(seed)).problem, /^no key of sealgate\/attestation\/1 came within 10s$/)
  }),
)
