/** Whole answers of OpenAI-compatible servers. */
import { Option, Result, Schema } from "effect"
import type { AssistantMessage, ChatCompletion, ToolCall } from "../../../../domain/chat/chat.ts"
import type { ProviderFailure } from "../../Provider.ts"
import { DistinctIds } from "../shared/DistinctIds.ts"
import { failure, garbage, withUsage } from "../shared/providerFailures.ts"
import { textOr } from "../shared/textOr.ts"
import type { AnswerDefaults } from "../shared/WireFormat.ts"
import * as Wire from "./Wire.ts"
import { failedFor, finishOf } from "./finishReason.ts"
import { usageOf } from "./usage.ts"

const decode = Schema.decodeUnknownOption(Wire.Completion)

export const fromResponse = (body: unknown, call: AnswerDefaults): Result.Result<ChatCompletion, ProviderFailure> => {
  const wire = Option.getOrUndefined(decode(body))
  if (wire === undefined) return Result.fail(garbage("not a chat completion"))
  const id = textOr(call.id, wire.id)
  const usage = usageOf(wire.usage)
  const choices: Array<ChatCompletion["choices"][number]> = []
  const indexes = wire.choices.map(({ index }, position) => index ?? position)
  const numbered = new Set(indexes).size === indexes.length
  for (const [position, choice] of wire.choices.entries()) {
    const reason = finishOf(choice.finish_reason)
    if (reason === null) {
      return Result.fail(failure("unfinished", "a choice has no finish reason", { usage: usage ?? undefined }))
    }
    const failed = failedFor(reason)
    if (failed !== undefined) return Result.fail(withUsage(failed, usage ?? undefined))
    const index = numbered ? (choice.index ?? position) : position
    choices.push({
      ...withoutError(choice),
      index,
      message: messageOf(choice.message, `${id}_${index}`),
      finish_reason: reason,
    })
  }
  return Result.succeed({
    ...withoutError(wire),
    id,
    object: "chat.completion",
    created: secondsOr(call.created, wire.created),
    model: textOr(call.model, wire.model),
    choices,
    usage,
  })
}

/** Removes the member `error` from an answer or choice. Some servers always send it, and it holds no error here. */
export const withoutError = <A extends object>(wire: A): A => {
  if (!("error" in wire)) return wire
  const { error: _, ...rest } = wire
  // Only `error`, which the type does not have, was removed.
  return rest as unknown as A
}

/** Returns the message of a choice. `idPrefix` begins the ids of tool calls that come without one. */
export const messageOf = (message: Wire.Message, idPrefix: string): AssistantMessage => {
  const { content, refusal, tool_calls, ...rest } = message
  const ids = new DistinctIds()
  const calls = (tool_calls ?? []).map((given, index): ToolCall => {
    // Such calls occur only in answers to requests that were sent unchanged, so they are passed on unchanged too.
    if (!Wire.isFunctionCall(given)) return given as object as ToolCall
    const { id, type: _type, function: called, ...call } = given
    return {
      ...call,
      id: ids.take(id, `${idPrefix}_${index}`),
      type: "function",
      function: { ...called, arguments: argumentsOf(called.arguments) },
    }
  })
  return {
    ...rest,
    role: "assistant",
    content: content ?? null,
    refusal: refusal ?? null,
    ...(calls.length > 0 ? { tool_calls: calls } : {}),
  }
}

export const argumentsOf = (value: Wire.Arguments | null | undefined): string =>
  typeof value === "string" ? value : value == null ? "" : JSON.stringify(value)

/** Returns `value` in whole seconds, or `otherwise` if it is not a number. */
export const secondsOr = (otherwise: number, value: unknown): number => {
  const seconds = typeof value === "number" ? Math.trunc(value) : Number.NaN
  return Number.isSafeInteger(seconds) ? seconds : otherwise
}
