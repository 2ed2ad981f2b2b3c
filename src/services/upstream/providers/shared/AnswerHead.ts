import type { ChatChunk } from "../../../../domain/chat/chat.ts"
import { textOr } from "./textOr.ts"
import type { AnswerDefaults } from "./WireFormat.ts"

/** The members that all chunks of an answer share. */
export class AnswerHead {
  protected id: string
  protected model: string
  protected readonly created: number

  constructor({ created, id, model }: AnswerDefaults) {
    this.id = id
    this.model = model
    this.created = created
  }

  /** Replaces the defaults by what the provider says, if it does. */
  protected named(id: unknown, model: unknown): void {
    this.id = textOr(this.id, id)
    this.model = textOr(this.model, model)
  }

  protected envelope(choices: ChatChunk["choices"]): ChatChunk {
    return { id: this.id, object: "chat.completion.chunk", created: this.created, model: this.model, choices }
  }
}
