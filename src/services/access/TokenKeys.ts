/** Keys for tokens, each with fixed algorithms: no public key counts as a shared secret (RFC 8725 §2.1, §3.1). */
import { Duration, Effect, FiberHandle, Redacted, Schema } from "effect"
import { FetchHttpClient, HttpClient, HttpClientRequest, type HttpClientError } from "effect/http"
import type { CryptoKey, JSONWebKeySet, JWSHeaderParameters } from "jose"
import { JWKSInvalid, JWKSNoMatchingKey } from "jose/errors"
import { createLocalJWKSet } from "jose/jwks/local"
import { connectionReason, fileReason } from "../../domain/problems/systemErrors.ts"
import { readKeys } from "../fileAccess.ts"
import { thisMoment } from "../moments.ts"
import { readBody } from "../readBody.ts"
import { TokenKeysUnavailable, TokenRefused } from "../../domain/access/identity.ts"

/** Location of an issuer's public keys: a JWKS (RFC 7517 §5) at a URL, or in a file. */
export type JwksLocation = { readonly url: URL } | { readonly file: string }

export interface TokenKeys {
  readonly algorithms: ReadonlyArray<string>
  readonly keyFor: (header: JWSHeaderParameters) => Effect.Effect<CryptoKey, TokenRefused | TokenKeysUnavailable>
}

const SYMMETRIC = ["HS256"]
const ASYMMETRIC = ["RS256", "ES256", "Ed25519", "EdDSA"]

/** Keys are reloaded after this time, so that withdrawn keys stop counting. */
const RELOAD_AFTER = Duration.toMillis("10 minutes")
/** How long keys stay valid while they cannot be reloaded, so that an issuer's outage does not lock callers out. */
const MAX_AGE = Duration.toMillis("1 day")
/** Unknown keys cause a reload at most this often, because any token can name one. */
const COOLDOWN = Duration.toMillis("30 seconds")
/** Pause after a failed attempt. */
const COOLDOWN_AFTER_FAILURE = Duration.toMillis("5 seconds")
const LOAD_TIMEOUT = Duration.seconds(5)
/** Largest key set, in bytes. Issuers publish a few kB. */
const MAX_JWKS_BYTES = 1024 * 1024

/** A shared secret, for HS256 only, as a key that cannot be exported. */
export const secretKeys = (secret: Redacted.Redacted): Effect.Effect<TokenKeys> =>
  Effect.map(
    Effect.promise(() =>
      crypto.subtle.importKey(
        "raw",
        new TextEncoder().encode(Redacted.value(secret)),
        { name: "HMAC", hash: "SHA-256" },
        false,
        ["verify"],
      ),
    ),
    (key) => ({ algorithms: SYMMETRIC, keyFor: () => Effect.succeed(key) }),
  )

/** The JWKS cannot be read or is invalid. */
export class JwksUnreadable extends Schema.TaggedError<JwksUnreadable>()("JwksUnreadable", {
  source: Schema.String,
  problem: Schema.String,
}) {
  override get message(): string {
    return `The keys in ${this.source} cannot be used: ${this.problem}`
  }
}

const sourceOf = (location: JwksLocation): string =>
  "url" in location ? `${location.url.origin}${location.url.pathname}` : location.file

const JwksText = Schema.fromJsonString(
  Schema.Struct({ keys: Schema.Array(Schema.Record(Schema.String, Schema.Unknown)) }),
)

/** The reason of a failed fetch, without the HTTP client's message. */
const wordsOf = ({ reason }: HttpClientError.HttpClientError): string => {
  if (!("response" in reason)) return connectionReason(reason)
  const { status } = reason.response
  return status >= 300 && status < 400
    ? `it answered with a redirect (${status}), which is not followed; set the URL that it leads to`
    : `it answered with status ${status}`
}

const fetchText = Effect.fnUntraced(function* (location: JwksLocation) {
  const source = sourceOf(location)
  if ("file" in location) {
    const read = yield* Effect.tryPromise({
      // Other users may read the public keys, but must not write to the file.
      try: () => readKeys(location.file, false),
      catch: (error) => new JwksUnreadable({ source, problem: fileReason(error) }),
    })
    if (Buffer.isBuffer(read)) return read.toString()
    return yield* new JwksUnreadable({ source, problem: `it ${read.problem}. ${read.remedy}.` })
  }
  const client = HttpClient.filterStatusOk(yield* HttpClient.HttpClient)
  const body = yield* client.execute(HttpClientRequest.acceptJson(HttpClientRequest.get(location.url))).pipe(
    Effect.flatMap((response) => readBody(response, MAX_JWKS_BYTES)),
    // A redirect could lead to plain HTTP, where anybody on the way can put keys of their own.
    Effect.provideService(FetchHttpClient.RequestInit, { redirect: "manual" }),
    Effect.mapError((error) => new JwksUnreadable({ source, problem: wordsOf(error) })),
    Effect.timeoutOrElse({
      duration: LOAD_TIMEOUT,
      orElse: () => Effect.fail(new JwksUnreadable({ source, problem: "it took too long" })),
    }),
  )
  if (body.length <= MAX_JWKS_BYTES) return body.toString()
  return yield* new JwksUnreadable({ source, problem: `it is larger than ${MAX_JWKS_BYTES} bytes; check the URL` })
})

