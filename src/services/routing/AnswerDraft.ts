/** Assembles a streamed answer. Calls are streamed because only a stream shows when its first token came. */
import type { ToolCall, ToolCallDelta } from "../../domain/chat/chat.ts"
import type { Streamed, StreamEvent } from "../../domain/upstream/upstream.ts"
import { tokensOfBytes } from "./TokenEstimate.ts"

/** A model's answer. `text` is its refusal if it refused. */
export interface Answer {
  readonly text: string
  readonly refused: boolean
  /** The provider cut it off at its longest answer. */
  readonly cut: boolean
  /** The tools that the model calls, in its order; absent if it calls none. */
  readonly toolCalls?: ReadonlyArray<ToolCall>
}

/** Receives an answer's text while it is written. */
export interface TextListener {
  readonly add: (text: string) => void
  /** Discards the text so far; it begins again. */
  readonly restart: () => void
}

export class AnswerDraft {
  private readonly heard: TextListener | undefined
  private content = ""
  private refusal = ""
  private bytes = 0
  private readonly calls = new Map<number, ToolCall>()

  constructor(heard?: TextListener) {
    this.heard = heard
    heard?.restart()
  }

  readonly add = (event: StreamEvent): void => {
    if (event._tag === "Restarted") {
      this.content = this.refusal = ""
      this.calls.clear()
      this.heard?.restart()
      return
    }
    for (const { delta, index } of event.chunk.choices) {
      if (index !== 0) continue
      this.content += delta.content ?? ""
      if (delta.content != null) this.heard?.add(delta.content)
      this.refusal += delta.refusal ?? ""
      this.bytes += Buffer.byteLength(delta.content ?? "") + Buffer.byteLength(delta.refusal ?? "")
      for (const piece of delta.tool_calls ?? []) this.addCall(piece)
    }
  }

  /** Estimated tokens of all deltas, also of those before a restart. */
  get received(): number {
    return tokensOfBytes(this.bytes)
  }

  /** Returns the answer at the end of the stream. */
  finished({ served }: Streamed): Answer {
    const { calls, content, refusal } = this
    const reason = served.finishReasons[0]
    // Calls without a name are not of functions.
    const called = [...calls].sort(([a], [b]) => a - b).flatMap(([, call]) => (call.function.name === "" ? [] : [call]))
    const refused = refusal !== "" || reason === "content_filter"
    return {
      text: refusal === "" ? content : refusal,
      refused,
      cut: reason === "length",
      ...(called.length === 0 || refused ? {} : { toolCalls: called }),
    }
  }

  /** Adds a piece of a tool call; other members, such as a vendor's signature, are kept. */
  private addCall({ function: piece = {}, index, ...rest }: ToolCallDelta): void {
    const known = this.calls.get(index)
    const text = piece.arguments ?? ""
    this.bytes += Buffer.byteLength(text)
    this.calls.set(index, {
      ...known,
      ...rest,
      id: rest.id ?? known?.id ?? `call_${index}`,
      type: "function",
      function: {
        ...known?.function,
        ...piece,
        name: `${known?.function.name ?? ""}${piece.name ?? ""}`,
        arguments: `${known?.function.arguments ?? ""}${text}`,
      },
    })
  }
}
