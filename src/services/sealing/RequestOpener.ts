/** Opens sealed requests: everything from the envelope to the plaintext (sealed protocol §4.1 to §4.3). */
import { Clock, Context, Effect, Layer, Metric, Schema, Scope } from "effect"
import { type Bytes, decodeBase64Url } from "../../domain/bytes/bytes.ts"
import { releaseBytes } from "../../domain/bytes/releaseBytes.ts"
import { FLOOR, unpad } from "../../domain/protocol/padding.ts"
import { type SealedContent, splitContent } from "../../domain/protocol/sealedContent.ts"
import {
  requestAad,
  requestInfo,
  requestTranscript,
  RESPONSE_NONCE_BYTES,
  responseExportContext,
} from "../../domain/protocol/transcript.ts"
import { Source } from "../access/Callers.ts"
import { Drain } from "../lifecycle/Drain.ts"
import { hpkeOpen, type OpenOutput } from "./Hpke.ts"
import { RandomBytes } from "./RandomBytes.ts"
import { RequestIds } from "./RequestIds.ts"
import { ResponseSealer } from "./ResponseSealer.ts"
import { openingsFailed } from "./SealingMetrics.ts"
import { Sessions } from "./Sessions.ts"
import { claimKey, ClaimsFull, type Replayed, type Session, type SessionGone } from "./SessionTable.ts"
import { sha256 } from "./sha256.ts"

/** An unopened request. Its members are base64url or decoded; the memory of the ciphertext is released after opening. */
export interface Envelope {
  readonly session_id: string
  readonly enc: string | Bytes
  readonly ciphertext: string | Bytes
}

const decoded = (member: string | Bytes): Bytes | undefined =>
  typeof member === "string" ? decodeBase64Url(member) : member

/** The request cannot be decrypted or its block is malformed: one error for all causes. */
class Unopenable extends Schema.TaggedError<Unopenable>()("Unopenable", {}) {}

class CiphertextTooLarge extends Schema.TaggedError<CiphertextTooLarge>()("CiphertextTooLarge", {
  maxBytes: Schema.Int,
}) {}

class ShuttingDown extends Schema.TaggedError<ShuttingDown>()("ShuttingDown", {}) {}

export type OpeningError = SessionGone | Replayed | ClaimsFull | ShuttingDown | Unopenable | CiphertextTooLarge

export interface Opened {
  readonly sessionId: string
  /** Milliseconds since the epoch, never before the session began, even if the clock was set back. */
  readonly receivedAt: number
  /** Overwritten when the scope closes, or by {@link Opened.forget}. */
  readonly request: SealedContent
  /** Overwrites the request and releases its memory. */
  readonly forget: () => void
  /** Notes that the credential was accepted. `isKnown`: it identifies the caller. */
  readonly noteAccepted: (isKnown: boolean) => void
  /** Seals the response; its keys are overwritten when the scope closes. */
  readonly sealer: ResponseSealer
}

export class RequestOpener extends Context.Service<
  RequestOpener,
  {
    /** Checks, opens and claims one request, in this order: size, not claimed, session, room, drain, HPKE, block, claim. */
    readonly open: (envelope: Envelope) => Effect.Effect<Opened, OpeningError, Scope.Scope>
  }
>()("sealgate/services/sealing/RequestOpener") {
  static readonly layer = (settings: {
    readonly maxRequestBytes: number
  }): Layer.Layer<RequestOpener, never, Sessions | RequestIds | Drain> =>
    Layer.effect(RequestOpener, make(settings.maxRequestBytes))
}

const make = Effect.fnUntraced(function* (maxRequestBytes: number) {
  const sessions = yield* Sessions
  const requestIds = yield* RequestIds
  const drain = yield* Drain
  const randomBytes = yield* RandomBytes

  const open = Effect.fnUntraced(function* (envelope: Envelope) {
    const receivedAt = yield* Clock.currentTimeMillis
    const enc = decoded(envelope.enc)
    const ciphertext = decoded(envelope.ciphertext)
    if (enc === undefined || ciphertext === undefined) return yield* new Unopenable()
    if (ciphertext.length > maxRequestBytes) return yield* new CiphertextTooLarge({ maxBytes: maxRequestBytes })
    const claim = claimKey(enc)
    const source = yield* Source
    const checkSession = sessions.find(envelope.session_id, claim, source)
    const session = yield* checkSession
    if (!(yield* requestIds.hasRoom(source))) return yield* new ClaimsFull()
    if (yield* drain.draining) return yield* new ShuttingDown()

    const held: Held = {}
    // Added before any secret exists. `acquireRelease` would copy the whole context.
    yield* Scope.addFinalizer(yield* Effect.scope, overwrite(held))
    let opened: OpenOutput
    try {
      opened = hpkeOpen({
        key: session.key,
        enc,
        info: requestInfo(session.attestationHash),
        aad: requestAad(session.idBytes),
        ciphertext,
        exportContext: responseExportContext,
      })
    } catch {
      // If the session has ended, `SessionGone` is reported, so that the client begins a new one.
      yield* checkSession
      return yield* new Unopenable()
    }
    held.opened = opened
    const content = unpad(opened.plaintext, FLOOR)
    const request = content === undefined ? undefined : splitContent(content)
    if (request === undefined) return yield* new Unopenable()
    yield* sessions.claim(session, claim, source)

    const sealer = new ResponseSealer({
      secret: opened.secret,
      enc,
      responseNonce: randomBytes(RESPONSE_NONCE_BYTES),
      requestHash: sha256(requestTranscript(session.attestationHash, enc, sha256(ciphertext))),
      request,
    })
    held.sealer = sealer
    releaseBytes(ciphertext)
    return {
      sessionId: session.id,
      receivedAt: Math.max(receivedAt, session.begunAt),
      request,
      forget: makeForget(held),
      noteAccepted: makeNoteAccepted(sessions, session, claim),
      sealer,
    }
  })

  return RequestOpener.of({
    open: (envelope) =>
      Effect.tapError(open(envelope), (error) => Metric.update(openingsFailed(METRIC_REASON[error._tag]), 1)),
  })
})

/** Secrets to overwrite when a request's scope closes. */
interface Held {
  opened?: OpenOutput
  sealer?: ResponseSealer
}

// At the top level: a closure inside `open` would keep the whole ciphertext alive.
const overwrite = (held: Held) =>
  Effect.sync(() => {
    held.sealer?.destroy()
    forget(held)
  })

const makeForget = (held: Held) => () => forget(held)

const forget = (held: Held): void => {
  const { opened } = held
  if (opened === undefined) return
  delete held.opened
  opened.secret.fill(0)
  releaseBytes(opened.plaintext.fill(0))
}

// At the top level for the same reason as `overwrite`.
const makeNoteAccepted =
  (sessions: Sessions["Service"], session: Session, claim: string): Opened["noteAccepted"] =>
  (isKnown) =>
    sessions.noteAccepted(session, claim, isKnown)

const METRIC_REASON = {
  SessionGone: "session-gone",
  Replayed: "replayed",
  ClaimsFull: "overloaded",
  ShuttingDown: "draining",
  Unopenable: "unopenable",
  CiphertextTooLarge: "too-large",
} as const
