/** Every copy of a secret that the product makes or is given by Node is overwritten, however a request ends. */
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it, vi } from "@effect/vitest"
import { Context, Duration, Effect, Exit, Layer, Scope } from "effect"
import { utf8 } from "../../../src/domain/bytes/bytes.ts"
import { X_WING } from "../../../src/domain/protocol/suites.ts"
import { createKeyFile, readKeyFile } from "../../../src/services/sealing/AttestationKeyFile.ts"
import { guardedStorage } from "../../../src/services/sealing/GuardedStorage.ts"
import { KeyVault } from "../../../src/services/sealing/KeyVault.ts"
import { plainStorage } from "../../../src/services/sealing/PlainStorage.ts"
import { RequestIds } from "../../../src/services/sealing/RequestIds.ts"
import { readRequest } from "../../../src/services/sealing/readRequest.ts"
import { Callers } from "../../../src/services/access/Callers.ts"
import { SealedCompletions } from "../../../src/services/sealing/SealedCompletions.ts"
import { type Envelope, RequestOpener } from "../../../src/services/sealing/RequestOpener.ts"
import { Sessions } from "../../../src/services/sealing/Sessions.ts"
import { sodium } from "../../../src/services/sealing/sodium.ts"
import { Upstream } from "../../../src/services/upstream/Upstream.ts"
import * as reference from "../../support/protocol/reference.ts"
import { collect, layerSealing, offerOf, openedOf, sealChat, sealPayload } from "../../support/protocol/Sealing.ts"
import { temporaryFolder } from "../../support/proxy.ts"
import { type Watched, watchSecrets } from "../../support/secrets.ts"

const vaults = [
  ["plain", KeyVault.layerPlain],
  ["the best", KeyVault.layer],
] as const

/** Secrets that an opened request must show; otherwise the test watched nothing. */
const OPENED = [
  "memory for a secret",
  "encoded private key",
  "decapsulated secret",
  "hash",
  "key of an HMAC",
  "HMAC",
  "key of a decipher",
  "plaintext",
]

