/** Converts messages to turns: users and assistants alternate, and system messages are separate. */
import { Option, Schema } from "effect"
import type { AssistantMessage, Message } from "../../../../domain/chat/chat.ts"
import { encodeBase64Url, utf8 } from "../../../../domain/bytes/bytes.ts"
import { objectIn } from "../../../../domain/json/objectIn.ts"
import { stateOf } from "../shared/ExtraContent.ts"
import { messageRules, TOOL_CALL } from "../shared/MemberRules.ts"
import type { Unsupported } from "../shared/Unsupported.ts"
import type { Block, CacheControl, TextBlock, ThinkingBlock, Turn } from "./Request.ts"
import { ThinkingState } from "./Wire.ts"
import { cacheControl, toBlocks, toTextBlocks } from "./toBlocks.ts"

/**
 * `messages` as turns. Consecutive messages of one side are one turn, and so are the results of parallel tool calls.
 * System and developer messages go to `system`, wherever they stand, as in Anthropic's own OpenAI-compatible interface.
 */
export const toTurns = (
  messages: ReadonlyArray<Message>,
  unsupported: Unsupported,
): { readonly system: ReadonlyArray<TextBlock>; readonly turns: ReadonlyArray<Turn> } => {
  const system: Array<TextBlock> = []
  const turns: Array<{ readonly role: Turn["role"]; readonly content: Array<Block> }> = []
  const say = (role: Turn["role"], blocks: ReadonlyArray<Block>) => {
    const last = turns.at(-1)
    if (last?.role === role) for (const block of blocks) last.content.push(block)
    else if (blocks.length > 0) turns.push({ role, content: [...blocks] })
  }
  for (const [index, message] of messages.entries()) {
    const path = `messages[${index}]`
    unsupported.check(message, messageRules(message), path)
    const control = cacheControl(message, path, unsupported)
    switch (message.role) {
      case "system":
      case "developer":
        for (const block of marked(toTextBlocks(message.content, `${path}.content`, unsupported), control)) {
          system.push(block)
        }
        break
      case "user":
        say("user", marked(toBlocks(message.content, `${path}.content`, unsupported), control))
        break
      case "assistant":
        say("assistant", marked(toAssistantBlocks(message, path, unsupported), control))
        break
      case "tool": {
        const content = toBlocks(message.content, `${path}.content`, unsupported)
        say("user", [{ type: "tool_result", tool_use_id: toolUseId(message.tool_call_id), content, ...control }])
        break
      }
    }
  }
  if (turns.length === 0)
    unsupported.add("messages", "this provider needs at least one message that is not a system message")
  return { system, turns }
}

/** Puts a message's cache control on its last block, unless that has its own, or is a thought, which takes none. */
const marked = <B extends Block>(
  blocks: ReadonlyArray<B>,
  control: { readonly cache_control?: CacheControl },
): ReadonlyArray<B> => {
  const last = blocks.at(-1)
  return last === undefined || last.type === "thinking" || last.type === "redacted_thinking"
    ? blocks
    : [...blocks.slice(0, -1), { ...control, ...last }]
}

const toAssistantBlocks = (message: AssistantMessage, path: string, unsupported: Unsupported): ReadonlyArray<Block> => [
  ...thinkingOf(message),
  ...(message.content == null ? [] : toTextBlocks(message.content, `${path}.content`, unsupported)),
  ...(message.refusal == null ? [] : toTextBlocks(message.refusal, `${path}.refusal`, unsupported)),
  ...(message.tool_calls ?? []).flatMap((call, index): ReadonlyArray<Block> => {
    const at = `${path}.tool_calls[${index}]`
    unsupported.check(call, TOOL_CALL, at)
    const input = objectIn(call.function.arguments.trim() || "{}")
    if (input === undefined) unsupported.add(`${at}.function.arguments`, "this provider takes only a JSON object")
    return [...thinkingOf(call), { type: "tool_use", id: toolUseId(call.id), name: call.function.name, input }]
  }),
]

const decodeThinking = Schema.decodeUnknownOption(ThinkingState)

/** The thoughts before `holder`, which the API wants back unchanged. */
const thinkingOf = (holder: Readonly<Record<string, unknown>>): ReadonlyArray<ThinkingBlock> =>
  Option.match(decodeThinking(stateOf(holder, "anthropic")), {
    onNone: () => [],
    onSome: (state) => state.thinking_blocks,
  })

/** Ids of calls that another provider made may have characters that this API refuses. */
const toolUseId = (id: string): string => (/^[A-Za-z0-9_-]+$/.test(id) ? id : `id_${encodeBase64Url(utf8(id))}`)
