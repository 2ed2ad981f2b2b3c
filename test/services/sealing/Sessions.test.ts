import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Exit, Layer, Schema, Scope } from "effect"
import { TestClock } from "effect/testing"
import { decodeBase64Url, encodeBase64Url, utf8 } from "../../../src/domain/bytes/bytes.ts"
import { routeOf } from "../../../src/domain/protocol/routingTag.ts"
import { parseStatement } from "../../../src/domain/protocol/statement.ts"
import { SUITES } from "../../../src/domain/protocol/suites.ts"
import { Attestation } from "../../../src/services/sealing/Attestation.ts"
import { KeyVault } from "../../../src/services/sealing/KeyVault.ts"
import { plainStorage } from "../../../src/services/sealing/PlainStorage.ts"
import { Sessions, type SessionSettings } from "../../../src/services/sealing/Sessions.ts"
import type { Session } from "../../../src/services/sealing/SessionTable.ts"
import { collectGarbage } from "../../support/garbage.ts"
import { sha256 } from "../../support/protocol/reference.ts"
import { beginSession, type Offer, offerOf } from "../../support/protocol/Sealing.ts"

const SETTINGS: SessionSettings = {
  ttl: Duration.seconds(10),
  maxRequests: 3,
  maxLive: 4,
  maxClaims: 1000,
  maxRequestBytes: 1000,
}

/** How often each session key was destroyed, in the order in which the keys were made. */
const countingVault = () => {
  const destroyed: Array<number> = []
  const layer = Layer.sync(KeyVault, () => {
    const storage = plainStorage()
    return KeyVault.of({
      ...storage,
      hold: (length, given) => {
        const held = storage.hold(length, given)
        const index = destroyed.push(0) - 1
        const destroy = () => {
          destroyed[index] = (destroyed[index] ?? 0) + 1
          held.destroy()
        }
        return { ...held, destroy }
      },
    })
  })
  return { destroyed, layer }
}

const layerSessions = (settings: Partial<SessionSettings> = {}, vault = countingVault().layer) =>
  Sessions.layer({ ...SETTINGS, ...settings }).pipe(
    Layer.provideMerge(Attestation.layerFromSeed(Effect.sync(() => new Uint8Array(32).fill(1)))),
    Layer.provideMerge(vault),
  )

const HERE = "a source"

const claim = Effect.fnUntraced(function* (id: string, enc: string, source = HERE) {
  const sessions = yield* Sessions
  return yield* sessions.find(id, enc, source).pipe(
    Effect.flatMap((session) => sessions.claim(session, enc, source)),
    Effect.as("served" as const),
    Effect.catch(({ _tag }) => Effect.succeed(_tag)),
  )
})

const Operation = Schema.Union([
  Schema.Struct({ op: Schema.Literal("begin") }),
  Schema.Struct({
    op: Schema.Literal("advance"),
    millis: Schema.Literals([1, 499, 500, 999, 1000, 1001, 3000, 9000, 9999, 10_000, 11_000]),
  }),
  Schema.Struct({
    op: Schema.Literals(["claim", "find"]),
    session: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 7 })),
    enc: Schema.Literals(["a", "b", "c", "d"]),
  }),
])

interface Known {
  readonly offer: Offer
  readonly served: Set<string>
}

