/** A sealed stream that verifies every part before it returns it. */
import type { JsonObject } from "../../domain/json/json.ts"
import type { ProofClaims, ReceiptClaims } from "../../domain/protocol/statement.ts"
import {
  AnswerIncomplete,
  SealedProblem,
  type SealgateError,
  StreamTruncated,
  Tampered,
  type VerifiedPrefix,
} from "../errors.ts"
import { deferred } from "../transport/deferred.ts"
import type { ResponseOpener, VerifiedEnd } from "./ResponseOpener.ts"
import type { ServerSentEvent } from "./serverSentEvents.ts"
import { frameOf, partsOf, proofOf, type StreamPart } from "./streamParts.ts"
import type { RevealedExchange } from "../verification/verify.ts"
import type { ProvenCode } from "../attestation/Policy.ts"
import { withoutUndefined } from "../../domain/json/withoutUndefined.ts"

/** How a stream ended, with receipt and terminal proof verified. */
export interface StreamEnd {
  readonly receipt: ReceiptClaims
  readonly proof: ProofClaims
  /** The signed statements, to be kept. */
  readonly statements: { readonly receipt: string; readonly proof: string }
  readonly evidence: RevealedExchange
  /** The code that served it, if the client has a policy. */
  readonly code?: ProvenCode
}

/** Joins the chunks of a stream. */
export interface Join<Chunk, End> {
  readonly add: (chunk: Chunk) => void
  readonly end: (verified: StreamEnd) => End
  /** The text of the answer so far. */
  readonly text: () => string
}

/**
 * Can be iterated once. A second iteration would take the rest for the whole answer, so it throws a `TypeError`. The
 * iteration ends only after final frame, receipt and proof were verified; otherwise it throws
 * `StreamTruncated`, `AnswerIncomplete`, `Tampered` or the signal's reason. `end` settles with it.
 */
export class SealedStream<Chunk extends JsonObject, End extends StreamEnd> implements AsyncIterable<StreamPart<Chunk>> {
  /** The verified end. Rejects with the error of the iteration. */
  readonly end: Promise<End>
  private readonly reading: Reading<Chunk, End>
  private readonly parts: AsyncGenerator<StreamPart<Chunk>>
  private taken = false

  constructor(open: OpenStream, join: () => Join<Chunk, End>, options: StreamOptions = {}) {
    const { promise, reject, resolve } = deferred<End>()
    // The iteration throws the same error, so callers need not handle a rejection of `end`.
    promise.catch(() => undefined)
    this.end = promise
    const reading = { open, joined: join() }
    this.reading = reading
    const parts = verifiedParts(reading, join, options, resolve, reject)
    this.parts = closing(parts, () => close(reading.open.events, reject))
  }

  [Symbol.asyncIterator](): AsyncGenerator<StreamPart<Chunk>> {
    if (this.taken) throw new TypeError("A sealed stream can be iterated only once; text() and end can be read again.")
    this.taken = true
    return this.parts
  }

  /** Reads the stream to its verified end and returns its text, of the first choice if there are several. */
  async text(): Promise<string> {
    this.taken = true
    for await (const _ of this.parts) continue
    await this.end
    return this.reading.joined.text()
  }
}

type Events = AsyncIterator<ServerSentEvent>

/** A stream that has been opened: its next event is its first frame. */
interface OpenStream {
  readonly opener: ResponseOpener
  readonly events: Events
}

/** State that a restart or a renewed stream replaces. */
interface Reading<Chunk, End> {
  open: OpenStream
  joined: Join<Chunk, End>
}

interface StreamOptions {
  readonly signal?: AbortSignal
  /** `false` if the request forbade restarts. */
  readonly restart?: boolean
  /** Returns a new stream in place of one that failed before its first part, if that may help. */
  readonly renew?: (error: SealgateError) => Promise<OpenStream> | undefined
}

