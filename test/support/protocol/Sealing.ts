/** The product's sealing services with fixed keys where a test wants them, and a reference client that talks to them. */
import { createHash } from "node:crypto"
import { Cause, Clock, Duration, Effect, Fiber, Layer, type Pull, Stream } from "effect"
import type { Bytes } from "../../../src/domain/bytes/bytes.ts"
import { parseStatement } from "../../../src/domain/protocol/statement.ts"
import { type Suite, type SuiteId, X25519 } from "../../../src/domain/protocol/suites.ts"
import type { Form } from "../../../src/domain/protocol/transcript.ts"
import { Drain } from "../../../src/services/lifecycle/Drain.ts"
import { Answering } from "../../../src/services/sealing/Answering.ts"
import { Attestation } from "../../../src/services/sealing/Attestation.ts"
import { KeyVault } from "../../../src/services/sealing/KeyVault.ts"
import { plainStorage } from "../../../src/services/sealing/PlainStorage.ts"
import { RandomBytes } from "../../../src/services/sealing/RandomBytes.ts"
import { Callers } from "../../../src/services/access/Callers.ts"
import { RequestIds } from "../../../src/services/sealing/RequestIds.ts"
import { SealedCompletions, type SealedReply } from "../../../src/services/sealing/SealedCompletions.ts"
import type { SealedEvent } from "../../../src/services/sealing/StreamFrames.ts"
import { type Envelope, type Opened, RequestOpener } from "../../../src/services/sealing/RequestOpener.ts"
import { ResponseSealer } from "../../../src/services/sealing/ResponseSealer.ts"
import { Sessions, type SessionSettings } from "../../../src/services/sealing/Sessions.ts"
import * as reference from "./reference.ts"

export const SEED = Buffer.alloc(32, 0x11)
export const MAX_REQUEST_BYTES = 64 * 1024

interface SealingOptions {
  readonly seed?: Uint8Array
  readonly sessions?: Partial<SessionSettings>
  readonly vault?: Layer.Layer<KeyVault>
  readonly attestation?: Layer.Layer<Attestation, never, KeyVault>
  readonly random?: (size: number) => Bytes
  readonly grace?: Duration.Duration
}

/** A request that was opened in a session of nobody, with fixed keys for its response. */
export const openedOf = (payload: Bytes): Opened => {
  const request = { credential: new Uint8Array(), payload }
  const bytes32 = () => new Uint8Array(32).fill(1)
  const sealer = new ResponseSealer({
    secret: bytes32(),
    enc: bytes32(),
    responseNonce: bytes32(),
    requestHash: bytes32(),
    request,
  })
  const nothing = () => undefined
  return { sessionId: "", receivedAt: 0, request, forget: nothing, noteAccepted: nothing, sealer }
}

export const layerIdentity = (seed: Uint8Array = SEED) =>
  Attestation.layerFromSeed(Effect.sync(() => new Uint8Array(seed)))

/** Everything from the key vault to `SealedCompletions`. */
export const layerSealing = (options: SealingOptions = {}) => {
  const services = SealedCompletions.layer.pipe(
    Layer.provide(Answering.layerUpstream),
    Layer.provide(Callers.layerOpen),
    Layer.provideMerge(RequestOpener.layer({ maxRequestBytes: MAX_REQUEST_BYTES })),
    Layer.provideMerge(RequestIds.layer({ sessionTtl: Duration.minutes(5), max: 1_000_000 })),
    Layer.provideMerge(
      Sessions.layer({
        ttl: Duration.minutes(5),
        maxRequests: 256,
        maxLive: 1000,
        maxClaims: 1_000_000,
        maxRequestBytes: MAX_REQUEST_BYTES,
        ...options.sessions,
      }),
    ),
    Layer.provideMerge(options.attestation ?? layerIdentity(options.seed)),
    Layer.provideMerge(options.vault ?? KeyVault.layerPlain),
    Layer.provideMerge(Drain.layer({ grace: options.grace ?? Duration.seconds(20) })),
  )
  return options.random === undefined
    ? services
    : services.pipe(Layer.provide(Layer.succeed(RandomBytes, options.random)))
}

/** Gives out the given byte strings, one per call. */
export const fixedRandom = (...values: ReadonlyArray<Uint8Array>): ((size: number) => Bytes) => {
  const left = [...values]
  return (size) => {
    const next = left.shift()
    if (next?.length !== size) throw new Error(`the test has no ${size} random bytes at this point`)
    return new Uint8Array(next)
  }
}

/** A vault whose one session key is the given one: of X25519, or the seed of X-Wing. */
export const layerFixedKey = (suite: Suite, secret: Uint8Array) =>
  Layer.sync(KeyVault, () => {
    const storage = plainStorage()
    const key = suite === X25519 ? secret : createHash("shake256", { outputLength: 96 }).update(secret).digest()
    return KeyVault.of({ ...storage, hold: (length) => storage.hold(length, new Uint8Array(key)) })
  })

/** The claims of an offered session, and the statement that makes them. */
export interface Offer {
  readonly attestation: string
  readonly session_id: string
  readonly public_key: string
  readonly suite: SuiteId
  readonly expires_at: number
  readonly max_requests: number
}

export const offerOf = (attestation: string): Offer => ({
  // Statements of the product's own hold these claims, which other tests look at.
  ...(parseStatement(attestation)?.claims as Omit<Offer, "attestation">),
  attestation,
})

/** Begins a session, with X25519 unless another suite is given. */
export const beginSession = (suite: Suite = X25519) =>
  Effect.flatMap(Sessions, (sessions) => Effect.map(sessions.begin({ suite, initHash: "hash" }), offerOf))

