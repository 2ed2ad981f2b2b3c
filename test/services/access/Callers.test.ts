/** Access to a proxy by keys in a file and by tokens, and the counting of requests and refusals. */
import { createHash } from "node:crypto"
import { chmodSync, renameSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Exit, Layer, Logger, Redacted, Scope } from "effect"
import { TestClock } from "effect/testing"
import { TokenRefused } from "../../../src/domain/access/identity.ts"
import { newCallerKey } from "../../../src/services/access/CallerKeys.ts"
import { Callers, type CallerSettings, Source } from "../../../src/services/access/Callers.ts"
import { ConcurrencyLimits } from "../../../src/services/access/ConcurrencyLimits.ts"
import { mintToken } from "../../../src/services/access/mintToken.ts"
import { RateLimits } from "../../../src/services/access/RateLimits.ts"
import { passUntil } from "../../support/passUntil.ts"
import { temporaryFolder } from "../../support/proxy.ts"

const SECRET = Redacted.make("a secret that is long enough to be one")
const TOKENS = {
  secret: SECRET,
  jwks: undefined,
  issuer: "sealgate",
  audience: "sealgate",
  usersAreTenants: true,
}

const open: CallerSettings = { keysFile: undefined, tokens: undefined, perMinute: 0, inFlight: 0, refusedPerMinute: 0 }

const callers = (settings: Partial<CallerSettings>, logs: Array<string> = []) =>
  Layer.build(
    Callers.layer({ ...open, ...settings }).pipe(
      Layer.provide([RateLimits.layer, ConcurrencyLimits.layer]),
      Layer.provide(Logger.layer([Logger.make((entry) => void logs.push(Logger.formatJson.log(entry)))])),
    ),
  ).pipe(
    Effect.map((context) => Effect.provideContext(Effect.flatMap(Callers, Effect.succeed), context)),
    Effect.flatten,
  )

const bearer = (token: Redacted.Redacted): string => `Bearer ${Redacted.value(token)}`

const tokenOf = (subject: string, tenant?: string) =>
  Effect.map(
    mintToken({
      secret: SECRET,
      issuer: "sealgate",
      audience: "sealgate",
      subject,
      tenant,
      roles: [],
      ttl: Duration.hours(1),
    }),
    bearer,
  )

const keyFile = Effect.fnUntraced(function* (...lines: ReadonlyArray<string>) {
  const file = join(yield* temporaryFolder, "callers")
  writeFileSync(file, lines.join("\n"))
  return file
})

