/** Assembles a streamed answer. Calls are streamed because only a stream shows when its first token came. */
import type { StreamEvent } from "../../domain/upstream/upstream.ts"
import { tokensOfBytes } from "./TokenEstimate.ts"

/** A model's answer. `text` is its refusal if it refused. */
export interface Answer {
  readonly text: string
  readonly refused: boolean
  /** The provider cut it off at its longest answer. */
  readonly cut: boolean
}

export class AnswerDraft {
  private content = ""
  private refusal = ""
  private bytes = 0

  readonly add = (event: StreamEvent): void => {
    if (event._tag === "Restarted") this.content = this.refusal = ""
    if (event._tag !== "Delta") return
    for (const { delta, index } of event.chunk.choices) {
      if (index !== 0) continue
      this.content += delta.content ?? ""
      this.refusal += delta.refusal ?? ""
      this.bytes += Buffer.byteLength(delta.content ?? "") + Buffer.byteLength(delta.refusal ?? "")
    }
  }

  /** Estimated tokens of all deltas, also of those before a restart. */
  get received(): number {
    return tokensOfBytes(this.bytes)
  }

  /** Returns the answer at the end of the stream. */
  finished({ served }: Extract<StreamEvent, { readonly _tag: "Finished" }>): Answer {
    const { content, refusal } = this
    const reason = served.finishReasons[0]
    const refused = refusal !== "" || reason === "content_filter"
    return { text: refusal === "" ? content : refusal, refused, cut: reason === "length" }
  }
}
