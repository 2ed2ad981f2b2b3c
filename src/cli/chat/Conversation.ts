/** A conversation over a sealed client: what was said so far, and one question at a time. */
import type { ChatInput, Message } from "../../domain/chat.ts"
import type { SealedClient } from "../../client/SealedClient.ts"
import type { StreamEnd } from "../../client/SealedStream.ts"
import { defined } from "../../domain/defined.ts"

export interface ConversationOptions {
  readonly model: string | undefined
  readonly system: string | undefined
  readonly provider: string | undefined
}

/** Where an answer is shown while it comes. */
export interface Show {
  readonly text: (piece: string) => void
  /** Everything of this answer that was shown is void. */
  readonly startOver: () => void
}

export class Conversation {
  private readonly client: SealedClient
  private readonly options: ConversationOptions
  private messages: ReadonlyArray<Message>

  constructor(client: SealedClient, options: ConversationOptions) {
    this.client = client
    this.options = options
    this.messages = options.system === undefined ? [] : [{ role: "system", content: options.system }]
  }

  /** Asks and shows the answer. Only a verified answer becomes part of the conversation. */
  async ask(question: string, show: Show, signal: AbortSignal): Promise<StreamEnd> {
    const messages: ReadonlyArray<Message> = [...this.messages, { role: "user", content: question }]
    const { model, provider } = this.options
    const input: ChatInput = { messages, ...defined({ model }) }
    const stream = await this.client.stream(input, { signal, ...defined({ provider }) })
    for await (const part of stream) {
      if (part.type === "restart") show.startOver()
      else show.text(part.chunk.choices[0]?.delta.content ?? "")
    }
    const end = await stream.end
    const answer = end.completion.choices[0]?.message
    this.messages = answer === undefined ? messages : [...messages, answer]
    return end
  }
}
