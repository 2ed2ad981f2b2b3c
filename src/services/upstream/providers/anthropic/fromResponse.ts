/** Whole answers of the Messages API. */
import { Option, Result, Schema } from "effect"
import type { ChatCompletion, ToolCall } from "../../../../domain/chat/chat.ts"
import type { ProviderFailure } from "../../Provider.ts"
import { DistinctIds } from "../shared/DistinctIds.ts"
import { extraContent } from "../shared/ExtraContent.ts"
import { failure, garbage } from "../shared/providerFailures.ts"
import { argumentsOf } from "../shared/argumentsOf.ts"
import { textOr } from "../shared/textOr.ts"
import type { Call } from "../shared/WireFormat.ts"
import type { ThinkingBlock } from "./Request.ts"
import * as Wire from "./Wire.ts"
import { ownId } from "./callIds.ts"
import { finishReason, stopOf } from "./finishReason.ts"
import { countsOf, usageOf } from "./usage.ts"

const decode = Schema.decodeUnknownOption(Wire.Message)

export const fromResponse = (body: unknown, call: Call): Result.Result<ChatCompletion, ProviderFailure> => {
  const message = Option.getOrUndefined(decode(body))
  if (message === undefined) return Result.fail(garbage("not a message"))
  const usage = usageOf(countsOf(message.usage))
  const stop = stopOf(message)
  if (stop === undefined) return Result.fail(failure("unfinished", "the answer has no stop reason", { usage }))
  const id = textOr(call.id, message.id)
  const { text, calls, thinking } = gather(message.content, id)
  return Result.succeed({
    id,
    object: "chat.completion",
    created: call.created,
    model: textOr(call.model, message.model),
    choices: [
      {
        index: 0,
        message: {
          role: "assistant",
          content: text === "" ? null : text,
          refusal: stop.refusal ?? null,
          ...(calls.length > 0 ? { tool_calls: calls } : {}),
          ...extraContent("anthropic", thinking),
        },
        finish_reason: finishReason(stop.reason),
        native_finish_reason: stop.reason,
      },
    ],
    usage: usage ?? null,
  })
}

/** Thoughts are attached to the tool call that follows them, or to the message if text does. */
const gather = (blocks: ReadonlyArray<Wire.Block>, id: string) => {
  let text = ""
  const calls: Array<ToolCall> = []
  const ids = new DistinctIds()
  const thinking: Array<ThinkingBlock> = []
  let pending: Array<ThinkingBlock> = []
  for (const block of blocks) {
    if (!Wire.isKnown(block)) continue
    switch (block.type) {
      case "thinking":
        pending.push({ type: "thinking", thinking: block.thinking ?? "", signature: block.signature ?? "" })
        break
      case "redacted_thinking":
        pending.push(block)
        break
      case "text":
        text += block.text ?? ""
        thinking.push(...pending)
        pending = []
        break
      case "tool_use":
        calls.push({
          id: ids.take(block.id, ownId(id, calls.length)),
          type: "function",
          function: { name: block.name, arguments: argumentsOf(block.input) },
          ...extraContent("anthropic", stateOf(pending)),
        })
        pending = []
    }
  }
  return { text, calls, thinking: stateOf([...thinking, ...pending]) }
}

const stateOf = (blocks: ReadonlyArray<ThinkingBlock>): Wire.ThinkingState | undefined =>
  blocks.length > 0 ? { thinking_blocks: blocks } : undefined
