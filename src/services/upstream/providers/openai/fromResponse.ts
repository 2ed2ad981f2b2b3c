/** Whole answers of OpenAI-compatible servers. */
import { Option, Result, Schema } from "effect"
import type { AssistantMessage, ChatCompletion, ToolCall } from "../../../../domain/chat.ts"
import type { ProviderFailure } from "../../Provider.ts"
import { reportsError } from "../shared/ErrorBody.ts"
import { failure, failureOfEvent, garbage } from "../shared/Failures.ts"
import type { Call } from "../shared/WireFormat.ts"
import * as Wire from "./Wire.ts"
import { usageOf } from "./usage.ts"

const decode = Schema.decodeUnknownOption(Wire.Completion)

/** The finish reason with which gateways report that the provider behind them failed. */
export const FAILED = "error"

/** The answer in `body`. Some servers report errors with status 200. */
export const fromResponse = (body: unknown, call: Call): Result.Result<ChatCompletion, ProviderFailure> => {
  if (reportsError(body)) return Result.fail(failureOfEvent(body))
  const wire = Option.getOrUndefined(decode(body))
  if (wire === undefined) return Result.fail(garbage("not a chat completion"))
  const id = wire.id || call.id
  const usage = usageOf(wire.usage)
  const choices: Array<ChatCompletion["choices"][number]> = []
  for (const [position, choice] of wire.choices.entries()) {
    if (!choice.finish_reason) {
      return Result.fail(failure("truncated", "a choice has no finish reason", { usage: usage ?? undefined }))
    }
    if (choice.finish_reason === FAILED) return Result.fail(failureOfEvent({ error: choice["error"] ?? FAILED }))
    const index = choice.index ?? position
    const message = messageOf(choice.message, `${id}_${index}`)
    choices.push({ ...choice, index, message, finish_reason: choice.finish_reason })
  }
  const created = Math.trunc(wire.created ?? call.created)
  return Result.succeed({
    ...wire,
    id,
    object: "chat.completion",
    created,
    model: wire.model || call.model,
    choices,
    usage,
  })
}

const messageOf = (message: Wire.CompletionMessage, idPrefix: string): AssistantMessage => {
  const { content, refusal, tool_calls, function_call, ...rest } = message
  const calls = (tool_calls ?? []).map(({ id, type: _type, function: called, ...call }, index): ToolCall => ({
    ...call,
    id: id || `${idPrefix}_${index}`,
    type: "function",
    function: { ...called, arguments: called.arguments ?? "" },
  }))
  return {
    ...rest,
    role: "assistant",
    content: content ?? null,
    refusal: refusal ?? null,
    ...(calls.length > 0 ? { tool_calls: calls } : {}),
    ...(function_call == null ? {} : { function_call }),
  }
}
