import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { gzipSync } from "node:zlib"
import { assert, describe, it, layer } from "@effect/vitest"
import { Clock, Duration, Effect, Exit, Fiber, Layer, Logger, Redacted, Ref, Scope } from "effect"
import { HttpClient, HttpClientResponse } from "effect/http"
import { TestClock } from "effect/testing"
import {
  base64url,
  CompactSign,
  exportJWK,
  exportSPKI,
  generateKeyPair,
  type GenerateKeyPairResult,
  type JWK,
  type JWTHeaderParameters,
  SignJWT,
} from "jose"
import { TenantId } from "../../../src/domain/jobs/agent.ts"
import { TokenRefused } from "../../../src/domain/access/identity.ts"
import { mintToken } from "../../../src/services/access/mintToken.ts"
import { Tokens, type TokenSettings } from "../../../src/services/access/Tokens.ts"
import { answering } from "../../support/answering.ts"
import { withinTurns } from "../../support/withinTurns.ts"

const ACME = TenantId.make("acme")
const ISSUER = "sealgate"
const AUDIENCE = "sealgate"
const SECRET = "a secret that is long enough to be one"
const secretBytes = new TextEncoder().encode(SECRET)

interface KeyPair extends GenerateKeyPairResult {
  readonly kid: string
  readonly alg: string
  readonly jwk: JWK
}

const keyPair = async (alg: string, kid: string): Promise<KeyPair> => {
  const pair = await generateKeyPair(alg, { extractable: true })
  return { ...pair, kid, alg, jwk: { ...(await exportJWK(pair.publicKey)), kid, alg, use: "sig" } }
}

const rsa = await keyPair("RS256", "rsa")
const ec = await keyPair("ES256", "ec")
const ed = await keyPair("Ed25519", "ed")
/** The same algorithm under the name it had before RFC 9864. */
const eddsa = await keyPair("EdDSA", "eddsa")
const attacker = await keyPair("RS256", "rsa")
const PUBLISHED = [rsa.jwk, ec.jwk, ed.jwk, eddsa.jwk]

/** State of an issuer's key endpoint: it publishes keys, fails, or never answers. */
type Published = ReadonlyArray<JWK> | "down" | "hanging"

/** An issuer's key endpoint that counts how often it is asked. */
const issuer = (keys: Ref.Ref<Published>, asked: Ref.Ref<number>) =>
  Layer.succeed(
    HttpClient.HttpClient,
    HttpClient.make((request) =>
      Effect.gen(function* () {
        yield* Ref.update(asked, (count) => count + 1)
        const published = yield* Ref.get(keys)
        if (published === "hanging") return yield* Effect.never
        // The body of a failure is never a key set, even if it looks like one.
        const response =
          published === "down" ? Response.json({ keys: [] }, { status: 500 }) : Response.json({ keys: published })
        return HttpClientResponse.fromWeb(request, response)
      }),
    ),
  )

const settings = (overrides: Partial<TokenSettings> = {}): TokenSettings => ({
  secret: Redacted.make(SECRET),
  jwks: { url: new URL("https://issuer.example/keys") },
  issuer: ISSUER,
  audience: AUDIENCE,
  usersAreTenants: false,
  ...overrides,
})

/** The tokens service at `REAL_TIME`, and its issuer. */
const setUp = Effect.fnUntraced(function* (overrides: Partial<TokenSettings> = {}, published: Published = PUBLISHED) {
  yield* TestClock.setTime(REAL_TIME)
  const keys = yield* Ref.make<Published>(published)
  const asked = yield* Ref.make(0)
  const context = yield* Layer.build(Tokens.layerNoDeps(settings(overrides)).pipe(Layer.provide(issuer(keys, asked))))
  const verify = (token: string) =>
    Effect.provideContext(
      Effect.flatMap(Tokens, (tokens) => tokens.verify(Redacted.make(token))),
      context,
    )
  return { keys, asked, verify }
})

