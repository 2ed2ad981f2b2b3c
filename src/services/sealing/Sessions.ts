/**
 * Sessions of the sealed proxy (sealed protocol §3, §4.2): each a fresh key, offered under a signed statement,
 * that lives for a time and a number of requests. Keys are destroyed on expiry, when the requests are spent, on
 * eviction and at shutdown. What was claimed is remembered until the session would have expired, however it ended: so a
 * copy of a request that was served is known as one for as long as anybody could take the session for alive.
 */
import { Clock, Context, Duration, Effect, Layer, Schema } from "effect"
import { type Bytes, encodeBase64Url, utf8 } from "../../domain/bytes/bytes.ts"
import { routingTagBytes } from "../../domain/protocol/routingTag.ts"
import type { SessionLimits } from "../../domain/protocol/statement.ts"
import type { Suite } from "../../domain/protocol/suites.ts"
import { SESSION_ID_BYTES } from "../../domain/protocol/transcript.ts"
import { momentOf } from "../moments.ts"
import { Attestation } from "./Attestation.ts"
import { FairRoom } from "./FairRoom.ts"
import { KeyVault } from "./KeyVault.ts"
import { RandomBytes } from "./RandomBytes.ts"
import { type RecipientKey, recipientKey } from "./recipientKeys.ts"
import { type SessionEnd, sessionsCreated, sessionsEnded, sessionsLive } from "./SealingMetrics.ts"
import { sha256, sha256Key } from "./sha256.ts"

