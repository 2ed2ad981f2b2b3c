/** Sessions of a proxy and their claims. All methods are synchronous, so a check and its write are atomic. */
import { type Clock, type Context, Schema } from "effect"
import type { Bytes } from "../../domain/bytes/bytes.ts"
import { momentOf } from "../moments.ts"
import { FairRoom } from "./FairRoom.ts"
import type { RecipientKey } from "./recipientKeys.ts"
import type { SessionEnd } from "../metrics.ts"
import { sessionsCreated, sessionsEnded, sessionsLive } from "./SealingMetrics.ts"
import { sha256Key } from "./sha256.ts"

export interface Session {
  readonly id: string
  readonly idBytes: Bytes
  readonly key: RecipientKey
  /** SHA-256 of the ASCII bytes of the attestation statement. */
  readonly attestationHash: Bytes
  /** Milliseconds since the epoch. */
  readonly begunAt: number
  readonly expiresAt: number
  /** Moment (see `moments.ts`) at which it ends at the latest, even if the time of day was set back. */
  readonly endsAt: number
}

/** A live session, or the claims of one that ended. */
interface KnownSession extends Session {
  /** Source of each claimed request, by {@link claimKey}; `undefined` once the claim counts for no source. */
  readonly claimed: Map<string, string | undefined>
}

/** Unknown, expired, spent or evicted: all reported alike, so that a stranger learns nothing. */
export class SessionGone extends Schema.TaggedError<SessionGone>()("SessionGone", {}) {}

/** This `enc` was served in this session before. */
export class Replayed extends Schema.TaggedError<Replayed>()("Replayed", {}) {}

/** The claim could not be remembered, so the request is not served. */
export class ClaimsFull extends Schema.TaggedError<ClaimsFull>()("ClaimsFull", {}) {}

/** The key by which a session remembers a request: a hash, because `enc` may be long. */
export const claimKey = (enc: Bytes): string => sha256Key(enc)

export interface SessionTableLimits {
  readonly maxRequests: number
  /** Live sessions; one more evicts the oldest of those that never served a caller, or else the oldest. */
  readonly maxLive: number
  readonly maxClaims: number
}

export class SessionTable {
  private readonly limits: SessionTableLimits
  private readonly context: Context.Context<never>
  private readonly claims: FairRoom
  // All sessions last equally long, so each map is sorted by expiry (unless the time of day was set back).
  /** Live sessions, and ended ones that have claims. */
  private readonly known = new Map<string, KnownSession>()
  private readonly live = new Map<string, Session>()
  /** Live sessions that never served a caller: the first to be evicted. */
  private readonly idle = new Map<string, Session>()

  constructor(limits: SessionTableLimits, context: Context.Context<never>) {
    this.limits = limits
    this.context = context
    this.claims = new FairRoom(limits.maxClaims)
  }

  get size(): number {
    return this.live.size
  }

  /** Adds a live session, and evicts others if there are too many. */
  add(session: Session): void {
    while (this.live.size >= this.limits.maxLive) {
      const [oldest] = this.idle.size > 0 ? this.idle.values() : this.live.values()
      if (oldest === undefined) break
      this.end(oldest, "evicted")
    }
    const known: KnownSession = { ...session, claimed: new Map() }
    for (const sessions of [this.known, this.live, this.idle]) sessions.set(session.id, known)
    sessionsCreated.updateUnsafe(1, this.context)
    sessionsLive.updateUnsafe(this.live.size, this.context)
  }

  /** The live session with this id, unless the request was claimed before or there is no room for its claim. */
  find(id: string, request: string, source: string, clock: Clock.Clock): Session | SessionGone | Replayed | ClaimsFull {
    const found = this.lookup(id, request, clock)
    return "_tag" in found || this.claims.has(source) ? found : new ClaimsFull()
  }

  /** Claims a request once, and ends the session with its last request. */
  claim(id: string, request: string, source: string, clock: Clock.Clock): Session | SessionGone | Replayed {
    const session = this.lookup(id, request, clock)
    if ("_tag" in session) return session
    session.claimed.set(request, source)
    this.claims.take(source)
    if (session.claimed.size >= this.limits.maxRequests) this.end(session, "spent")
    return session
  }

  /** Notes that the session served a caller. The claim of a known caller no longer counts for its source. */
  noteAccepted(id: string, request: string, isKnown: boolean): void {
    this.idle.delete(id)
    const claimed = this.known.get(id)?.claimed
    const source = claimed?.get(request)
    if (!isKnown || claimed === undefined || source === undefined) return
    claimed.set(request, undefined)
    this.claims.disown(source)
  }

  /** Ends the sessions whose time is over, and forgets their claims. */
  expire(clock: Clock.Clock): void {
    for (const session of this.known.values()) {
      if (!isOver(session, clock)) return
      this.forget(session)
    }
  }

  endAll(): void {
    for (const session of this.live.values()) this.end(session, "shutdown")
  }

  private lookup(id: string, request: string, clock: Clock.Clock): KnownSession | SessionGone | Replayed {
    this.expire(clock)
    const session = this.known.get(id)
    if (session === undefined) return new SessionGone()
    if (isOver(session, clock)) {
      this.forget(session)
      return new SessionGone()
    }
    if (session.claimed.has(request)) return new Replayed()
    return this.live.has(id) ? session : new SessionGone()
  }

  private end(session: Session, reason: SessionEnd): void {
    if (!this.live.delete(session.id)) return
    this.idle.delete(session.id)
    session.key.destroy()
    if (this.known.get(session.id)?.claimed.size === 0) this.known.delete(session.id)
    sessionsEnded(reason).updateUnsafe(1, this.context)
    sessionsLive.updateUnsafe(this.live.size, this.context)
  }

  private forget(session: KnownSession): void {
    this.end(session, "expired")
    if (!this.known.delete(session.id)) return
    for (const source of session.claimed.values()) this.claims.giveBack(source)
  }
}

const isOver = (session: Session, clock: Clock.Clock): boolean =>
  session.expiresAt <= clock.currentTimeMillisUnsafe() || session.endsAt <= momentOf(clock)
