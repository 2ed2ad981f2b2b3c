/** Writes a sealed stream as server-sent events of the requested API. */
import { type ApiName, apiOf, CHAT_COMPLETIONS } from "../../domain/upstream/apis.ts"
import type { ChatChunk } from "../../domain/chat/chatTypes.ts"
import { isObject, type JsonObject } from "../../domain/json/json.ts"
import type { ErrorAnswer } from "./errorAnswer.ts"
import type { EventStream } from "../sealed/joins.ts"
import type { StreamEnd } from "../sealed/SealedStream.ts"
import { vendorOf } from "./vendors/endpoints.ts"
import { responseFailed } from "./vendors/openai.ts"

/**
 * - `streaming`: pieces of the answer are handed out as they come, each verified on its own
 * - `verified`: nothing is handed out before the whole answer, its receipt and its proof were verified
 */
export type Release = "streaming" | "verified"

interface EventStreamOptions {
  readonly api: ApiName
  readonly release: Release
  /** Whether the caller asked for token counts; without it OpenAI sends no chunk without choices. */
  readonly includeUsage: boolean
  /** Called with the verified end before the caller sees it. */
  readonly onEnd: (end: StreamEnd) => Promise<void>
  /** Describes a break after the first event in a last event; default: no such event. */
  readonly lastWords?: ((error: unknown) => ErrorAnswer) | undefined
}

/**
 * Holds back every event that makes an answer look finished until receipt and proof were verified, so that a client of the
 * vendor's format never takes a part for the whole. Throws the stream's errors. Only a stream with the release `verified`
 * may start over.
 */
export async function* eventsOf(stream: EventStream, options: EventStreamOptions): AsyncGenerator<string, void> {
  const { api, includeUsage, lastWords, onEnd, release } = options
  const gate = api === CHAT_COMPLETIONS ? new ChatGate() : new EventGate()
  const writer = new EventWriter(api)
  let held: Array<JsonObject> = []
  let began = false
  try {
    for await (const part of stream) {
      if (part.type === "restart") {
        held = []
        gate.forget()
      } else if (api !== CHAT_COMPLETIONS || includeUsage || !isUsageAlone(part.chunk)) {
        const waits = gate.waits(part.chunk) || release === "verified"
        if (waits) held.push(part.chunk)
        else {
          began = true
          yield writer.render(part.chunk)
        }
      }
    }
    await onEnd(await stream.end)
  } catch (error) {
    if (began && lastWords !== undefined) yield writer.lastWords(lastWords(error))
    throw error
  }
  yield held.map((chunk) => writer.render(chunk)).join("") + writer.sentinel
}

/** Decides which chunks to hold back because the answer would look finished. */
interface Gate {
  /** Whether to hold `chunk` back until the end was verified. */
  readonly waits: (chunk: JsonObject) => boolean
  /** Resets after a restart. */
  readonly forget: () => void
}

/** Holds back the last pieces of every choice. */
class ChatGate implements Gate {
  private readonly finished = new Set<number>()

  waits(chunk: JsonObject): boolean {
    const choices = choicesOf(chunk)
    for (const { finish_reason, index } of choices) if (finish_reason != null) this.finished.add(index)
    return (choices.length === 0 && this.finished.size > 0) || choices.some(({ index }) => this.finished.has(index))
  }

  forget(): void {
    this.finished.clear()
  }
}

// The proxy's own schema made the chunks.
const choicesOf = (chunk: JsonObject): ChatChunk["choices"] => (chunk as unknown as ChatChunk).choices

/** Whether a chunk has only token counts, which OpenAI sends only if asked for. */
export const isUsageAlone = (chunk: JsonObject): boolean => choicesOf(chunk).length === 0 && chunk["usage"] != null

/** Events that end an answer. The first of them and everything after it is held back. */
const LAST = /^(message_(delta|stop)|response\.(completed|incomplete|failed|cancelled)|error)$/

class EventGate implements Gate {
  private over = false

  waits({ type }: JsonObject): boolean {
    this.over ||= typeof type === "string" && LAST.test(type)
    return this.over
  }

  forget(): void {
    this.over = false
  }
}

/** Writes events and remembers the parts that a last event repeats. */
export class EventWriter {
  private readonly api: ApiName
  private response: JsonObject | undefined
  private sequence = -1

  constructor(api: ApiName) {
    this.api = api
  }

  render(chunk: JsonObject): string {
    const { response, sequence_number } = chunk
    if (isObject(response)) this.response = response
    if (typeof sequence_number === "number") this.sequence = sequence_number
    const name = apiOf(this.api).stream?.eventName(chunk)
    // A name with line breaks would let a provider inject events that bypass the gate.
    return `${name === undefined || !/^[\w.]+$/.test(name) ? "" : `event: ${name}\n`}data: ${JSON.stringify(chunk)}\n\n`
  }

  /** Text after the last event of a whole answer. */
  get sentinel(): string {
    const sentinel = apiOf(this.api).stream?.sentinel
    return sentinel === undefined ? "" : `data: ${sentinel}\n\n`
  }

  lastWords(answer: ErrorAnswer): string {
    if (this.api === "responses") return this.render(responseFailed(answer, this.response, this.sequence + 1))
    return this.render(vendorOf(this.api).errorBody(answer))
  }
}

/** Returns a response body of `first` and the following `events`. Cancelling it hangs up. */
export const bodyOf = (
  first: IteratorResult<string, void>,
  events: AsyncGenerator<string, void>,
  hangUp: () => void,
  failure: (error: unknown) => unknown,
): ReadableStream<Uint8Array> => {
  const encoder = new TextEncoder()
  let held: IteratorResult<string, void> | undefined = first
  return new ReadableStream<Uint8Array>({
    pull: async (controller) => {
      try {
        const next = held ?? (await events.next())
        held = undefined
        if (next.done === true) controller.close()
        else controller.enqueue(encoder.encode(next.value))
      } catch (error) {
        throw failure(error)
      }
    },
    cancel: async () => {
      hangUp()
      // Ignores the failure of a pending read.
      await events.return().catch(() => undefined)
    },
  })
}
