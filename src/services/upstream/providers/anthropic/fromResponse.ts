/** Whole answers of the Messages API. */
import { Option, Result, Schema } from "effect"
import type { ChatCompletion, ToolCall } from "../../../../domain/chat.ts"
import type { ProviderFailure } from "../../Provider.ts"
import { extraContent } from "../shared/ExtraContent.ts"
import { failure, garbage } from "../shared/Failures.ts"
import type { Call } from "../shared/WireFormat.ts"
import type { ThinkingBlock } from "./Request.ts"
import * as Wire from "./Wire.ts"
import { finishReason, usageOf } from "./meaning.ts"

const decode = Schema.decodeUnknownOption(Wire.Message)

export const fromResponse = (body: unknown, call: Call): Result.Result<ChatCompletion, ProviderFailure> => {
  const message = Option.getOrUndefined(decode(body))
  if (message === undefined) return Result.fail(garbage("not a message"))
  const usage = usageOf(message.usage)
  const stopReason = message.stop_reason
  if (stopReason == null) return Result.fail(failure("truncated", "the answer has no stop reason", { usage }))
  const { text, calls, thinking } = gather(message.content)
  return Result.succeed({
    id: message.id,
    object: "chat.completion",
    created: call.created,
    model: message.model,
    choices: [
      {
        index: 0,
        message: {
          role: "assistant",
          content: text === "" ? null : text,
          refusal: message.stop_details?.explanation ?? null,
          ...(calls.length > 0 ? { tool_calls: calls } : {}),
          ...extraContent("anthropic", thinking),
        },
        finish_reason: finishReason(stopReason),
        native_finish_reason: stopReason,
      },
    ],
    usage: usage ?? null,
  })
}

/** Thinking belongs to the tool call that it led to, and to the message if it led to text. */
const gather = (blocks: ReadonlyArray<Wire.Block>) => {
  let text = ""
  const calls: Array<ToolCall> = []
  const thinking: Array<ThinkingBlock> = []
  let pending: Array<ThinkingBlock> = []
  for (const block of blocks) {
    if (!Wire.isKnown(block)) continue
    switch (block.type) {
      case "thinking":
      case "redacted_thinking":
        pending.push(block)
        break
      case "text":
        text += block.text
        thinking.push(...pending)
        pending = []
        break
      case "tool_use":
        calls.push({
          id: block.id,
          type: "function",
          function: { name: block.name, arguments: JSON.stringify(block.input ?? {}) },
          ...extraContent("anthropic", stateOf(pending)),
        })
        pending = []
    }
  }
  return { text, calls, thinking: stateOf([...thinking, ...pending]) }
}

const stateOf = (blocks: ReadonlyArray<ThinkingBlock>): Wire.ThinkingState | undefined =>
  blocks.length > 0 ? { thinking_blocks: blocks } : undefined