describe.each(vaults)("with keys in %s memory, nothing secret is left", (_, vault) => {
  /** The services in a scope of their own, watched from their beginning. */
  const begun = Effect.gen(function* () {
    const watched = watchSecrets()
    const scope = yield* Scope.make()
    const services = yield* watched.during(
      Layer.buildWithScope(layerSealing({ vault }).pipe(Layer.provide(Upstream.layerEcho)), scope),
    )
    const { kind } = Context.get(services, KeyVault)
    const opener = Context.get(services, RequestOpener)
    const begin = Context.get(services, Sessions).begin({ suite: X_WING, initHash: "hash" })
    const offer = offerOf(yield* watched.during(begin))
    const open = (envelope: Envelope) => watched.during(Effect.scoped(opener.open(envelope)))
    const handle = (envelope: Envelope) =>
      watched.during(Effect.scoped(Effect.flatMap(Context.get(services, SealedCompletions).handle(envelope), collect)))
    const keys = () => (kind === "plain" ? Array.from({ length: 2 }, () => "memory for a secret") : [])
    /** Of the identity and the session, for as long as they are there. */
    const assertOnlyKeys = () => assert.deepStrictEqual(watched.left(), keys())
    const close = Effect.gen(function* () {
      yield* watched.during(Scope.close(scope, Exit.void))
      assert.deepStrictEqual(watched.left(), [])
    })
    return { kind, watched, offer, opener, open, handle, assertOnlyKeys, close }
  })

  it.effect.each([false, true])("of a request that was answered (streamed: %s)", (stream) =>
    Effect.gen(function* () {
      const { assertOnlyKeys, close, handle, kind, offer, watched } = yield* begun
      assertOnlyKeys()
      const request = yield* sealChat(offer, { prompt: "one two", stream })
      assert.isAbove((yield* handle(request.envelope)).frames.length, 1)
      assert.includeMembers([...watched.seen()], [...OPENED, "block"])
      if (kind === "plain") assert.includeMembers([...watched.seen()], ["agreed secret"])
      assertOnlyKeys()
      yield* close
    }),
  )

  it.effect("of a request that is refused under seal", () =>
    Effect.gen(function* () {
      const { assertOnlyKeys, close, handle, offer } = yield* begun
      const request = yield* sealChat(offer, {})
      assert.lengthOf((yield* handle(request.envelope)).frames, 2)
      assertOnlyKeys()
      yield* close
    }),
  )

  it.effect("of a request altered in its first byte, last block or tag", () =>
    Effect.gen(function* () {
      const { assertOnlyKeys, close, offer, open, watched } = yield* begun
      const { envelope } = yield* sealChat(offer, { prompt: "one two" })
      for (const at of [0, -17, -1]) {
        const bytes = reference.fromB64u(envelope.ciphertext)
        const index = (at + bytes.length) % bytes.length
        bytes[index] = (bytes[index] ?? 0) ^ 1
        const error = yield* Effect.flip(open({ ...envelope, ciphertext: reference.b64u(bytes) }))
        assert.strictEqual(error._tag, "Unopenable")
        assertOnlyKeys()
      }
      assert.includeMembers([...watched.seen()], OPENED)
      yield* close
    }),
  )

  it.effect("of a request whose block is wrong", () =>
    Effect.gen(function* () {
      const { assertOnlyKeys, close, offer, open, watched } = yield* begun
      const spoilt = (block: Buffer) => Buffer.concat([block.subarray(0, -1), Buffer.of(1)])
      const request = yield* Effect.promise(() => sealPayload(offer, reference.text("{}"), spoilt))
      assert.strictEqual((yield* Effect.flip(open(request.envelope)))._tag, "Unopenable")
      assert.includeMembers([...watched.seen()], OPENED)
      assertOnlyKeys()
      yield* close
    }),
  )

  it.effect("of copies that come while it is opened", () =>
    Effect.gen(function* () {
      const { assertOnlyKeys, close, opener, offer, watched } = yield* begun
      const { envelope } = yield* sealChat(offer, { prompt: "one two" })
      const opening = Effect.exit(Effect.scoped(opener.open(envelope)))
      const copies = yield* watched.during(Effect.all([opening, opening, opening], { concurrency: "unbounded" }))
      assert.lengthOf(copies.filter(Exit.isSuccess), 1)
      assertOnlyKeys()
      yield* close
    }),
  )
})

it.effect(
  "a payload is overwritten as soon as it was read, whatever is in it, but for what a provider may be sent",
  () =>
    Effect.gen(function* () {
      const admission = { callers: yield* Callers, requestIds: yield* RequestIds }
      const body = '{"prompt":"one"}'
      const good = JSON.stringify({
        request_id: crypto.randomUUID(),
        issued_at: 0,
        api: "chat.completions",
        body: JSON.parse(body),
      })
      for (const text of [
        good,
        "{}",
        '{"body":[7]}',
        '{"a":1,"a":1,"body":{}}',
        "no JSON",
        good.replace('"issued_at":0', '"issued_at":99999999'),
      ]) {
        const payload = utf8(text)
        const asked = yield* readRequest(openedOf(payload), admission)
        assert.strictEqual(Buffer.from(payload).toString().replaceAll("\0", ""), text.includes(body) ? body : "")
        const outcome = yield* Effect.exit(Effect.scoped(asked.admit))
        assert.strictEqual(Exit.isSuccess(outcome), text === good)
        assert.isTrue(payload.every((byte) => byte === 0))
      }
    }).pipe(Effect.provide([RequestIds.layer({ sessionTtl: Duration.minutes(5), max: 10 }), Callers.layerOpen])),
)

