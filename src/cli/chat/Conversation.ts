/** A conversation over a sealed client, one question at a time. */
import type { SealedClient } from "../../client/sealed/SealedClient.ts"
import { deltaText } from "../../client/sealed/deltaText.ts"
import type { ChatEnd } from "../../client/sealed/joins.ts"
import type { StreamEnd } from "../../client/sealed/SealedStream.ts"
import { CHAT_COMPLETIONS } from "../../domain/upstream/apis.ts"
import type { ChatInput } from "../../domain/chat/chat.ts"
import { withoutUndefined } from "../../domain/json/withoutUndefined.ts"

export const CHAT_APIS = [CHAT_COMPLETIONS, "messages", "responses"] as const
type ChatApi = (typeof CHAT_APIS)[number]

interface ConversationOptions {
  readonly api: ChatApi
  readonly model?: string
  readonly system?: string
  readonly provider?: string
}

interface Show {
  readonly text: (piece: string) => void
  /** Discards the text of this answer shown so far. */
  readonly startOver: () => void
}

type Turn =
  | { readonly role: "user"; readonly content: string }
  | { readonly role: "assistant"; readonly content: string }

/** Anthropic's API requires a limit; all its models accept this one. */
const MAX_TOKENS = 4096

const chatBody = (turns: ReadonlyArray<Turn>, { model, system }: ConversationOptions): ChatInput => ({
  ...withoutUndefined({ model }),
  messages: [...(system === undefined ? [] : [{ role: "system" as const, content: system }]), ...turns],
})

const BODIES = {
  messages: (turns: ReadonlyArray<Turn>, { model, system }: ConversationOptions) => ({
    ...withoutUndefined({ model, system }),
    max_tokens: MAX_TOKENS,
    messages: turns,
  }),
  responses: (turns: ReadonlyArray<Turn>, { model, system }: ConversationOptions) => ({
    ...withoutUndefined({ model, instructions: system }),
    input: turns,
  }),
}

export class Conversation {
  private readonly client: SealedClient
  private readonly options: ConversationOptions
  private turns: ReadonlyArray<Turn> = []

  constructor(client: SealedClient, options: ConversationOptions) {
    this.client = client
    this.options = options
  }

  /** Asks and shows the answer. Only verified answers join the conversation. */
  async ask(
    question: string,
    show: Show,
    signal: AbortSignal,
  ): Promise<{ readonly end: StreamEnd | ChatEnd; readonly text: string }> {
    const turns: ReadonlyArray<Turn> = [...this.turns, { role: "user", content: question }]
    const { api, provider } = this.options
    // A restart is allowed, because shown text can be taken back.
    const wishes = { signal, restart: true, ...withoutUndefined({ provider }) }
    const stream = await (api === CHAT_COMPLETIONS
      ? this.client.stream(chatBody(turns, this.options), wishes)
      : this.client.requestStream(api, BODIES[api](turns, this.options), wishes))
    for await (const part of stream) {
      if (part.type === "restart") show.startOver()
      else show.text(deltaText(part.chunk))
    }
    const [end, text] = [await stream.end, await stream.text()]
    this.turns = [...turns, { role: "assistant", content: text }]
    return { end, text }
  }
}