/** Makes `return` also call `close`, because a generator that never started runs no `finally`. */
const closing = <Part>(parts: AsyncGenerator<Part>, close: () => Promise<void>): AsyncGenerator<Part> => {
  const leave = parts.return.bind(parts)
  parts.return = async (value) => {
    const left = await leave(value)
    await close()
    return left
  }
  return parts
}

/** Hangs up and rejects `end`. Does nothing after the verified end. */
const close = async (events: Events, reject: (error: unknown) => void): Promise<void> => {
  reject(new Tampered("The stream was not read to its end, so nothing about its end is known."))
  await events.return?.()
}

async function* verifiedParts<Chunk extends JsonObject, End extends StreamEnd>(
  reading: Reading<Chunk, End>,
  join: () => Join<Chunk, End>,
  { renew, restart, signal }: StreamOptions,
  resolve: (end: End) => void,
  reject: (error: unknown) => void,
): AsyncGenerator<StreamPart<Chunk>> {
  let chunks: Array<Chunk> = []
  let seq = 0
  let began = false
  let renewed = false
  try {
    for (;;) {
      const { events, opener } = reading.open
      const { data, final } = frameOf(await nextEvent(events, chunks, signal), seq)
      const payload = await opener.open(data, final)
      seq++
      if (!final) {
        for (const part of partsOf<Chunk>(payload)) {
          began = true
          if (part.type === "restart") {
            if (restart === false) throw new Tampered("The stream starts over although the request forbids it.")
            reading.joined = join()
            chunks = []
          } else {
            reading.joined.add(part.chunk)
            chunks.push(part.chunk)
          }
          yield part
        }
        continue
      }
      const end = await opener.end(payload)
      const statement = proofOf(await nextEvent(events, chunks, signal))
      const proof = await opener.prove(statement, end)
      if (!(await isOver(events))) throw new Tampered("The stream goes on after its proof.")
      if (end.status !== "complete") {
        const error = failureOf(end, began ? { chunks } : undefined)
        const other = renewed ? undefined : await renew?.(error)
        if (other === undefined) throw error
        reading.open = other
        renewed = true
        seq = 0
        continue
      }
      const { code, evidence, receipt } = end
      const statements = { receipt: evidence.receipt, proof: statement }
      return resolve(reading.joined.end({ receipt, proof, statements, evidence, ...withoutUndefined({ code }) }))
    }
  } catch (error) {
    reject(error)
    throw error
  } finally {
    await close(reading.open.events, reject)
  }
}

/** The error for a verified end that is not complete; `prefix` is given if a first part of the answer has come. */
export const failureOf = (end: VerifiedEnd, prefix?: VerifiedPrefix): AnswerIncomplete | SealedProblem => {
  const { problem, receipt } = end
  if (prefix === undefined && problem !== undefined) {
    return new SealedProblem(problem, true, problem.retry_after_ms, undefined, receipt)
  }
  const status = end.status === "aborted" ? "aborted" : "failed"
  return new AnswerIncomplete(status, problem, prefix ?? { chunks: [] }, receipt)
}

/** Returns the next event. Throws `StreamTruncated` if the stream ends or breaks, or the reason of the caller's signal. */
export const nextEvent = async (
  events: Events,
  chunks: VerifiedPrefix["chunks"],
  signal: AbortSignal | undefined,
): Promise<ServerSentEvent> => {
  let next: IteratorResult<ServerSentEvent>
  try {
    next = await events.next()
  } catch (cause) {
    if (signal?.aborted === true) throw signal.reason
    if (cause instanceof Tampered) throw cause
    throw new StreamTruncated({ chunks }, { cause })
  }
  if (next.done === true) throw new StreamTruncated({ chunks })
  return next.value
}

/** Whether nothing follows the proof. A connection that breaks after the proof loses nothing. */
const isOver = (events: Events): Promise<boolean> =>
  events.next().then(
    ({ done }) => done === true,
    (error: unknown) => !(error instanceof Tampered),
  )
