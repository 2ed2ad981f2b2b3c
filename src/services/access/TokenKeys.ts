/**
 * The keys that tokens are checked with. Each source has its own algorithms, so a token chooses a key only together
 * with an algorithm that the key is for: a public key is never taken for a shared secret (RFC 8725 §2.1, §3.1).
 */
import { readFile } from "node:fs/promises"
import { Clock, Duration, Effect, Redacted, Schema, Semaphore } from "effect"
import { HttpClient, HttpClientRequest } from "effect/http"
import { createLocalJWKSet, type CryptoKey, errors, type JSONWebKeySet, type JWSHeaderParameters } from "jose"
import { TokenKeysUnavailable, TokenRefused } from "../../domain/identity.ts"

/** Where public keys come from: an issuer's JWKS (RFC 7517 §5) at a URL, or in a file. */
export type JwksLocation = { readonly url: URL } | { readonly file: string }

export interface TokenKeys {
  readonly algorithms: ReadonlyArray<string>
  readonly keyFor: (header: JWSHeaderParameters) => Effect.Effect<CryptoKey, TokenRefused | TokenKeysUnavailable>
}

const SYMMETRIC = ["HS256"]
const ASYMMETRIC = ["RS256", "ES256", "Ed25519", "EdDSA"]

/** Keys that were loaded are loaded again after this long, so that keys that were withdrawn stop counting. */
const MAX_AGE = Duration.toMillis("10 minutes")
/** A key that is not known is looked for at most this often: anybody can send a token that names one. */
const COOLDOWN = Duration.toMillis("30 seconds")
/** How soon after a failure loading is tried again. */
const RETRY_AFTER_FAILURE = Duration.toMillis("5 seconds")
const LOAD_TIMEOUT = Duration.seconds(5)

/** A shared secret, for HS256 alone. It becomes a key that cannot be read back. */
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

/** A JWKS that cannot be read, or is none. */
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

const fetchText = Effect.fnUntraced(function* (location: JwksLocation) {
  const source = sourceOf(location)
  if ("file" in location) {
    return yield* Effect.tryPromise({
      try: () => readFile(location.file, "utf8"),
      catch: (error) =>
        new JwksUnreadable({ source, problem: error instanceof Error && "code" in error ? String(error.code) : "?" }),
    })
  }
  const client = HttpClient.filterStatusOk(yield* HttpClient.HttpClient)
  return yield* client.execute(HttpClientRequest.acceptJson(HttpClientRequest.get(location.url))).pipe(
    Effect.flatMap((response) => response.text),
    Effect.mapError((error) => new JwksUnreadable({ source, problem: error.reason._tag })),
    Effect.timeoutOrElse({
      duration: LOAD_TIMEOUT,
      orElse: () => Effect.fail(new JwksUnreadable({ source, problem: "it took too long" })),
    }),
  )
})

const loadSet = Effect.fnUntraced(function* (location: JwksLocation) {
  const source = sourceOf(location)
  const text = yield* fetchText(location)
  const jwks = yield* Effect.mapError(
    Schema.decodeEffect(JwksText)(text),
    () => new JwksUnreadable({ source, problem: "it is not a JWKS" }),
  )
  return yield* Effect.try({
    // The members of each key are checked by the library when the key is used.
    try: () => createLocalJWKSet(jwks as unknown as JSONWebKeySet),
    catch: () => new JwksUnreadable({ source, problem: "it is not a JWKS" }),
  })
})

/**
 * Public keys of an issuer, loaded again when they are old and, at most every 30 s, when a token names one that is not
 * among them. Keys that cannot be loaded again stay; a file that cannot be read at start is an error.
 */
export const jwksKeys = Effect.fnUntraced(function* (location: JwksLocation) {
  const client = yield* HttpClient.HttpClient
  const lock = yield* Semaphore.make(1)
  let keys: ReturnType<typeof createLocalJWKSet> | undefined
  let loadedAt = -Infinity
  let nextTry = -Infinity

  const load = Effect.gen(function* () {
    const now = yield* Clock.currentTimeMillis
    nextTry = now + RETRY_AFTER_FAILURE
    keys = yield* loadSet(location)
    loadedAt = now
    nextTry = now + COOLDOWN
  }).pipe(Effect.provideService(HttpClient.HttpClient, client))

  /** Loads the keys, unless that was tried just now. */
  const refresh = lock.withPermit(
    Effect.flatMap(Clock.currentTimeMillis, (now) =>
      now < nextTry
        ? Effect.void
        : Effect.catch(load, (error) => Effect.logWarning(`Token keys were not loaded. ${error.message}`)),
    ),
  )

  const current = Effect.gen(function* () {
    if ((yield* Clock.currentTimeMillis) - loadedAt >= MAX_AGE) yield* refresh
    return keys ?? (yield* new TokenKeysUnavailable())
  })

  const select = (set: NonNullable<typeof keys>, header: JWSHeaderParameters) =>
    Effect.tryPromise({
      try: () => set(header),
      catch: (error) =>
        error instanceof errors.JWKSNoMatchingKey
          ? ("unknown" as const)
          : error instanceof errors.JWKSInvalid
            ? new TokenKeysUnavailable()
            : new TokenRefused({ presented: true }),
    })

  yield* "file" in location ? load : refresh

  return {
    algorithms: ASYMMETRIC,
    keyFor: Effect.fnUntraced(function* (header) {
      const first = yield* current
      return yield* Effect.catchIf(
        select(first, header),
        (error) => error === "unknown",
        () =>
          refresh.pipe(
            Effect.andThen(current),
            Effect.flatMap((second) => select(second, header)),
            Effect.mapError((error) => (error === "unknown" ? new TokenRefused({ presented: true }) : error)),
          ),
      )
    }),
  } satisfies TokenKeys
})