interface TokenOptions {
  readonly claims?: Record<string, unknown>
  readonly header?: Partial<JWTHeaderParameters>
  readonly key?: Parameters<SignJWT["sign"]>[0]
}

/** A good token, changed. A claim that is `undefined` is left out. */
const token = Effect.fnUntraced(function* ({ claims, header, key }: TokenOptions = {}) {
  const now = Math.floor((yield* Clock.currentTimeMillis) / 1000)
  const all = { sub: "alice", tenant: "acme", iss: ISSUER, aud: AUDIENCE, exp: now + 600, ...claims }
  return yield* Effect.promise(() =>
    new SignJWT(Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined)))
      .setProtectedHeader({ alg: "HS256", ...header })
      .sign(key ?? secretBytes),
  )
})

const signedBy = (pair: KeyPair, options: TokenOptions = {}) =>
  token({ ...options, header: { alg: pair.alg, kid: pair.kid, ...options.header }, key: pair.privateKey })

const encode = (value: unknown): string => base64url.encode(JSON.stringify(value))

/** A token with any header and signature. */
const forged = (header: object, signature: string) =>
  Effect.map(Clock.currentTimeMillis, (now) => {
    const exp = Math.floor(now / 1000) + 600
    const claims = { sub: "alice", tenant: "acme", iss: ISSUER, aud: AUDIENCE, exp, roles: ["admin"] }
    return `${encode(header)}.${encode(claims)}.${signature}`
  })

/** Fails unless the effect ends without the clock being moved. */
const atOnce = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.raceFirst(effect, TestClock.withLive(withinTurns("2 seconds")(Effect.never)))

const REAL_TIME = Date.UTC(2030, 0, 1)
const IN_AN_HOUR = REAL_TIME / 1000 + 3600