/** A request that the reference client sealed, with what is needed to open its answer. */
export interface ReferenceRequest {
  readonly envelope: Envelope & { readonly enc: string; readonly ciphertext: string }
  readonly payload: Buffer
  readonly requestHash: Buffer
  readonly secret: Buffer
  readonly enc: Buffer
}

export const sealPayload = async (
  offer: Offer,
  payload: Buffer,
  change: (block: Buffer) => Buffer = (block) => block,
  credential = "",
): Promise<ReferenceRequest> => {
  const { ciphertext, enc, secret } = await reference.hpkeSeal(
    reference.fromB64u(offer.public_key),
    {
      suite: reference.suiteNamed(offer.suite) ?? "X25519",
      info: reference.requestInfo(offer.attestation),
      aad: reference.requestAad(reference.fromB64u(offer.session_id)),
    },
    change(reference.block(reference.content(credential, payload), reference.FLOOR)),
  )
  return {
    envelope: {
      session_id: offer.session_id,
      enc: reference.b64u(enc),
      ciphertext: reference.b64u(ciphertext),
    },
    payload,
    requestHash: reference.requestHash(offer.attestation, enc, ciphertext),
    secret,
    enc,
  }
}

let requests = 0
/** A well-formed request at the current time; a stream of it waits for no clock, unless `more` has a pace. */
export const sealChat = Effect.fnUntraced(function* (offer: Offer, completion: object, more: object = {}) {
  const issuedAt = yield* Clock.currentTimeMillis
  const id = `00000000-0000-4000-8000-${String(++requests).padStart(12, "0")}`
  const payload = { request_id: id, issued_at: issuedAt, pace: 0, api: "chat.completions", body: completion, ...more }
  return yield* Effect.promise(() => sealPayload(offer, reference.text(JSON.stringify(payload))))
})

interface OpenedAnswer {
  readonly sizes: ReadonlyArray<number>
  readonly payloads: ReadonlyArray<Record<string, unknown>>
  readonly proof: string | undefined
}

/** Opens an answer with the reference. Throws unless everything authenticates. */
export const openAnswer = (request: ReferenceRequest, answer: Collected): OpenedAnswer => {
  const keys = reference.responseKeys(request.secret, request.enc, answer.responseNonce)
  const payloads = answer.frames.map((ciphertext, index) => {
    const final = index === answer.frames.length - 1
    const aad = reference.frameAad(answer.form, index, final, request.requestHash)
    const block = reference.aesOpen(keys.key, reference.frameNonce(keys.baseNonce, index), aad, ciphertext)
    const payload: unknown = JSON.parse(reference.unblock(block).toString("utf8"))
    // Payloads are JSON objects, or `null`; reading a member of that fails the test that does.
    return payload as Record<string, unknown>
  })
  return { sizes: answer.frames.map((frame) => frame.length), payloads, proof: answer.proof }
}

interface Collected {
  readonly form: Form
  readonly responseNonce: Bytes
  readonly frames: ReadonlyArray<Buffer>
  readonly proof: string | undefined
}

export const collectEvents = (events: ReadonlyArray<SealedEvent>) => ({
  frames: events.flatMap((event) => (event._tag === "Frame" ? [Buffer.from(event.ciphertext)] : [])),
  proof: events.flatMap((event) => (event._tag === "Proof" ? [event.proof] : []))[0],
})

/** The events of a stream, each of which is sealed when it is pulled and not before. */
export const eventsOf = ({ begin }: Extract<SealedReply, { readonly _tag: "Stream" }>): Stream.Stream<SealedEvent> =>
  Stream.unwrap(
    Effect.gen(function* () {
      const written: Array<SealedEvent> = []
      let last: Effect.Effect<never, Cause.Done> | undefined
      let waiting: (() => void) | undefined
      const tell = () => {
        const wake = waiting
        waiting = undefined
        wake?.()
      }
      const close = (how: Effect.Effect<never, Cause.Done>) => {
        last ??= how
        tell()
      }
      const goOn = yield* begin({
        isReady: () => waiting !== undefined,
        write: (events) => {
          written.push(...events)
          tell()
        },
        end: () => close(Cause.done()),
        fail: (defect) => close(Effect.die(defect)),
      })
      const pull: Pull.Pull<readonly [SealedEvent]> = Effect.callback((resume) => {
        const next = () => {
          const [event] = written.splice(0, 1)
          if (event !== undefined) return resume(Effect.succeed([event]))
          if (last !== undefined) return resume(last)
          waiting = next
        }
        next()
        if (waiting !== undefined) goOn()
        return Effect.sync(() => {
          waiting = undefined
        })
      })
      return Stream.fromPull(Effect.succeed(pull))
    }),
  )

/** Reads an answer of `SealedCompletions` to its end. */
export const collect = Effect.fnUntraced(function* (answer: SealedReply) {
  const { responseNonce } = answer
  const collected: Collected =
    answer._tag === "Stream"
      ? { form: "stream", responseNonce, ...collectEvents(yield* Stream.runCollect(eventsOf(answer))) }
      : {
          form: "complete",
          responseNonce,
          frames: (yield* Fiber.join(answer.frames)).map((frame) => Buffer.from(frame)),
          proof: undefined,
        }
  return collected
})

/** Serves one chat request and opens the answer. */
export const exchange = Effect.fnUntraced(function* (offer: Offer, completion: object, more: object = {}) {
  const completions = yield* SealedCompletions
  const request = yield* sealChat(offer, completion, more)
  const collected = yield* Effect.flatMap(completions.handle(request.envelope), collect)
  return { request, collected, ...openAnswer(request, collected) }
}, Effect.scoped)
