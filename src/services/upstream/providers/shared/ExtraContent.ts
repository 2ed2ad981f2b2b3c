/**
 * State of a provider that has to come back with the conversation, such as signed thoughts. It travels in the member
 * `extra_content` of a tool call or an assistant message, under the name of its vendor. `sealgate: true` marks state
 * that this product put there: it must not be sent to providers of Chat Completions, which refuse unknown members.
 */
import { Predicate } from "effect"
import type { AssistantMessage, ChatRequest, ToolCall } from "../../../../domain/chat.ts"

/** Wraps `state` of `vendor` as an `extra_content` member; nothing if there is no state. */
export const extraContent = (
  vendor: string,
  state: Readonly<Record<string, unknown>> | undefined,
): { readonly extra_content?: unknown } =>
  state === undefined ? {} : { extra_content: { [vendor]: state, sealgate: true } }

/** The state of `vendor` in the `extra_content` of `holder`. */
export const stateOf = (holder: Readonly<Record<string, unknown>>, vendor: string): unknown => {
  const extra = holder["extra_content"]
  return Predicate.hasProperty(extra, vendor) ? extra[vendor] : undefined
}

/** `request` without the `extra_content` that this product put into earlier answers; a caller's own stays. */
export const withoutExtraContent = (request: ChatRequest): ChatRequest =>
  request.messages.some((message) => message.role === "assistant" && holdsState(message))
    ? {
        ...request,
        messages: request.messages.map((message) =>
          message.role === "assistant" && holdsState(message) ? withoutState(message) : message,
        ),
      }
    : request

const holdsState = (message: AssistantMessage): boolean => isOurs(message) || (message.tool_calls ?? []).some(isOurs)

const withoutState = (message: AssistantMessage): AssistantMessage => {
  const { tool_calls: calls, ...rest } = strip(message)
  return calls === undefined ? rest : { ...rest, tool_calls: calls.map(strip) }
}

const strip = <A extends AssistantMessage | ToolCall>(holder: A): A => {
  if (!isOurs(holder)) return holder
  const { extra_content: _, ...rest } = holder
  // Only `extra_content` is gone, a member that neither schema knows.
  return rest as A
}

const isOurs = (holder: Readonly<Record<string, unknown>>): boolean => {
  const extra = holder["extra_content"]
  return Predicate.hasProperty(extra, "sealgate") && extra.sealgate === true
}