describe("Tokens", () => {
  it.effect("accepts tokens that its sources signed, and returns the caller's identity", () =>
    Effect.gen(function* () {
      const { verify } = yield* setUp()
      assert.deepStrictEqual(yield* verify(yield* token()), {
        subject: "alice",
        tenant: ACME,
        until: REAL_TIME + 630_000,
      })
      const claims = { roles: ["admin", "other"], aud: ["elsewhere", AUDIENCE] }
      for (const pair of [rsa, ec, ed, eddsa]) {
        assert.deepStrictEqual(yield* verify(yield* signedBy(pair, { claims })), {
          subject: "alice",
          tenant: ACME,
          roles: ["admin", "other"],
          until: REAL_TIME + 630_000,
        })
      }
    }),
  )

  it.effect("accepts clocks that are 30 s apart, and no more", () =>
    Effect.gen(function* () {
      const { verify } = yield* setUp()
      const now = REAL_TIME / 1000
      yield* verify(yield* token({ claims: { exp: now - 29 } }))
      yield* verify(yield* token({ claims: { nbf: now + 30 } }))
      yield* Effect.flip(verify(yield* token({ claims: { exp: now - 30 } })))
      yield* Effect.flip(verify(yield* token({ claims: { nbf: now + 31 } })))
    }),
  )

  it.effect("refuses a token that it accepted before as soon as it has expired, or while it is not valid yet", () =>
    Effect.gen(function* () {
      const { verify } = yield* setUp()
      const now = REAL_TIME / 1000
      for (const pair of [undefined, rsa]) {
        yield* TestClock.setTime(REAL_TIME)
        const claims = { nbf: now, exp: now + 60 }
        const good = yield* pair === undefined ? token({ claims }) : signedBy(pair, { claims })
        yield* verify(good)
        yield* TestClock.setTime(REAL_TIME + 89_999)
        assert.strictEqual((yield* verify(good)).subject, "alice")
        yield* TestClock.setTime(REAL_TIME + 90_000)
        yield* Effect.flip(verify(good))
        yield* TestClock.setTime(REAL_TIME - 31_000)
        yield* Effect.flip(verify(good))
      }
    }),
  )

  const publicPem = Effect.promise(() => exportSPKI(rsa.publicKey))
  const now = REAL_TIME / 1000
  const hostile: Record<string, Effect.Effect<string>> = {
    "alg none": forged({ alg: "none" }, ""),
    "alg None": forged({ alg: "None" }, ""),
    "no alg": forged({ typ: "JWT" }, ""),
    "alg none with a signature": forged({ alg: "none" }, base64url.encode("signature")),
    "HS256 with the public key as its secret": Effect.flatMap(publicPem, (pem) =>
      token({ header: { kid: "rsa" }, key: new TextEncoder().encode(pem) }),
    ),
    "RS256 header over an HMAC": Effect.map(token(), (good) => {
      const [, claims, signature] = good.split(".")
      return `${encode({ alg: "RS256", kid: "rsa" })}.${claims}.${signature}`
    }),
    "an algorithm that is not allowed": token({ header: { alg: "HS512" }, key: new Uint8Array(64) }),
    "HS512 with the secret": token({ header: { alg: "HS512" }, key: new TextEncoder().encode(SECRET.repeat(2)) }),
    "another secret": token({ key: new TextEncoder().encode("another secret that is long enough") }),
    "another issuer's key under a known kid": signedBy(attacker),
    "the right key under another's kid": signedBy(rsa, { header: { kid: "ec" } }),
    "an unknown kid": signedBy(attacker, { header: { kid: "unknown" } }),
    "an embedded jwk": signedBy(attacker, { header: { jwk: attacker.jwk } }),
    "an embedded jwk and no kid": token({
      header: { alg: "RS256", jwk: attacker.jwk },
      key: attacker.privateKey,
    }),
    "a jku": signedBy(attacker, { header: { jku: "https://attacker.example/keys" } }),
    "an x5u": signedBy(attacker, { header: { x5u: "https://attacker.example/chain" } }),
    "an x5c": signedBy(attacker, { header: { x5c: ["MIIB"] } }),
    "a kid that is a path": signedBy(attacker, { header: { kid: "../../../../dev/null" } }),
    "an unknown crit": forged({ alg: "HS256", crit: ["exp"], exp: 1 }, base64url.encode("x")),
    "an unknown crit, well signed": Effect.promise(() =>
      new CompactSign(
        new TextEncoder().encode(
          JSON.stringify({ sub: "a", tenant: "acme", iss: ISSUER, aud: AUDIENCE, exp: now + 60 }),
        ),
      )
        .setProtectedHeader({ alg: "HS256", crit: ["urn:x"], "urn:x": true })
        .sign(secretBytes, { crit: { "urn:x": true } }),
    ),
    expired: token({ claims: { exp: now - 31 } }),
    "not yet valid": token({ claims: { nbf: now + 60 } }),
    "no exp": token({ claims: { exp: undefined } }),
    "an exp that is no number": token({ claims: { exp: "tomorrow" } }),
    "no sub": token({ claims: { sub: undefined } }),
    "an empty sub": token({ claims: { sub: "" } }),
    "a sub that is no text": token({ claims: { sub: 7 } }),
    "a sub with control characters": token({ claims: { sub: "alice\u0000" } }),
    "an endless sub": token({ claims: { sub: "a".repeat(256) } }),
    "no tenant": token({ claims: { tenant: undefined } }),
    "no tenant, and the name of one as its sub": token({ claims: { tenant: undefined, sub: "acme" } }),
    "the tenant of a user": token({ claims: { tenant: "user:alice" } }),
    "an empty tenant": token({ claims: { tenant: "" } }),
    "an endless tenant": token({ claims: { tenant: "a".repeat(256) } }),
    "a tenant that is no text": token({ claims: { tenant: ["acme"] } }),
    "roles that are no list": token({ claims: { roles: "admin" } }),
    "another issuer": token({ claims: { iss: "elsewhere" } }),
    "no issuer": token({ claims: { iss: undefined } }),
    "another audience": token({ claims: { aud: "elsewhere" } }),
    "no audience": token({ claims: { aud: undefined } }),
    "claims that are no object": Effect.promise(() =>
      new CompactSign(new TextEncoder().encode('"alice"')).setProtectedHeader({ alg: "HS256" }).sign(secretBytes),
    ),
    "claims changed after signing": Effect.map(token(), (good) => {
      const [header, , signature] = good.split(".")
      const claims = { sub: "bob", tenant: "acme", iss: ISSUER, aud: AUDIENCE, exp: now + 600, roles: ["admin"] }
      return `${header}.${encode(claims)}.${signature}`
    }),
    "no signature": Effect.map(token(), (good) => good.slice(0, good.lastIndexOf(".") + 1)),
    "half a signature": Effect.map(token(), (good) => good.slice(0, -8)),
    "too long": token({ claims: { padding: "x".repeat(8192) } }),
    garbage: Effect.succeed("garbage"),
    dots: Effect.succeed(".."),
    "a header that is no JSON": Effect.succeed(`${base64url.encode("{")}.e30.e30`),
    "a header of the wrong encoding": Effect.succeed("%%%.e30.e30"),
    "an encrypted token": Effect.succeed(`${encode({ alg: "dir", enc: "A256GCM" })}....`),
    "a prototype as its algorithm": forged({ alg: "__proto__" }, ""),
  }

  for (const [name, hostileToken] of Object.entries(hostile)) {
    it.effect(`refuses ${name}`, () =>
      Effect.gen(function* () {
        const { verify } = yield* setUp()
        const error = yield* Effect.flip(verify(yield* hostileToken))
        assert.strictEqual(error._tag, "TokenRefused")
        assert.deepStrictEqual({ ...error }, { ...new TokenRefused() })
        assert.isUndefined(error.cause)
      }),
    )
  }

  it.effect("refuses a missing token without `error` in WWW-Authenticate", () =>
    Effect.gen(function* () {
      const { verify } = yield* setUp()
      const { _tag, headers } = yield* Effect.flip(verify(""))
      assert.strictEqual(_tag, "TokenRefused")
      assert.deepStrictEqual(headers, { "www-authenticate": 'Bearer realm="sealgate"' })
    }),
  )

  it.effect("refuses tokens of a source that is not configured", () =>
    Effect.gen(function* () {
      const secretOnly = yield* setUp({ jwks: undefined })
      const jwksOnly = yield* setUp({ secret: undefined })
      yield* secretOnly.verify(yield* token())
      yield* jwksOnly.verify(yield* signedBy(rsa))
      yield* Effect.flip(secretOnly.verify(yield* signedBy(rsa)))
      yield* Effect.flip(jwksOnly.verify(yield* token()))
    }),
  )
})

