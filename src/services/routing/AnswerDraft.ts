/** Assembles a streamed answer. Calls are streamed because only a stream shows when its first token came. */
import type { ToolCall } from "../../domain/chat/chat.ts"
import { ChatAccumulator } from "../../domain/chat/chatStream.ts"
import { type MessageState, messageStateOf } from "../../domain/chat/messageState.ts"
import type { Streamed, StreamEvent } from "../../domain/upstream/upstream.ts"
import { tokensOfBytes } from "./TokenEstimate.ts"

/** A model's answer. `text` is its refusal if it refused. */
export interface Answer {
  readonly text: string
  readonly refused: boolean
  /** Whether the provider cut it off at its longest answer. */
  readonly cut: boolean
  /** The tools that the model calls, in its order; absent if it calls none. */
  readonly toolCalls?: ReadonlyArray<ToolCall>
  /** For the model itself, in later turns. */
  readonly state: MessageState
}

/** Receives an answer's text while it is written. */
export interface TextListener {
  readonly add: (text: string) => void
  /** Discards the text so far, because the answer begins again. */
  readonly restart: () => void
}

export class AnswerDraft {
  private readonly heard: TextListener | undefined
  private answer = new ChatAccumulator()
  private bytes = 0

  constructor(heard?: TextListener) {
    this.heard = heard
    heard?.restart()
  }

  readonly add = (event: StreamEvent): void => {
    if (event._tag === "Restarted") {
      this.answer = new ChatAccumulator()
      this.heard?.restart()
      return
    }
    this.answer.add(event.chunk)
    for (const { delta, index } of event.chunk.choices) {
      if (index !== 0) continue
      if (delta.content != null) this.heard?.add(delta.content)
      this.bytes += Buffer.byteLength(delta.content ?? "") + Buffer.byteLength(delta.refusal ?? "")
      for (const call of delta.tool_calls ?? []) this.bytes += Buffer.byteLength(call.function?.arguments ?? "")
    }
  }

  /** Estimated tokens of all deltas, also of those before a restart. */
  get received(): number {
    return tokensOfBytes(this.bytes)
  }

  finished({ served }: Streamed): Answer {
    const message = this.answer.completion.choices.find(({ index }) => index === 0)?.message
    const content = typeof message?.content === "string" ? message.content : ""
    const refusal = message?.refusal ?? ""
    const reason = served.finishReasons[0]
    // A lying provider may name tools that were not offered, whatever the type says.
    const called = (message?.tool_calls ?? []).filter(({ type }) => type === "function")
    const refused = refusal !== "" || reason === "content_filter"
    return {
      text: refusal === "" ? content : refusal,
      refused,
      cut: reason === "length",
      state: message === undefined ? {} : messageStateOf(message),
      ...(called.length === 0 || refused ? {} : { toolCalls: called }),
    }
  }
}
