/** Reads Chat Completions, after a provider's reader added the members that its server left out. */
import type { ChatChunk, ChatCompletion, FinishReason, Usage } from "../../../domain/chat/chat.ts"
import type { Said } from "../Provider.ts"
import type { AnswerReading } from "./AnswerReading.ts"

/** Returns the metadata of a whole answer. */
export const saidIn = (completion: ChatCompletion): Said => ({
  model: completion.model,
  finishReasons: completion.choices.map((choice) => choice.finish_reason),
  usage: completion.usage ?? null,
})

/** Collects from the chunks of a stream what {@link saidIn} reads from a whole answer. */
export class ChatReading implements AnswerReading<ChatChunk> {
  private model = ""
  private usage: Usage | null = null
  private readonly finishReasons = new Map<number, FinishReason | null>()

  add(chunk: ChatChunk): undefined {
    this.model = chunk.model
    if (chunk.usage != null) this.usage = chunk.usage
    for (const { finish_reason, index } of chunk.choices) {
      if (finish_reason != null) this.finishReasons.set(index, finish_reason)
      else if (!this.finishReasons.has(index)) this.finishReasons.set(index, null)
    }
  }

  /** Whether at least one choice began, and every one that did has its finish reason. */
  get finished(): boolean {
    return this.finishReasons.size > 0 && ![...this.finishReasons.values()].includes(null)
  }

  /** The finish reasons are in the order of their choices. Choices without one are left out. */
  get said(): Said {
    const finishReasons = [...this.finishReasons]
      .sort(([a], [b]) => a - b)
      .flatMap(([, finishReason]) => finishReason ?? [])
    return { model: this.model, finishReasons, usage: this.usage }
  }

  /** Whether it has a text, a refusal, a piece of a tool call, or the end. */
  hasOutput(chunk: ChatChunk): boolean {
    return chunk.choices.some(
      ({ delta, finish_reason }) =>
        finish_reason != null ||
        Object.entries(delta).some(
          ([name, value]) =>
            name !== "role" && value != null && value !== "" && !(Array.isArray(value) && value.length === 0),
        ),
    )
  }
}