const loadSet = Effect.fnUntraced(function* (location: JwksLocation) {
  const source = sourceOf(location)
  const text = yield* fetchText(location)
  const jwks = yield* Effect.mapError(
    Schema.decodeEffect(JwksText)(text),
    () => new JwksUnreadable({ source, problem: "it is not a JWKS" }),
  )
  if (jwks.keys.length === 0) return yield* new JwksUnreadable({ source, problem: "it has no keys" })
  return yield* Effect.try({
    // The library checks each key when it is used.
    try: () => createLocalJWKSet(jwks as unknown as JSONWebKeySet),
    catch: () => new JwksUnreadable({ source, problem: "it is not a JWKS" }),
  })
})

/**
 * Public keys of an issuer. They are reloaded in the background when they are old and, at most every 30 s, when a token
 * names an unknown one; only such a token waits. Keys that cannot be reloaded count for a day. Fails if a file cannot be
 * read at the start.
 */
export const jwksKeys = Effect.fnUntraced(function* (location: JwksLocation) {
  const client = yield* HttpClient.HttpClient
  let loaded: { readonly keys: ReturnType<typeof createLocalJWKSet>; readonly at: number } | undefined
  let nextLoad = -Infinity

  const load = Effect.gen(function* () {
    const at = yield* thisMoment
    const keys = yield* loadSet(location)
    loaded = { keys, at }
    nextLoad = (yield* thisMoment) + COOLDOWN
  }).pipe(Effect.provideService(HttpClient.HttpClient, client))

  const reload = Effect.catch(
    load,
    Effect.fnUntraced(function* (error) {
      nextLoad = (yield* thisMoment) + COOLDOWN_AFTER_FAILURE
      yield* Effect.logWarning(`Token keys were not loaded. ${error.message}`)
    }),
  )

  // Loading continues when the request that started it ends, because others wait for it.
  const loading = yield* FiberHandle.make<void, never>()
  const run = yield* FiberHandle.runtime(loading)<never>()
  /** Starts loading the keys, unless that is under way or was tried just now. */
  const refresh = Effect.map(thisMoment, (now) => {
    if (now >= nextLoad) run(reload, { onlyIfMissing: true })
  })
  const refreshed = Effect.andThen(refresh, FiberHandle.awaitEmpty(loading))

  const age = Effect.map(thisMoment, (now) => now - (loaded?.at ?? -Infinity))
  const known = Effect.map(age, (age) => (age < MAX_AGE ? loaded?.keys : undefined))

  const keyIn = (keys: ReturnType<typeof createLocalJWKSet>, header: JWSHeaderParameters) =>
    Effect.tryPromise({
      try: () => keys(header),
      catch: (error) =>
        error instanceof JWKSNoMatchingKey
          ? ("unknown" as const)
          : error instanceof JWKSInvalid
            ? new TokenKeysUnavailable()
            : new TokenRefused(),
    })
  const select = Effect.fnUntraced(function* (header: JWSHeaderParameters) {
    const keys = yield* known
    return keys === undefined ? yield* new TokenKeysUnavailable() : yield* keyIn(keys, header)
  })

  yield* "file" in location ? load : refreshed
  yield* Effect.sleep(COOLDOWN).pipe(
    Effect.andThen(Effect.flatMap(age, (age) => (age < RELOAD_AFTER ? Effect.void : refresh))),
    Effect.forever,
    Effect.forkScoped,
  )

  return {
    algorithms: ASYMMETRIC,
    keyFor: Effect.fnUntraced(function* (header) {
      if ((yield* known) === undefined) yield* refreshed
      return yield* Effect.catchIf(
        select(header),
        (error) => error === "unknown",
        () =>
          Effect.andThen(refreshed, select(header)).pipe(
            Effect.mapError((error) => (error === "unknown" ? new TokenRefused() : error)),
          ),
      )
    }),
  } satisfies TokenKeys
})