describe.each([
  ["plain", plainStorage()],
  ["guarded", guardedStorage()],
] as const)("a storage of keys (%s)", (_, storage) => {
  it.runIf(storage !== undefined)("overwrites what it is given, and at the end what it holds", () => {
    if (storage === undefined) return
    const secret = new Uint8Array(32).fill(7)
    const seed = new Uint8Array(32).fill(8)
    const held = storage.hold(32, secret)
    const signing = storage.signingKey(seed)
    assert.deepStrictEqual([secret, seed], [new Uint8Array(32), new Uint8Array(32)])
    assert.deepStrictEqual(
      held.read((secret) => new Uint8Array(secret)),
      new Uint8Array(32).fill(7),
    )
    storage.wipe()
    assert.throws(() => held.read(() => undefined), /destroyed/)
    assert.throws(() => signing.sign(new Uint8Array(1)), /destroyed/)
    assert.throws(() => storage.hold(32), /after all were wiped/)
  })
})

describe.runIf(sodium !== undefined)("guarded memory", () => {
  it("is reused for the keys of sessions, however many come and go", () => {
    assert(sodium)
    const allocate = vi.spyOn(sodium, "sodium_malloc")
    try {
      const storage = guardedStorage()
      assert(storage)
      for (let i = 0; i < 3000; i++) storage.hold(32).destroy()
      assert.strictEqual(allocate.mock.calls.length, 1)
    } finally {
      allocate.mockRestore()
    }
  })

  it("holds one key in one place, also after another was destroyed twice", () => {
    const storage = guardedStorage()
    assert(storage)
    const gone = storage.hold(32)
    gone.destroy()
    gone.destroy()
    const secrets = [storage.hold(32), storage.hold(32)].map((held) => held.read((secret) => new Uint8Array(secret)))
    assert.notDeepEqual(secrets[0], secrets[1])
  })
})

it.effect("a plain storage leaves no key behind when it is wiped with keys still in use", () =>
  Effect.gen(function* () {
    const watched = watchSecrets()
    yield* watched.during(
      Effect.sync(() => {
        const storage = plainStorage()
        storage.hold(32)
        storage.signingKey(new Uint8Array(32).fill(8))
        assert.deepStrictEqual(watched.left(), ["memory for a secret", "memory for a secret"])
        storage.wipe()
      }),
    )
    assert.deepStrictEqual(watched.left(), [])
  }),
)

describe("of an identity's key file, nothing secret is left", () => {
  const inFolder = <A, E>(use: (path: string, watched: Watched) => Effect.Effect<A, E>) =>
    Effect.flatMap(temporaryFolder, (folder) => use(join(folder, "key.pem"), watchSecrets())).pipe(Effect.scoped)

  it.live("when it is created or read, except the seed given to the vault", () =>
    inFolder((path, watched) =>
      Effect.gen(function* () {
        const made = yield* watched.during(createKeyFile(path))
        const read = yield* watched.during(readKeyFile(path))
        assert.deepStrictEqual(made, read)
        assert.deepStrictEqual(watched.left(), ["memory for a secret", "memory for a secret"])
        made.fill(0)
        read.fill(0)
        assert.deepStrictEqual(watched.left(), [])
        assert.isAbove(watched.seen().length, 4)
      }),
    ),
  )

  it.live("when it cannot be written, or is no key", () =>
    inFolder((path, watched) =>
      Effect.gen(function* () {
        const seed = yield* createKeyFile(path)
        seed.fill(0)
        yield* Effect.flip(watched.during(createKeyFile(path)))
        const pem = readFileSync(path, "utf8")
        for (const spoilt of [
          pem.replace(/.(?=\n-----END)/, "*"),
          pem.replace("MC4C", "MC4D"),
          pem.replace("-----END", ""),
        ]) {
          assert.notStrictEqual(spoilt, pem)
          writeFileSync(path, spoilt)
          yield* Effect.flip(watched.during(readKeyFile(path)))
        }
        assert.deepStrictEqual(watched.left(), [])
      }),
    ),
  )
})
