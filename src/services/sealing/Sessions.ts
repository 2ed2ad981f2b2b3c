/**
 * Sessions of the sealed proxy (sealed protocol §3, §4.2): each has a fresh key, offered under a signed statement, and ends
 * after a time or a number of requests. Keys are destroyed on expiry, when the requests are spent, on eviction and at
 * shutdown. Claims are kept until the session would have expired, even if it ended earlier, to recognize replays.
 */
import { Clock, Context, Duration, Effect, Layer } from "effect"
import { encodeBase64Url, utf8 } from "../../domain/bytes/bytes.ts"
import { withoutUndefined } from "../../domain/json/withoutUndefined.ts"
import { routingTagBytes } from "../../domain/protocol/routingTag.ts"
import type { Suite } from "../../domain/protocol/suites.ts"
import { SESSION_ID_BYTES } from "../../domain/protocol/transcript.ts"
import { momentOf } from "../moments.ts"
import { Attestation } from "./Attestation.ts"
import { KeyVault } from "./KeyVault.ts"
import { RandomBytes } from "./RandomBytes.ts"
import { recipientKey } from "./recipientKeys.ts"
import {
  type ClaimsFull,
  type Replayed,
  type Session,
  type SessionGone,
  type SessionTableLimits,
  SessionTable,
} from "./SessionTable.ts"
import { sha256 } from "./sha256.ts"

export interface SessionSettings extends SessionTableLimits {
  readonly ttl: Duration.Duration
  readonly maxRequestBytes: number
  /** First bytes of the ids of this process's sessions, by which a balancer routes their requests. */
  readonly routingTag?: string | undefined
  /** base64url SHA-256 of the configuration that evidence covers; only with evidence mode. */
  readonly configuration?: string | undefined
}

/** How often the keys of expired sessions are destroyed. Their requests are refused at once. */
const PRUNE_INTERVAL = Duration.seconds(1)

interface SessionRequest {
  readonly suite: Suite
  /** base64url SHA-256 of the client's request for a session. It is signed, so that nobody can change what was offered. */
  readonly initHash: string
}

export class Sessions extends Context.Service<
  Sessions,
  {
    /** Begins a session and returns the statement that offers it. */
    readonly begin: (request: SessionRequest) => Effect.Effect<string>
    /** Returns the live session with this id; fails if the request was claimed or `source` used up its share of claims. */
    readonly find: (
      id: string,
      request: string,
      source: string,
    ) => Effect.Effect<Session, SessionGone | Replayed | ClaimsFull>
    /** Claims a request by its `claimKey`: of concurrent copies, one succeeds. The session's last request ends it. */
    readonly claim: (
      session: Session,
      request: string,
      source: string,
    ) => Effect.Effect<Session, SessionGone | Replayed>
    /**
     * Notes that the credential of a claimed request was accepted, so that the session is evicted later than unused ones.
     * If the credential identifies the caller (`isKnown`), the claim no longer counts for its source.
     */
    readonly noteAccepted: (session: Session, request: string, isKnown: boolean) => void
    readonly live: Effect.Effect<number>
  }
>()("sealgate/services/sealing/Sessions") {
  static readonly layer = (settings: SessionSettings): Layer.Layer<Sessions, never, KeyVault | Attestation> =>
    Layer.effect(Sessions, make(settings))
}

const orFail = <E extends { readonly _tag: string }>(found: Session | E): Effect.Effect<Session, E> =>
  "_tag" in found ? Effect.fail(found) : Effect.succeed(found)

const make = Effect.fnUntraced(function* (settings: SessionSettings) {
  const beginSession = yield* makeBeginSession(settings)
  const table = new SessionTable(settings, yield* Effect.context<never>())
  yield* Effect.addFinalizer(() => Effect.sync(() => table.endAll()))
  yield* Clock.clockWith((clock) => Effect.sync(() => table.expire(clock))).pipe(
    Effect.delay(PRUNE_INTERVAL),
    Effect.forever,
    Effect.forkScoped,
  )
  return Sessions.of({
    begin: (request) =>
      Clock.clockWith((clock) => {
        const { session, statement } = beginSession(request, clock)
        table.add(session)
        return Effect.succeed(statement)
      }),
    find: (id, request, source) => Clock.clockWith((clock) => orFail(table.find(id, request, source, clock))),
    claim: ({ id }, request, source) => Clock.clockWith((clock) => orFail(table.claim(id, request, source, clock))),
    noteAccepted: ({ id }, request, isKnown) => table.noteAccepted(id, request, isKnown),
    live: Effect.sync(() => table.size),
  })
})

const makeBeginSession = Effect.fnUntraced(function* (settings: SessionSettings) {
  const vault = yield* KeyVault
  const attestation = yield* Attestation
  const randomBytes = yield* RandomBytes
  const ttl = Duration.toMillis(settings.ttl)
  const tag = settings.routingTag === undefined ? undefined : routingTagBytes(settings.routingTag)

  return ({ initHash, suite }: SessionRequest, clock: Clock.Clock) => {
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
      max_requests: settings.maxRequests,
      max_request_bytes: settings.maxRequestBytes,
      init_hash: initHash,
      ...withoutUndefined({ configuration: settings.configuration }),
    })
    const session: Session = {
      id,
      idBytes,
      key,
      // The copy lies in the heap: a buffer for each hash would take more memory than the hash.
      attestationHash: sha256(utf8(statement)).slice(),
      begunAt: now,
      expiresAt: expiresAt * 1000,
      endsAt: momentOf(clock) + ttl,
    }
    return { session, statement }
  }
})