describe("Callers", () => {
  it.effect("admits everybody if neither keys nor tokens are configured", () =>
    Effect.gen(function* () {
      const { enter, identify, mayTry, required } = yield* callers({ perMinute: 1, refusedPerMinute: 1 })
      assert.isFalse(required)
      for (const credential of ["", "Bearer x", "x", "x"]) {
        yield* mayTry
        assert.isUndefined(yield* identify(credential))
        yield* enter(undefined)
      }
    }),
  )

  it.effect("identifies callers by keys whose hashes are in the file", () =>
    Effect.gen(function* () {
      const [alice, second, bob, stranger] = ["alice", "alice", "bob@x.y", "mallory"].map(newCallerKey)
      assert(alice && second && bob && stranger)
      assert.match(Redacted.value(alice.key), /^sg_[\w-]{43}$/)
      const hash = createHash("sha256").update(Redacted.value(alice.key)).digest("base64url")
      assert.strictEqual(alice.line, `alice sha256:${hash}`)
      const keysFile = yield* keyFile("# staff", `  ${alice.line}\r`, "", second.line, `${bob.line}  `)
      const { identify, required } = yield* callers({ keysFile })
      assert.isTrue(required)
      const idOf = (key: Redacted.Redacted) => Effect.map(identify(bearer(key)), (caller) => caller?.id)
      assert.deepStrictEqual(yield* Effect.all([idOf(alice.key), idOf(second.key), idOf(bob.key)]), [
        "key:alice",
        "key:alice",
        "key:bob@x.y",
      ])
      const key = Redacted.value(alice.key)
      const bad = [
        bearer(stranger.key),
        key,
        `Basic ${key}`,
        `Bearer ${key}x`,
        `Bearer ${key.slice(0, -1)}`,
        `Bearer ${key} ${key}`,
        `Bearer  sg_`,
        `Bearer ${hash}`,
        `Bearer sha256:${hash}`,
        "Bearer",
        " ",
        yield* tokenOf("alice"),
      ]
      for (const credential of bad) {
        assert.deepStrictEqual(yield* Effect.flip(identify(credential)), new TokenRefused())
      }
      assert.deepStrictEqual(yield* Effect.flip(identify("")), TokenRefused.absent())
    }),
  )

  it.effect("identifies callers by tokens as well as keys", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(Date.UTC(2030, 0, 1))
      const alice = newCallerKey("alice")
      const { identify } = yield* callers({ keysFile: yield* keyFile(alice.line), tokens: TOKENS })
      const idOf = (credential: string) => Effect.map(identify(credential), (caller) => caller?.id)
      assert.strictEqual(yield* idOf(bearer(alice.key)), "key:alice")
      const ids = [
        yield* idOf(yield* tokenOf("alice")),
        yield* idOf(yield* tokenOf("alice", "acme")),
        yield* idOf(yield* tokenOf("b/c", "a")),
        yield* idOf(yield* tokenOf("c", "a/b")),
      ]
      assert.strictEqual(new Set(ids).size, ids.length)
      assert.strictEqual(yield* idOf(yield* tokenOf("alice")), ids[0])
      yield* TestClock.adjust("2 hours")
      assert.strictEqual((yield* Effect.flip(identify(yield* Effect.succeed("Bearer a.b.c"))))._tag, "TokenRefused")
    }),
  )

  it.effect("limits each caller's rate and requests in flight", () =>
    Effect.gen(function* () {
      const { enter } = yield* callers({ keysFile: yield* keyFile(newCallerKey("a").line), perMinute: 2, inFlight: 1 })
      const [alice, bob] = [{ id: "key:alice" }, { id: "key:bob" }]
      const scope = yield* Scope.make()
      yield* Scope.provide(enter(alice), scope)
      assert.deepInclude(yield* Effect.flip(Effect.scoped(enter(alice))), { _tag: "TooManyInFlight", limit: 1 })
      yield* Effect.scoped(enter(bob))
      yield* Scope.close(scope, Exit.void)
      assert.deepInclude(yield* Effect.flip(Effect.scoped(enter(alice))), { _tag: "RateLimited", limit: 2 })
      yield* Effect.scoped(enter(bob))
      yield* TestClock.adjust("30 seconds")
      yield* Effect.scoped(enter(alice))
    }),
  )

  it.effect("checks no further credential from a source with too many refused ones, for a while", () =>
    Effect.gen(function* () {
      const alice = newCallerKey("alice")
      const { identify, mayTry } = yield* callers({ keysFile: yield* keyFile(alice.line), refusedPerMinute: 2 })
      const wrong = Effect.flip(identify("Bearer sg_wrong"))
      // Good ones cost nothing.
      for (let i = 0; i < 5; i++) yield* identify(bearer(alice.key))
      yield* wrong
      yield* mayTry
      yield* wrong
      assert.deepInclude(yield* Effect.flip(mayTry), { _tag: "RateLimited", limit: 2, retryAfterMs: 30_000 })
      yield* Effect.provideService(mayTry, Source, "b")
      yield* TestClock.adjust("20 seconds")
      assert.deepInclude(yield* Effect.flip(mayTry), { retryAfterMs: 10_000 })
      yield* TestClock.adjust("10 seconds")
      yield* mayTry
    }),
  )

  it.effect("accepts no file that others can write to, at the start or later", () =>
    Effect.gen(function* () {
      const [alice, bob] = [newCallerKey("alice"), newCallerKey("bob")]
      const keysFile = yield* keyFile(alice.line)
      chmodSync(keysFile, 0o666)
      const remedy = `writable by others (mode 0666). Run chmod go-w ${keysFile}.`
      assert.include((yield* Effect.flip(callers({ keysFile }))).message, remedy)
      chmodSync(keysFile, 0o644)
      const logs: Array<string> = []
      const { identify } = yield* callers({ keysFile }, logs)
      writeFileSync(keysFile, bob.line)
      chmodSync(keysFile, 0o666)
      yield* passUntil(Effect.sync(() => logs.some((line) => line.includes(remedy))))
      yield* identify(bearer(alice.key))
      yield* Effect.flip(identify(bearer(bob.key)))
    }),
  )

  it.effect("ignores a file that is still being written", () =>
    Effect.gen(function* () {
      const [alice, bob, carol] = [newCallerKey("alice"), newCallerKey("bob"), newCallerKey("carol")]
      const keysFile = yield* keyFile(alice.line)
      const logs: Array<string> = []
      const { identify } = yield* callers({ keysFile }, logs)
      const isKnown = ({ key }: typeof alice) =>
        Effect.match(identify(bearer(key)), { onFailure: () => false, onSuccess: () => true })
      const half = `${bob.line}\n`
      writeFileSync(keysFile, half)
      yield* TestClock.adjust("5 seconds")
      // The file is read in real time, and this one is seen once.
      yield* TestClock.withLive(Effect.sleep("30 millis"))
      assert.deepStrictEqual([yield* isKnown(alice), yield* isKnown(bob)], [true, false])
      writeFileSync(keysFile, `${half}${carol.line}\n`)
      yield* passUntil(isKnown(carol))
      assert.deepStrictEqual([yield* isKnown(alice), yield* isKnown(bob)], [false, true])
      assert.strictEqual(logs.filter((line) => line.includes("keys reloaded")).length, 1)
    }),
  )

  it.effect("logs a fault of its file again if the file was usable in between", () =>
    Effect.gen(function* () {
      const [alice, bob] = [newCallerKey("alice"), newCallerKey("bob")]
      const keysFile = yield* keyFile(alice.line)
      const logs: Array<string> = []
      const { identify } = yield* callers({ keysFile }, logs)
      const isKnown = Effect.match(identify(bearer(bob.key)), { onFailure: () => false, onSuccess: () => true })
      const complaints = () => logs.filter((line) => line.includes("line 1")).length
      writeFileSync(keysFile, "no key")
      yield* passUntil(Effect.sync(() => complaints() === 1))
      writeFileSync(keysFile, bob.line)
      yield* passUntil(isKnown)
      writeFileSync(keysFile, "no key")
      yield* passUntil(Effect.sync(() => complaints() === 2))
    }),
  )

  it.effect("reloads its file when it changes, and keeps the old keys while the file is unusable", () =>
    Effect.gen(function* () {
      const [alice, bob] = [newCallerKey("alice"), newCallerKey("bob")]
      const keysFile = yield* keyFile(alice.line)
      const logs: Array<string> = []
      const { identify } = yield* callers({ keysFile }, logs)
      const isKnown = ({ key }: typeof alice) =>
        Effect.match(identify(bearer(key)), { onFailure: () => false, onSuccess: () => true })

      writeFileSync(keysFile, `${alice.line}\nbob sha256:short\n`)
      yield* passUntil(Effect.sync(() => logs.some((line) => line.includes("line 2"))))
      assert.isTrue(yield* isKnown(alice))
      rmSync(keysFile)
      yield* passUntil(Effect.sync(() => logs.some((line) => line.includes("there is no such file"))))
      assert.isTrue(yield* isKnown(alice))

      writeFileSync(`${keysFile}.new`, bob.line)
      renameSync(`${keysFile}.new`, keysFile)
      yield* passUntil(isKnown(bob))
      assert.isFalse(yield* isKnown(alice))
      writeFileSync(keysFile, "")
      yield* passUntil(Effect.map(isKnown(bob), (known) => !known))

      // Each of them once, and no line of the file in any.
      assert.strictEqual(logs.filter((line) => line.includes("there is no such file")).length, 1)
      for (const { line } of [alice, bob]) assert.notInclude(logs.join(), line.split(":")[1] ?? "")
    }),
  )

  const alice = newCallerKey("alice").line
  for (const [what, lines] of [
    ["a key in the clear", [`alice ${Redacted.value(newCallerKey("a").key)}`]],
    ["a hash of another kind", [alice.replace("sha256", "md5")]],
    ["a name with a space", [`al ${alice}`]],
    ["one key for two", [alice, alice.replace("alice", "bob")]],
    ["more keys than are taken", Array.from({ length: 10_001 }, (_, i) => newCallerKey(`n${i}`).line)],
    ["more than a file may hold", [`#${"x".repeat(1024 * 1024)}`]],
  ] as const) {
    it.effect(`does not start with ${what}, and does not quote it`, () =>
      Effect.gen(function* () {
        const error = yield* Effect.flip(callers({ keysFile: yield* keyFile(...lines) }))
        assert.include(error.message, "CALLER_KEYS_FILE")
        assert.notInclude(error.message, lines[0])
      }),
    )
  }

  it.effect("does not start without its file", () =>
    Effect.gen(function* () {
      const keysFile = join(yield* temporaryFolder, "missing")
      assert.include((yield* Effect.flip(callers({ keysFile }))).message, "there is no such file")
    }),
  )
})
