/** A sealed stream while it comes in: every part is verified before it is handed out. */
import { ChatAccumulator } from "../domain/chatStream.ts"
import type { ChatChunk, ChatCompletion } from "../domain/chat.ts"
import type { ProofClaims, ReceiptClaims } from "../domain/statement.ts"
import { integer, isObject, type JsonObject, parseObject, string } from "./decode.ts"
import { AnswerIncomplete, StreamTruncated, Tampered } from "./errors.ts"
import type { ResponseOpener, VerifiedEnd } from "./ResponseOpener.ts"
import type { ServerSentEvent } from "./serverSentEvents.ts"
import type { RevealedExchange } from "./verify.ts"

/** One verified part of a stream. After a `restart` everything before it is void: show nothing of it any more. */
export type StreamPart =
  | { readonly type: "delta"; readonly chunk: ChatChunk }
  | { readonly type: "restart"; readonly reason: string; readonly provider: string; readonly model: string }

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

  constructor(opener: ResponseOpener, events: Events, signal: AbortSignal | undefined) {
    const { promise, reject, resolve } = Promise.withResolvers<StreamEnd>()
    // Whoever only iterates learns of a failure there, and need not look at `end` as well.
    promise.catch(() => undefined)
    this.end = promise
    const parts = verifiedParts(opener, events, signal, resolve, reject)
    const leave = parts.return.bind(parts)
    // A generator that was never asked for anything runs no `finally`, so whoever leaves it then is seen off here.
    parts.return = async (value) => {
      const left = await leave(value)
      await close(events, reject)
      return left
    }
    this.parts = parts
  }

  [Symbol.asyncIterator](): AsyncGenerator<StreamPart> {
    if (this.taken) throw new TypeError("A sealed stream is iterated once; text() and end can be asked for again.")
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

/** Hangs up, and settles `end` for whoever stops early. Neither does anything where all of it was read. */
const close = async (events: Events, reject: (error: unknown) => void): Promise<void> => {
  reject(new Tampered("The stream was not read to its end, so nothing about its end is known."))
  await events.return?.()
}

async function* verifiedParts(
  opener: ResponseOpener,
  events: Events,
  signal: AbortSignal | undefined,
  resolve: (end: StreamEnd) => void,
  reject: (error: unknown) => void,
): AsyncGenerator<StreamPart> {
  let answer = new ChatAccumulator()
  let chunks: Array<ChatChunk> = []
  let seq = 0
  try {
    for (;;) {
      const { data, final } = frameOf(await nextEvent(events, chunks, signal), seq)
      const payload = await opener.open(data, final)
      seq++
      if (!final) {
        const part = partOf(payload)
        if (part.type === "restart") {
          answer = new ChatAccumulator()
          chunks = []
        } else {
          answer.add(part.chunk)
          chunks.push(part.chunk)
        }
        yield part
        continue
      }
      const end = await opener.end(payload)
      const statement = proofOf(await nextEvent(events, chunks, signal))
      const proof = await opener.prove(statement, end)
      if (!(await isOver(events))) throw new Tampered("The stream goes on after its proof.")
      if (end.status !== "complete") throw incomplete(end, chunks)
      const { evidence, receipt } = end
      const statements = { receipt: evidence.receipt, proof: statement }
      return resolve({ completion: answer.completion, receipt, proof, statements, evidence })
    }
  } catch (error) {
    reject(error)
    throw error
  } finally {
    await close(events, reject)
  }
}

const incomplete = (end: VerifiedEnd, chunks: ReadonlyArray<ChatChunk>): AnswerIncomplete =>
  new AnswerIncomplete(end.status === "aborted" ? "aborted" : "failed", end.problem, { chunks }, end.receipt)

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

/** Whether nothing follows. The proof has come: a connection that breaks now, or is given up, takes nothing away. */
const isOver = (events: Events): Promise<boolean> =>
  events.next().then(
    ({ done }) => done === true,
    (error: unknown) => !(error instanceof Tampered),
  )

/** The JSON data of `event`, which must be the one that is due. */
export const expectEvent = (event: ServerSentEvent, name: string): JsonObject => {
  if (event.event !== name) throw new Tampered(`A ${name} event was due, but ${event.event} came.`)
  return parseObject(event.data, `the ${name} event`)
}

const frameOf = (event: ServerSentEvent, seq: number): { readonly data: string; readonly final: boolean } => {
  const frame = expectEvent(event, "frame")
  if (integer(frame, "seq") !== seq) throw new Tampered(`Frame ${seq} was due, but ${String(frame["seq"])} came.`)
  const final = frame["final"] ?? false
  if (typeof final !== "boolean") throw new Tampered("final is neither true nor false.")
  return { data: string(frame, "ciphertext"), final }
}

const proofOf = (event: ServerSentEvent): string => string(expectEvent(event, "proof"), "proof")

const partOf = (payload: JsonObject): StreamPart => {
  const { delta, restart } = payload
  if (isObject(restart)) {
    return {
      type: "restart",
      reason: string(restart, "reason"),
      provider: string(restart, "provider"),
      model: string(restart, "model"),
    }
  }
  if (!isObject(delta)) throw new Tampered("A frame holds neither a delta nor a restart.")
  // The frame is authentic, so this is what the proxy sent: a chunk that its own schema made.
  return { type: "delta", chunk: delta as unknown as ChatChunk }
}