describe("Tokens where users are tenants", () => {
  it.effect("give each user a tenant that no token can claim", () =>
    Effect.gen(function* () {
      const { verify } = yield* setUp({ usersAreTenants: true })
      const tenantOf = (claims: Record<string, unknown>) =>
        Effect.map(Effect.flatMap(token({ claims }), verify), ({ tenant }) => tenant)
      assert.strictEqual(yield* tenantOf({ tenant: undefined }), "user:alice")
      assert.strictEqual(yield* tenantOf({ tenant: undefined, sub: "acme" }), "user:acme")
      assert.strictEqual(yield* tenantOf({ tenant: undefined, sub: "a".repeat(255) }), `user:${"a".repeat(255)}`)
      assert.strictEqual(yield* tenantOf({ tenant: "acme" }), "acme")
      for (const tenant of ["user:alice", "user:", ""]) {
        assert.strictEqual((yield* Effect.flip(tenantOf({ tenant })))._tag, "TokenRefused")
      }
    }),
  )
})

describe("Tokens with rotating keys", () => {
  it.effect("accepts tokens signed with the current or the previous secret, and no other", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(REAL_TIME)
      const next = "the secret that comes after the first one"
      const { verify } = yield* setUp({ secret: Redacted.make(next), previousSecret: Redacted.make(SECRET) })
      const ofNext = yield* token({ key: new TextEncoder().encode(next) })
      assert.strictEqual((yield* verify(yield* token())).subject, "alice")
      assert.strictEqual((yield* verify(ofNext)).subject, "alice")
      const third = yield* token({ key: new TextEncoder().encode("a secret that was never one of these") })
      assert.strictEqual((yield* Effect.flip(verify(third)))._tag, "TokenRefused")
      const after = yield* setUp({ secret: Redacted.make(next) })
      assert.strictEqual((yield* Effect.flip(after.verify(yield* token())))._tag, "TokenRefused")
    }),
  )

  it.effect("finds a new key at once, and asks at most every 30 s", () =>
    Effect.gen(function* () {
      const { asked, keys, verify } = yield* setUp()
      const fresh = yield* Effect.promise(() => keyPair("ES256", "fresh"))
      yield* Effect.flip(verify(yield* signedBy(fresh)))
      yield* Ref.set(keys, [fresh.jwk])
      yield* TestClock.adjust("29999 millis")
      yield* Effect.flip(verify(yield* signedBy(fresh)))
      assert.strictEqual(yield* Ref.get(asked), 1)
      yield* TestClock.adjust("1 millis")
      yield* verify(yield* signedBy(fresh))
      assert.strictEqual(yield* Ref.get(asked), 2)
      const unknown = yield* signedBy(attacker, { header: { kid: "unknown" } })
      yield* Effect.forEach(
        Array.from({ length: 50 }, () => unknown),
        (text) => Effect.flip(verify(text)),
        { concurrency: "unbounded" },
      )
      assert.strictEqual(yield* Ref.get(asked), 2)
    }),
  )

  it.effect("asks once for all tokens that name an unknown key, and no sooner than 5 s after that failed", () =>
    Effect.gen(function* () {
      const { asked, keys, verify } = yield* setUp()
      yield* Ref.set(keys, "hanging")
      yield* TestClock.adjust("40 seconds")
      const unknown = yield* signedBy(attacker, { header: { kid: "unknown" } })
      const guesses = Effect.forEach(
        Array.from({ length: 50 }, () => unknown),
        (text) => Effect.flip(verify(text)),
        { concurrency: "unbounded" },
      )
      const guessing = yield* Effect.forkChild(guesses)
      while ((yield* Ref.get(asked)) < 2) yield* TestClock.withLive(Effect.sleep("1 millis"))
      // The keys that are known count meanwhile.
      yield* atOnce(verify(yield* signedBy(rsa)))
      assert.strictEqual(yield* Ref.get(asked), 2)
      yield* TestClock.adjust("5 seconds")
      assert.strictEqual((yield* Fiber.join(guessing)).length, 50)
      yield* TestClock.adjust("4999 millis")
      yield* atOnce(guesses)
      assert.strictEqual(yield* Ref.get(asked), 2)
      yield* Ref.set(keys, PUBLISHED)
      yield* TestClock.adjust("1 millis")
      yield* guesses
      assert.strictEqual(yield* Ref.get(asked), 3)
    }),
  )

  it.effect("forgets a withdrawn key after ten minutes, even if no tokens arrive", () =>
    Effect.gen(function* () {
      const { asked, keys, verify } = yield* setUp()
      yield* Ref.set(keys, [ec.jwk])
      const withdrawn = yield* signedBy(rsa, { claims: { exp: IN_AN_HOUR } })
      yield* TestClock.adjust("599 seconds")
      yield* verify(withdrawn)
      assert.strictEqual(yield* Ref.get(asked), 1)
      yield* TestClock.adjust("1 second")
      assert.strictEqual(yield* Ref.get(asked), 2)
      assert.strictEqual((yield* Effect.flip(verify(withdrawn)))._tag, "TokenRefused")
    }),
  )

  for (const state of ["down", "hanging"] as const) {
    it.effect(`keeps no token waiting for an issuer that is ${state}`, () =>
      Effect.gen(function* () {
        const { asked, keys, verify } = yield* setUp()
        const good = yield* signedBy(rsa, { claims: { exp: IN_AN_HOUR } })
        yield* Ref.set(keys, state)
        yield* TestClock.adjust("10 minutes")
        assert.strictEqual(yield* Ref.get(asked), 2)
        yield* Effect.repeat(atOnce(verify(good)), { times: 20 })
        assert.strictEqual(yield* Ref.get(asked), 2)
      }),
    )
  }

  it.effect("keeps the keys of an unreachable issuer for a day, and asks again when a token arrives", () =>
    Effect.gen(function* () {
      const { keys, verify } = yield* setUp()
      const good = yield* signedBy(rsa, { claims: { exp: REAL_TIME / 1000 + 48 * 3600 } })
      yield* Ref.set(keys, "down")
      yield* TestClock.adjust(Duration.seconds(24 * 3600 - 1))
      yield* atOnce(verify(good))
      yield* TestClock.adjust("1 second")
      assert.strictEqual((yield* Effect.flip(verify(good)))._tag, "TokenKeysUnavailable")
      yield* Ref.set(keys, PUBLISHED)
      yield* TestClock.adjust("5 seconds")
      yield* verify(good)
    }),
  )

  it.effect("finds a new key also when the clock was set back", () =>
    Effect.gen(function* () {
      const { keys, verify } = yield* setUp()
      yield* TestClock.setTime(REAL_TIME - 3_600_000)
      yield* TestClock.adjust("30 seconds")
      const fresh = yield* Effect.promise(() => keyPair("ES256", "fresh"))
      yield* Ref.set(keys, [fresh.jwk])
      yield* verify(yield* signedBy(fresh))
    }),
  )

  /** Verifies a good token with keys fetched from a real server, and returns what was logged. */
  const verifyOver = Effect.fnUntraced(function* (url: string) {
    const logs: Array<string> = []
    const logger = Logger.layer([Logger.make((entry) => void logs.push(Logger.formatJson.log(entry)))])
    const good = yield* signedBy(rsa)
    const verified = yield* Effect.flatMap(Tokens, (tokens) => tokens.verify(Redacted.make(good))).pipe(
      Effect.provide(Layer.provideMerge(Tokens.layer(settings({ jwks: { url: new URL(url) } })), logger)),
      Effect.exit,
    )
    return { logs: logs.join(""), verified: Exit.isSuccess(verified) }
  })

  it.live("follows no redirect of the issuer, and says so", () =>
    Effect.gen(function* () {
      const paths: Array<string> = []
      const url = yield* answering((response, request) => {
        paths.push(request.url ?? "")
        if (request.url === "/keys") response.end(JSON.stringify({ keys: [rsa.jwk] }))
        else response.writeHead(302, { location: "/keys" }).end()
      })
      const { logs, verified } = yield* verifyOver(`${url}/moved`)
      assert.isFalse(verified)
      assert.include(logs, "a redirect (302), which is not followed; set the URL that it leads to")
      assert.notInclude(paths, "/keys")
      assert.isTrue((yield* verifyOver(`${url}/keys`)).verified)
    }),
  )

  it.live("reads keys of at most 1 MiB, also compressed ones", () =>
    Effect.gen(function* () {
      const ofLength = (length: number) => {
        const text = JSON.stringify({ keys: [{ ...rsa.jwk, x5u: "" }] })
        return text.replace('"x5u":""', `"x5u":"${"x".repeat(length - text.length)}"`)
      }
      const url = yield* answering((response, { url }) => {
        const text = ofLength(1024 * 1024 + (url === "/full" ? 0 : 1))
        if (url === "/gzip") response.setHeader("content-encoding", "gzip").end(gzipSync(text))
        else response.end(text)
      })
      assert.isTrue((yield* verifyOver(`${url}/full`)).verified)
      for (const path of ["/more", "/gzip"]) {
        const { logs, verified } = yield* verifyOver(`${url}${path}`)
        assert.isFalse(verified, path)
        assert.include(logs, "it is larger than 1048576 bytes", path)
      }
    }),
  )

  it.effect("does not wait for a hanging issuer when it closes", () =>
    Effect.gen(function* () {
      const keys = yield* Ref.make<Published>(PUBLISHED)
      const asked = yield* Ref.make(0)
      const scope = yield* Scope.make()
      yield* Layer.buildWithScope(Layer.provide(Tokens.layerNoDeps(settings()), issuer(keys, asked)), scope)
      yield* Ref.set(keys, "hanging")
      yield* TestClock.adjust("10 minutes")
      assert.strictEqual(yield* Ref.get(asked), 2)
      yield* atOnce(Scope.close(scope, Exit.void))
    }),
  )

  it.effect("reads keys from a file, reloads it when it changes, and requires it at the start", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(REAL_TIME)
      const folder = yield* Effect.acquireRelease(
        Effect.sync(() => mkdtempSync(join(tmpdir(), "sealgate-"))),
        (folder) => Effect.sync(() => rmSync(folder, { recursive: true })),
      )
      const file = join(folder, "jwks.json")
      const absent = yield* Effect.flip(Layer.build(Tokens.layer(settings({ jwks: { file } }))))
      assert.include(absent.message, "there is no such file")
      writeFileSync(file, '{"keys": 7}')
      const invalid = yield* Effect.flip(Layer.build(Tokens.layer(settings({ jwks: { file } }))))
      assert.include(invalid.message, "not a JWKS")
      writeFileSync(file, '{"keys": []}')
      const empty = yield* Effect.flip(Layer.build(Tokens.layer(settings({ jwks: { file } }))))
      assert.include(empty.message, "it has no keys")
      chmodSync(file, 0o666)
      const open = yield* Effect.flip(Layer.build(Tokens.layer(settings({ jwks: { file } }))))
      assert.include(open.message, `writable by others (mode 0666). Run chmod go-w ${file}`)
      chmodSync(file, 0o644)

      writeFileSync(file, JSON.stringify({ keys: [rsa.jwk] }))
      const context = yield* Layer.build(Tokens.layer(settings({ jwks: { file } })))
      const verify = (text: string) =>
        Effect.provideContext(
          Effect.flatMap(Tokens, (tokens) => tokens.verify(Redacted.make(text))),
          context,
        )
      yield* verify(yield* signedBy(rsa))
      writeFileSync(file, JSON.stringify({ keys: [ec.jwk] }))
      yield* Effect.flip(verify(yield* signedBy(ec)))
      yield* TestClock.adjust("30 seconds")
      yield* verify(yield* signedBy(ec))
    }),
  )

  it.effect("answers 503 until it first has keys, then recovers", () =>
    Effect.gen(function* () {
      const { keys, verify } = yield* setUp({}, "down")
      const good = yield* signedBy(rsa)
      assert.deepInclude(yield* Effect.flip(verify(good)), { _tag: "TokenKeysUnavailable", status: 503 })
      yield* verify(yield* token())
      yield* Ref.set(keys, PUBLISHED)
      yield* TestClock.adjust("5 seconds")
      yield* verify(good)
    }),
  )
})

layer(Tokens.layer(settings({ jwks: undefined })))("mintToken", (it) => {
  it.effect("accepts tokens of mintToken until they expire", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(REAL_TIME)
      const tokens = yield* Tokens
      const minted = yield* mintToken({
        secret: Redacted.make(SECRET),
        issuer: ISSUER,
        audience: AUDIENCE,
        subject: "alice",
        tenant: ACME,
        roles: ["admin"],
        ttl: Duration.hours(1),
      })
      assert.deepStrictEqual(yield* tokens.verify(minted), {
        subject: "alice",
        tenant: ACME,
        roles: ["admin"],
        until: (IN_AN_HOUR + 30) * 1000,
      })
      yield* TestClock.adjust("2 hours")
      yield* Effect.flip(tokens.verify(minted))
    }),
  )
})