export interface SessionSettings {
  readonly ttl: Duration.Duration
  /** How many requests one session serves. */
  readonly maxRequests: number
  /** How many sessions live at once; one more evicts the oldest of those that never served a caller, or else the oldest. */
  readonly maxLive: number
  /** How many claims are kept at once. */
  readonly maxClaims: number
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

/** A session, or what is remembered of one that ended. */
interface KnownSession extends Session {
  /** Requests claimed so far, by their {@link claimKey}, each with the source that it counts for, if any. */
  readonly claimed: Map<string, string | undefined>
  /** When it ends at the latest, by a clock that nobody sets back. */
  readonly endsAt: number
}

/** Unknown, expired, spent or evicted. All are reported alike, so that a stranger learns nothing. */
export class SessionGone extends Schema.TaggedError<SessionGone>()("SessionGone", {}) {}

/** This `enc` was served in this session before. */
export class Replayed extends Schema.TaggedError<Replayed>()("Replayed", {}) {}

/** No further request can be remembered, so none is served. */
export class ClaimsFull extends Schema.TaggedError<ClaimsFull>()("ClaimsFull", {}) {}

/** By what a session remembers a request: `enc` may be long. */
export const claimKey = (enc: Bytes): string => sha256Key(enc)

/** What a client asked for when it began a session. */
interface SessionRequest {
  readonly suite: Suite
  /** SHA-256 of the body in which it asked, in base64url: signed, so that nobody can have changed what it offered. */
  readonly initHash: string
}

export class Sessions extends Context.Service<
  Sessions,
  {
    /** Begins a session, and gives the statement that offers it. */
    readonly begin: (request: SessionRequest) => Effect.Effect<string>
    /** The live session with this id, unless the request was claimed already, or could not be: `source` has a share of claims. */
    readonly find: (
      id: string,
      request: string,
      source: string,
    ) => Effect.Effect<Session, SessionGone | Replayed | ClaimsFull>
    /**
     * Takes the right to serve a request, which is known by its {@link claimKey}: of any number of concurrent copies, one
     * gets it. It uses up one request of the session, and the last one ends the session.
     */
    readonly claim: (
      session: Session,
      request: string,
      source: string,
    ) => Effect.Effect<Session, SessionGone | Replayed>
    /**
     * Notes that the sender of a claimed request may be served, so the session goes later when there are too many. If its
     * credential says who it is, the claim no longer counts for its source.
     */
    readonly admit: (session: Session, request: string, isKnown: boolean) => void
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

  // All sessions last equally long, so the order of insertion is the order of expiry in each of these: by the time of day too,
  // unless that was set back.
  /** Live sessions, and those that ended and served something. */
  const known = new Map<string, KnownSession>()
  const live = new Map<string, Session>()
  /** Live ones that never served a caller: they go first when there are too many. */
  const idle = new Map<string, Session>()
  const claims = new FairRoom(settings.maxClaims)

  // The functions below are synchronous on purpose: a fiber can be suspended between any two effects, and then a
  // check and the record that follows it would not be one step.
  const end = (session: KnownSession | Session, reason: SessionEnd): void => {
    if (!live.delete(session.id)) return
    idle.delete(session.id)
    session.key.destroy()
    if (known.get(session.id)?.claimed.size === 0) known.delete(session.id)
    sessionsEnded[reason].updateUnsafe(1, context)
    sessionsLive.updateUnsafe(live.size, context)
  }

  const isOver = (session: KnownSession, clock: Clock.Clock): boolean =>
    session.expiresAt <= clock.currentTimeMillisUnsafe() || session.endsAt <= momentOf(clock)

  const forget = (session: KnownSession): void => {
    end(session, "expired")
    if (known.delete(session.id)) for (const source of session.claimed.values()) claims.giveBack(source)
  }

  const expire = (clock: Clock.Clock): void => {
    for (const session of known.values()) {
      if (!isOver(session, clock)) return
      forget(session)
    }
  }

  const makeRoom = (): void => {
    while (live.size >= settings.maxLive) {
      const [oldest] = idle.size > 0 ? idle.values() : live.values()
      if (oldest === undefined) return
      end(oldest, "evicted")
    }
  }

  const lookup = (id: string, request: string, clock: Clock.Clock): KnownSession | SessionGone | Replayed => {
    expire(clock)
    const session = known.get(id)
    if (session === undefined) return new SessionGone()
    if (isOver(session, clock)) {
      forget(session)
      return new SessionGone()
    }
    if (session.claimed.has(request)) return new Replayed()
    return live.has(id) ? session : new SessionGone()
  }

  const claim = (
    id: string,
    request: string,
    source: string,
    clock: Clock.Clock,
  ): KnownSession | SessionGone | Replayed => {
    const session = lookup(id, request, clock)
    if ("_tag" in session) return session
    session.claimed.set(request, source)
    claims.take(source)
    if (session.claimed.size >= settings.maxRequests) end(session, "spent")
    return session
  }

  const orFail = <E extends { readonly _tag: string }>(found: KnownSession | E): Effect.Effect<Session, E> =>
    "_tag" in found ? Effect.fail(found) : Effect.succeed(found)

  yield* Effect.addFinalizer(() => Effect.sync(() => live.forEach((session) => end(session, "shutdown"))))
  yield* Clock.clockWith((clock) => Effect.sync(() => expire(clock))).pipe(
    Effect.delay(PRUNE_INTERVAL),
    Effect.forever,
    Effect.forkScoped,
  )

  return Sessions.of({
    begin: ({ initHash, suite }) =>
      Effect.map(Clock.Clock, (clock) => {
        const now = clock.currentTimeMillisUnsafe()
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
        makeRoom()
        const session: KnownSession = {
          id,
          idBytes,
          key,
          // A copy lies in the heap, where its bytes have no buffer of their own, which would take more than they.
          attestationHash: sha256(utf8(statement)).slice(),
          begunAt: now,
          expiresAt: expiresAt * 1000,
          claimed: new Map(),
          endsAt: momentOf(clock) + ttl,
        }
        for (const sessions of [known, live, idle]) sessions.set(id, session)
        sessionsCreated.updateUnsafe(1, context)
        sessionsLive.updateUnsafe(live.size, context)
        return statement
      }),
    find: (id, request, source) =>
      Clock.clockWith((clock) => {
        const found = lookup(id, request, clock)
        return orFail("_tag" in found || claims.has(source) ? found : new ClaimsFull())
      }),
    claim: (session, request, source) => Clock.clockWith((clock) => orFail(claim(session.id, request, source, clock))),
    admit: ({ id }, request, isKnown) => {
      idle.delete(id)
      const claimed = known.get(id)?.claimed
      const source = claimed?.get(request)
      if (!isKnown || claimed === undefined || source === undefined) return
      claimed.set(request, undefined)
      claims.disown(source)
    },
    live: Effect.sync(() => live.size),
  })
})