describe("sessions", () => {
  it.effect.prop(
    "serve each request once, never after their end, and end once, whatever happens",
    {
      operations: Schema.Array(Operation).check(Schema.isMaxLength(40)),
      offset: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 999 })),
    },
    ({ offset, operations }) =>
      Effect.gen(function* () {
        const { destroyed, layer } = countingVault()
        const scope = yield* Scope.make()
        yield* TestClock.adjust(Duration.millis(offset))
        const context = yield* Layer.buildWithScope(layerSessions({}, layer), scope)
        yield* Effect.gen(function* () {
          const sessions = yield* Sessions
          const known: Array<Known> = []
          const now = Effect.clockWith((clock) => clock.currentTimeMillis)

          /** Checks an outcome, as far as the protocol determines it. */
          const check = (index: number, enc: string, outcome: string, time: number) => {
            const session = known[index]
            if (session === undefined) return assert.fail("an operation on a session that never was")
            const expired = session.offer.expires_at * 1000 <= time
            const spent = session.served.size >= SETTINGS.maxRequests
            if (expired) return assert.strictEqual(outcome, "SessionGone")
            if (session.served.has(enc)) return assert.strictEqual(outcome, "Replayed")
            if (spent) return assert.strictEqual(outcome, "SessionGone")
            // One session above the maximum evicts another.
            if (known.length > SETTINGS.maxLive && outcome === "SessionGone") return
            assert.strictEqual(outcome, "served")
          }

          for (const operation of operations) {
            if (operation.op === "begin") {
              known.push({ offer: yield* beginSession(), served: new Set() })
            } else if (operation.op === "advance") {
              yield* TestClock.adjust(Duration.millis(operation.millis))
            } else if (known.length > 0) {
              const index = operation.session % known.length
              const session = known[index]
              if (session === undefined) continue
              const { session_id: id } = session.offer
              const outcome =
                operation.op === "claim"
                  ? yield* claim(id, operation.enc)
                  : yield* sessions.find(id, operation.enc, HERE).pipe(
                      Effect.as("served" as const),
                      Effect.catch(({ _tag }) => Effect.succeed(_tag)),
                    )
              check(index, operation.enc, outcome, yield* now)
              if (operation.op === "claim" && outcome === "served") session.served.add(operation.enc)
              // A session has its key exactly as long as it lives.
              if (outcome === "Replayed") continue
              assert.strictEqual(destroyed[index], known[index]?.served.size === 3 || outcome === "SessionGone" ? 1 : 0)
            }
            const live = yield* sessions.live
            assert.isAtMost(live, SETTINGS.maxLive)
            assert.strictEqual(live, destroyed.filter((times) => times === 0).length)
            assert.isTrue(destroyed.every((times) => times <= 1))
            // The timer looks every second, so nothing outlives its end by more.
            const time = yield* now
            for (const [index, { offer }] of known.entries()) {
              if (offer.expires_at * 1000 + 1000 <= time) assert.strictEqual(destroyed[index], 1)
            }
          }
        }).pipe(Effect.provide(context))
        yield* Scope.close(scope, Exit.void)
        assert.isTrue(destroyed.every((times) => times === 1))
      }),
    { arbitrary: { runs: 300 } },
  )

  it.effect("serve exactly as many requests as promised, also concurrently", () =>
    Effect.gen(function* () {
      const sessions = yield* Sessions
      const { max_requests, session_id } = yield* beginSession()
      const found: ReadonlyArray<readonly [Session, string]> = yield* Effect.forEach(
        Array.from({ length: 20 }, (_, i) => `enc ${i}`),
        (enc) => Effect.map(sessions.find(session_id, enc, HERE), (session) => [session, enc] as const),
      )
      const outcomes = yield* Effect.forEach(
        found,
        ([session, enc]) =>
          sessions.claim(session, enc, HERE).pipe(
            Effect.as("served"),
            Effect.catch(({ _tag }) => Effect.succeed(_tag)),
          ),
        { concurrency: "unbounded" },
      )
      assert.strictEqual(outcomes.filter((outcome) => outcome === "served").length, max_requests)
      assert.strictEqual(outcomes.filter((outcome) => outcome === "SessionGone").length, 20 - max_requests)
      assert.strictEqual(yield* sessions.live, 0)
    }).pipe(Effect.provide(layerSessions())),
  )

  it.effect("evict the oldest first", () => {
    const { destroyed, layer } = countingVault()
    return Effect.gen(function* () {
      for (let i = 0; i < 6; i++) yield* beginSession()
      assert.deepStrictEqual(destroyed, [1, 1, 0, 0, 0, 0])
    }).pipe(Effect.provide(layerSessions({}, layer)))
  })

  /** Claims a request of a caller who may be served. */
  const admitted = Effect.fnUntraced(function* (id: string, enc: string, isKnown: boolean, source = HERE) {
    const sessions = yield* Sessions
    const session = yield* sessions.find(id, enc, source)
    sessions.noteAccepted(yield* sessions.claim(session, enc, source), enc, isKnown)
  })

  it.effect("remember claims until they would have expired, and refuse requests beyond that memory", () =>
    Effect.gen(function* () {
      const [first, second] = [yield* beginSession(), yield* beginSession()]
      yield* admitted(first.session_id, "a", true)
      yield* admitted(second.session_id, "b", true)
      assert.strictEqual(yield* claim(second.session_id, "c"), "ClaimsFull")
      // Those that never served make room first, then the oldest, whose copies are still known.
      for (let i = 0; i < 8; i++) yield* beginSession()
      assert.strictEqual(yield* claim(first.session_id, "a"), "Replayed")
      yield* TestClock.adjust(Duration.seconds(10))
      assert.strictEqual(yield* claim(first.session_id, "a"), "SessionGone")
      assert.strictEqual(yield* claim((yield* beginSession()).session_id, "d"), "served")
    }).pipe(Effect.provide(layerSessions({ maxClaims: 2 }))),
  )

  it.effect("reserve room for other sources, however much one source claims", () =>
    Effect.gen(function* () {
      const { session_id } = yield* beginSession()
      const outcomes = function* (source: string) {
        const all: Array<string> = []
        for (let i = 0; i < 8; i++) all.push(yield* claim(session_id, `${source} ${i}`, source))
        return all.filter((outcome) => outcome === "served").length
      }
      const served = [yield* outcomes("one"), yield* outcomes("two"), yield* outcomes("three"), yield* outcomes("four")]
      assert.deepStrictEqual(served, [6, 3, 2, 1])
    }).pipe(Effect.provide(layerSessions({ maxClaims: 12, maxRequests: 100 }))),
  )

  it.effect("count no claim of a known caller against its source", () =>
    Effect.gen(function* () {
      const { session_id } = yield* beginSession()
      for (let i = 0; i < 11; i++) yield* admitted(session_id, `known ${i}`, true)
      assert.strictEqual(yield* claim(session_id, "unknown"), "served")
      assert.strictEqual(yield* claim(session_id, "one too many"), "ClaimsFull")
    }).pipe(Effect.provide(layerSessions({ maxClaims: 12, maxRequests: 100 }))),
  )

  it.effect("free a source's room when each of many sessions ends", () =>
    Effect.gen(function* () {
      for (let round = 0; round < 20; round++) {
        const { session_id } = yield* beginSession()
        yield* admitted(session_id, "known", true)
        yield* admitted(session_id, "anybody", false)
        assert.strictEqual(yield* claim(session_id, "a stranger"), "served")
        assert.strictEqual(yield* claim(session_id, "one too many"), "ClaimsFull")
        yield* TestClock.adjust(Duration.seconds(10))
      }
    }).pipe(Effect.provide(layerSessions({ maxClaims: 5, maxRequests: 100 }))),
  )

  it.effect("free the room of a known caller's claim only once", () =>
    Effect.gen(function* () {
      const first = yield* beginSession()
      yield* admitted(first.session_id, "known", true)
      yield* TestClock.adjust(Duration.seconds(5))
      const second = yield* beginSession()
      assert.strictEqual(yield* claim(second.session_id, "a"), "served")
      // The first session ends. The second still holds a claim of the same source.
      yield* TestClock.adjust(Duration.seconds(5))
      assert.strictEqual(yield* claim(second.session_id, "b"), "served")
      assert.strictEqual(yield* claim(second.session_id, "one too many"), "ClaimsFull")
    }).pipe(Effect.provide(layerSessions({ maxClaims: 4, maxRequests: 100 }))),
  )

  it.effect("that were evicted without a claim are forgotten at once", () => {
    const keys: Array<WeakRef<object>> = []
    const storage = plainStorage()
    const vault = Layer.succeed(KeyVault, {
      ...storage,
      hold: (length, given) => {
        const held = storage.hold(length, given)
        keys.push(new WeakRef(held))
        return held
      },
    })
    return Effect.gen(function* () {
      yield* Effect.repeat(beginSession(), { times: 99 })
      yield* Effect.promise(collectGarbage)
      assert.isAtMost(keys.filter((key) => key.deref() !== undefined).length, SETTINGS.maxLive + 1)
      assert.lengthOf(keys, 100)
    }).pipe(Effect.provide(layerSessions({}, vault)))
  })

  it.effect("that never served a caller are evicted first", () => {
    const { destroyed, layer } = countingVault()
    return Effect.gen(function* () {
      const [honest, ...strangers] = yield* Effect.all(Array.from({ length: 4 }, () => beginSession()))
      for (const { session_id } of strangers) assert.strictEqual(yield* claim(session_id, "a"), "served")
      yield* admitted(String(honest?.session_id), "a", false)
      for (let i = 0; i < 3; i++) yield* beginSession()
      assert.deepStrictEqual(destroyed, [0, 1, 1, 1, 0, 0, 0])
    }).pipe(Effect.provide(layerSessions({}, layer)))
  })

  it.effect("end at their time of day although the clock was set back before they began", () => {
    const { destroyed, layer } = countingVault()
    return Effect.gen(function* () {
      yield* TestClock.setTime(60_600)
      yield* beginSession()
      yield* TestClock.setTime(900)
      const { expires_at, session_id } = yield* beginSession()
      assert.strictEqual(yield* claim(session_id, "a"), "served")
      yield* TestClock.setTime(expires_at * 1000 - 1)
      assert.strictEqual(yield* claim(session_id, "a"), "Replayed")
      yield* TestClock.setTime(expires_at * 1000)
      assert.strictEqual(yield* claim(session_id, "a"), "SessionGone")
      assert.strictEqual(destroyed[1], 1)
    }).pipe(Effect.provide(layerSessions({}, layer)))
  })

  it.effect("do not last longer if the clock is set back after they began", () =>
    Effect.gen(function* () {
      const sessions = yield* Sessions
      yield* TestClock.setTime(60_000)
      const { session_id } = yield* beginSession()
      yield* TestClock.setTime(0)
      yield* TestClock.adjust(Duration.millis(9999))
      assert.strictEqual(yield* claim(session_id, "a"), "served")
      yield* TestClock.adjust(Duration.millis(1))
      assert.strictEqual(yield* claim(session_id, "b"), "SessionGone")
      assert.strictEqual(yield* sessions.live, 0)
    }).pipe(Effect.provide(layerSessions())),
  )

  it.effect.each(SUITES)("sign what they offer of $name, with the hash of what was asked", (suite) =>
    Effect.gen(function* () {
      const sessions = yield* Sessions
      const attestation = yield* sessions.begin({ suite, initHash: "what was asked" })
      const { kid } = yield* Attestation
      const parsed = parseStatement(attestation)
      const { session_id, public_key } = offerOf(attestation)
      assert.strictEqual(parsed?.typ, "sealgate-session+jwt")
      assert.deepStrictEqual<unknown>(parsed?.claims, {
        iss: kid,
        version: 2,
        iat: 0,
        session_id,
        public_key,
        suite: suite.id,
        expires_at: 10,
        max_requests: SETTINGS.maxRequests,
        max_request_bytes: SETTINGS.maxRequestBytes,
        init_hash: "what was asked",
      })
      assert.strictEqual(decodeBase64Url(session_id)?.length, 16)
      const publicKey = decodeBase64Url(public_key) ?? new Uint8Array()
      assert.strictEqual(publicKey.length, suite.publicKeyBytes)
      assert.isTrue(suite.isSoundKey(publicKey))
      const session = yield* sessions.find(session_id, "enc", HERE)
      assert.deepStrictEqual(Buffer.from(session.attestationHash), sha256(utf8(attestation)))

      const other = yield* beginSession(suite)
      assert.notStrictEqual(other.session_id, session_id)
      assert.notStrictEqual(other.public_key, public_key)
    }).pipe(Effect.provide(layerSessions())),
  )

  it.effect("have ids that begin with the routing tag, signed as a whole and random in the rest", () =>
    Effect.gen(function* () {
      const sessions = yield* Sessions
      const ids: Array<string> = []
      for (let i = 0; i < 4; i++) {
        const { attestation, session_id: id } = yield* beginSession()
        assert.strictEqual(routeOf(id), "px19")
        assert.strictEqual(decodeBase64Url(id)?.length, 16)
        assert.deepInclude<unknown>(parseStatement(attestation)?.claims, { session_id: id })
        const session = yield* sessions.find(id, "enc", HERE)
        assert.strictEqual(encodeBase64Url(session.idBytes), id)
        ids.push(id)
      }
      for (let i = 4; i < 22; i += 6) assert.isAbove(new Set(ids.map((id) => id.slice(i, i + 6))).size, 1)
    }).pipe(Effect.provide(layerSessions({ routingTag: "px19" }))),
  )

  it.effect("have ids without anything in common when there is no routing tag", () =>
    Effect.gen(function* () {
      const routes = new Set<string>()
      for (let i = 0; i < 4; i++) routes.add(routeOf((yield* beginSession()).session_id))
      assert.isAbove(routes.size, 1)
    }).pipe(Effect.provide(layerSessions())),
  )
})
