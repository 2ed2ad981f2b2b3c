/** A sealed stream while it comes in: every part is verified before it is handed out. */
import { ChatAccumulator } from "../domain/chatStream.ts"
import type { ChatChunk, ChatCompletion } from "../domain/chat.ts"
import type { ProofClaims, ReceiptClaims } from "../domain/statement.ts"
import {
  AnswerIncomplete,
  SealedProblem,
  type SealgateError,
  StreamTruncated,
  Tampered,
  type VerifiedPrefix,
} from "./errors.ts"
import type { ResponseOpener, VerifiedEnd } from "./ResponseOpener.ts"
import type { ServerSentEvent } from "./serverSentEvents.ts"
import { frameOf, partsOf, proofOf, type StreamPart } from "./streamParts.ts"
import type { RevealedExchange } from "./verify.ts"

/** How a stream ended, with receipt and terminal proof verified. */
export interface StreamEnd {
  readonly completion: ChatCompletion
  readonly receipt: ReceiptClaims
  readonly proof: ProofClaims
  /** The signed statements as they came, to be kept. */
  readonly statements: { readonly receipt: string; readonly proof: string }
  readonly evidence: RevealedExchange
}

/**
 * Iterate it once, from the start: a second iteration could only pass off what is left as the answer, so it throws a
 * `TypeError`. The iteration ends only when the final frame, the receipt and the proof were verified; it throws
 * `StreamTruncated`, `AnswerIncomplete` or `Tampered` otherwise, or the signal's reason. `end` settles with it.
 */
export class SealedStream implements AsyncIterable<StreamPart> {
  /** What the end carried. It rejects with whatever the iteration throws. */
  readonly end: Promise<StreamEnd>
  private readonly parts: AsyncGenerator<StreamPart>
  private taken = false

  constructor(open: OpenStream, options: StreamOptions = {}) {
    const { promise, reject, resolve } = Promise.withResolvers<StreamEnd>()
    // A caller that only iterates learns of a failure there, so a rejection of `end` need not be handled as well.
    promise.catch(() => undefined)
    this.end = promise
    const reading = { open }
    const parts = verifiedParts(reading, options, resolve, reject)
    const leave = parts.return.bind(parts)
    // A generator that was never started runs no `finally`, so a caller that leaves before the start is handled here.
    parts.return = async (value) => {
      const left = await leave(value)
      await close(reading.open.events, reject)
      return left
    }
    this.parts = parts
  }

  [Symbol.asyncIterator](): AsyncGenerator<StreamPart> {
    if (this.taken) throw new TypeError("A sealed stream can be iterated only once; text() and end can be read again.")
    this.taken = true
    return this.parts
  }

  /** Reads the stream to its verified end and returns the text of the first choice. */
  async text(): Promise<string> {
    this.taken = true
    for await (const _ of this.parts) continue
    const content = (await this.end).completion.choices[0]?.message.content
    return typeof content === "string" ? content : ""
  }
}

type Events = AsyncIterator<ServerSentEvent>

/** A stream that has been opened: its next event is its first frame. */
export interface OpenStream {
  readonly opener: ResponseOpener
  readonly events: Events
}

interface StreamOptions {
  readonly signal?: AbortSignal
  /** `false` where the proxy was asked not to begin again. */
  readonly restart?: boolean
  /** Gives another stream in place of one that failed before anything came of it, where that may help. */
  readonly renew?: (error: SealgateError) => Promise<OpenStream> | undefined
}

/** Hangs up, and settles `end` for whoever stops early. Neither does anything where all of it was read. */
const close = async (events: Events, reject: (error: unknown) => void): Promise<void> => {
  reject(new Tampered("The stream was not read to its end, so nothing about its end is known."))
  await events.return?.()
}

async function* verifiedParts(
  reading: { open: OpenStream },
  { renew, restart, signal }: StreamOptions,
  resolve: (end: StreamEnd) => void,
  reject: (error: unknown) => void,
): AsyncGenerator<StreamPart> {
  let answer = new ChatAccumulator()
  let chunks: Array<ChatChunk> = []
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
        for (const part of partsOf(payload)) {
          began = true
          if (part.type === "restart") {
            if (restart === false) throw new Tampered("The stream starts over although the request forbids it.")
            answer = new ChatAccumulator()
            chunks = []
          } else {
            answer.add(part.chunk)
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
      const { evidence, receipt } = end
      const statements = { receipt: evidence.receipt, proof: statement }
      return resolve({ completion: answer.completion, receipt, proof, statements, evidence })
    }
  } catch (error) {
    reject(error)
    throw error
  } finally {
    await close(reading.open.events, reject)
  }
}

/**
 * The error of a stream whose verified end is not a complete answer: a refusal, unless a part of the answer came before
 * it.
 */
export const failureOf = (end: VerifiedEnd, prefix?: VerifiedPrefix): AnswerIncomplete | SealedProblem => {
  const { problem, receipt } = end
  if (prefix === undefined && problem !== undefined) {
    return new SealedProblem(problem, true, problem.retry_after_ms, undefined, receipt)
  }
  const status = end.status === "aborted" ? "aborted" : "failed"
  return new AnswerIncomplete(status, problem, prefix ?? { chunks: [] }, receipt)
}

/** The next event. A stream that ends or breaks here is truncated, unless the caller's signal has fired. */
export const nextEvent = async (
  events: Events,
  chunks: ReadonlyArray<ChatChunk>,
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

/** Whether nothing follows the proof. A connection that breaks after the proof, or is closed then, loses nothing. */
const isOver = (events: Events): Promise<boolean> =>
  events.next().then(
    ({ done }) => done === true,
    (error: unknown) => !(error instanceof Tampered),
  )
