/**
 * Sessions of the sealed proxy (sealed protocol §3, §4.2): each a fresh key, offered under a signed statement,
 * that lives for a time and a number of requests. Keys are destroyed on expiry, when the requests are spent, on
 * eviction and at shutdown; what a session remembers of its requests goes with it.
 */
import { Clock, Context, Duration, Effect, Layer, Schema } from "effect"
import { type Bytes, encodeBase64Url, utf8 } from "../../domain/bytes.ts"
import { routingTagBytes } from "../../domain/routingTag.ts"
import type { SessionLimits } from "../../domain/statement.ts"
import type { Suite } from "../../domain/suites.ts"
import { SESSION_ID_BYTES } from "../../domain/transcript.ts"
import { Attestation } from "./Attestation.ts"
import { KeyVault } from "./KeyVault.ts"
import { RandomBytes } from "./RandomBytes.ts"
import { type RecipientKey, recipientKey } from "./recipientKeys.ts"
import { type SessionEnd, sessionsCreated, sessionsEnded, sessionsLive } from "./SealingMetrics.ts"
import { sha256 } from "./sha256.ts"

export interface SessionSettings {
  readonly ttl: Duration.Duration
  /** How many requests one session serves. */
  readonly maxRequests: number
  /** How many sessions live at once; one more evicts the oldest. */
  readonly maxLive: number
  /** Longest ciphertext of a request, in bytes. */
  readonly maxRequestBytes: number
  /** What the ids of these sessions begin with, so that a balancer can send their requests here; else all random. */
  readonly routingTag?: string | undefined
}

/** How often expired sessions are looked for. They are refused at once in any case. */
const PRUNE_INTERVAL = Duration.seconds(1)

export interface Session {
  readonly id: string
  readonly idBytes: Bytes
  readonly key: RecipientKey
  /** SHA-256 of the ASCII bytes of the attestation statement. */
  readonly attestationHash: Bytes
  /** Milliseconds since the epoch. */
  readonly begunAt: number
  readonly expiresAt: number
}

interface LiveSession extends Session {
  /** Requests claimed so far, by their `enc`. It grows to at most `maxRequests - 1` before the session ends. */
  readonly claimed: Set<string>
}

/** Unknown, expired, spent or evicted: one answer, so that a stranger learns nothing from the difference. */
export class SessionGone extends Schema.TaggedError<SessionGone>()("SessionGone", {}) {}

/** This `enc` was served in this session before. */
export class Replayed extends Schema.TaggedError<Replayed>()("Replayed", {}) {}

/** What a client asked for when it began a session. */
export interface SessionRequest {
  readonly suite: Suite
  /** SHA-256 of the body in which it asked, in base64url: signed, so that nobody can have changed what it offered. */
  readonly initHash: string
}

export class Sessions extends Context.Service<
  Sessions,
  {
    /** Begins a session, and gives the statement that offers it. */
    readonly begin: (request: SessionRequest) => Effect.Effect<string>
    /** The live session with this id, unless it has served `enc` (base64url) already. */
    readonly find: (id: string, enc: string) => Effect.Effect<Session, SessionGone | Replayed>
    /**
     * Takes the right to serve `enc`: of any number of concurrent copies of a request, one gets it. It uses up one
     * request of the session, and the last one ends the session.
     */
    readonly claim: (session: Session, enc: string) => Effect.Effect<void, SessionGone | Replayed>
    readonly live: Effect.Effect<number>
  }
>()("sealgate/services/sealing/Sessions") {
  static readonly layer = (settings: SessionSettings): Layer.Layer<Sessions, never, KeyVault | Attestation> =>
    Layer.effect(Sessions, make(settings))
}

const make = Effect.fnUntraced(function* (settings: SessionSettings) {
  const vault = yield* KeyVault
  const attestation = yield* Attestation
  const randomBytes = yield* RandomBytes
  const context = yield* Effect.context<never>()
  const ttl = Duration.toMillis(settings.ttl)
  const tag = settings.routingTag === undefined ? undefined : routingTagBytes(settings.routingTag)
  const limits: SessionLimits = { max_requests: settings.maxRequests, max_request_bytes: settings.maxRequestBytes }

  // All sessions live equally long, so the order of insertion is the order of expiry.
  const sessions = new Map<string, LiveSession>()

  // The functions below are synchronous on purpose: a fiber can be suspended between any two effects, and then a
  // check and the record that follows it would not be one step.
  const end = (session: Session, reason: SessionEnd): void => {
    if (!sessions.delete(session.id)) return
    session.key.destroy()
    sessionsEnded[reason].updateUnsafe(1, context)
    sessionsLive.updateUnsafe(sessions.size, context)
  }

  const endWhile = (condition: (oldest: Session) => boolean, reason: SessionEnd): void => {
    for (const session of sessions.values()) {
      if (!condition(session)) return
      end(session, reason)
    }
  }

  const lookup = (id: string, enc: string, now: number): LiveSession | SessionGone | Replayed => {
    const session = sessions.get(id)
    if (session === undefined) return new SessionGone()
    if (session.expiresAt <= now) {
      end(session, "expired")
      return new SessionGone()
    }
    return session.claimed.has(enc) ? new Replayed() : session
  }

  const claim = (id: string, enc: string, now: number): LiveSession | SessionGone | Replayed => {
    const session = lookup(id, enc, now)
    if ("_tag" in session) return session
    session.claimed.add(enc)
    if (session.claimed.size >= settings.maxRequests) end(session, "spent")
    return session
  }

  const orFail = (found: LiveSession | SessionGone | Replayed): Effect.Effect<Session, SessionGone | Replayed> =>
    "_tag" in found ? Effect.fail(found) : Effect.succeed(found)

  yield* Effect.addFinalizer(() => Effect.sync(() => endWhile(() => true, "shutdown")))
  yield* Clock.currentTimeMillis.pipe(
    Effect.map((now) => endWhile((oldest) => oldest.expiresAt <= now, "expired")),
    Effect.delay(PRUNE_INTERVAL),
    Effect.forever,
    Effect.forkScoped,
  )

  return Sessions.of({
    begin: ({ initHash, suite }) =>
      Effect.map(Clock.currentTimeMillis, (now) => {
        const idBytes = randomBytes(SESSION_ID_BYTES)
        if (tag !== undefined) idBytes.set(tag)
        const id = encodeBase64Url(idBytes)
        const key = recipientKey(suite, vault)
        const expiresAt = Math.floor((now + ttl) / 1000)
        const statement = attestation.sign("session", {
          iat: Math.floor(now / 1000),
          session_id: id,
          public_key: encodeBase64Url(key.publicKey),
          suite: suite.id,
          expires_at: expiresAt,
          ...limits,
          init_hash: initHash,
        })
        endWhile(() => sessions.size >= settings.maxLive, "evicted")
        sessions.set(id, {
          id,
          idBytes,
          key,
          attestationHash: sha256(utf8(statement)),
          begunAt: now,
          expiresAt: expiresAt * 1000,
          claimed: new Set(),
        })
        sessionsCreated.updateUnsafe(1, context)
        sessionsLive.updateUnsafe(sessions.size, context)
        return statement
      }),
    find: (id, enc) => Effect.flatMap(Clock.currentTimeMillis, (now) => orFail(lookup(id, enc, now))),
    claim: (session, enc) =>
      Effect.flatMap(Clock.currentTimeMillis, (now) => Effect.asVoid(orFail(claim(session.id, enc, now)))),
    live: Effect.sync(() => sessions.size),
  })
})
