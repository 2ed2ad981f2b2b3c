/** A sealed stream as the server-sent events of OpenAI Chat Completions. */
import type { ChatChunk } from "../../domain/chat.ts"
import type { SealedStream, StreamEnd } from "../SealedStream.ts"

/**
 * - `streaming`: pieces of the answer are handed out as they come, each verified on its own
 * - `verified`: nothing is handed out before the whole answer, its receipt and its proof were verified
 */
export type Release = "streaming" | "verified"

export interface EventStreamOptions {
  readonly release: Release
  /** Whether the caller asked for token counts; without it OpenAI sends no chunk without choices. */
  readonly includeUsage: boolean
  /** Told of the verified end before the caller learns of it. */
  readonly onEnd: (end: StreamEnd) => Promise<void>
}

const DONE = "data: [DONE]\n\n"

const render = (chunk: ChatChunk): string => `data: ${JSON.stringify(chunk)}\n\n`

/**
 * The events, as text. Neither a finish reason nor `[DONE]` is ever given out before receipt and proof were verified, so
 * a client that knows no more than OpenAI's format does not take a part for the whole. Throws what the stream throws.
 * Only a stream whose release is `verified` may begin again.
 */
export async function* eventsOf(stream: SealedStream, options: EventStreamOptions): AsyncGenerator<string, void> {
  const gate = new Gate(options.release)
  for await (const part of stream) {
    if (part.type === "restart") {
      gate.forget()
    } else if (options.includeUsage || !isUsageAlone(part.chunk)) {
      if (gate.passes(part.chunk)) yield render(part.chunk)
    }
  }
  await options.onEnd(await stream.end)
  yield gate.held.map(render).join("") + DONE
}

const isUsageAlone = (chunk: ChatChunk): boolean => chunk.choices.length === 0 && chunk.usage != null

/** Holds back what would make an answer look finished: all of it, or the last pieces of every choice. */
class Gate {
  held: Array<ChatChunk> = []
  private readonly release: Release
  private readonly finished = new Set<number>()

  constructor(release: Release) {
    this.release = release
  }

  /** Whether `chunk` may be handed out at once; otherwise it is held. */
  passes(chunk: ChatChunk): boolean {
    for (const { finish_reason, index } of chunk.choices) if (finish_reason != null) this.finished.add(index)
    const waits =
      this.release === "verified" ||
      (chunk.choices.length === 0 && this.finished.size > 0) ||
      chunk.choices.some(({ index }) => this.finished.has(index))
    if (waits) this.held.push(chunk)
    return !waits
  }

  /** Forgets what is held. */
  forget(): void {
    this.held = []
    this.finished.clear()
  }
}

/** A response body of `first` and of the `events` behind it; whoever cancels it hangs up. */
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
      // A pending read fails now, and nobody is left to handle it.
      await events.return().catch(() => undefined)
    },
  })
}
