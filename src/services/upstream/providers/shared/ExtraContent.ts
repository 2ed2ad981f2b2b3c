/**
 * Provider state that has to come back with the conversation, such as signed thoughts. It travels in the member
 * `extra_content` of a tool call or an assistant message, under the name of its vendor. `sealgate: true` marks state
 * that this product put there. Providers of Chat Completions refuse unknown members, so they must not get it.
 */
import { Predicate } from "effect"
import type { Bytes } from "../../../../domain/bytes/bytes.ts"
import { isObject, type JsonObject } from "../../../../domain/json/json.ts"

/** Wraps `state` of `vendor` as an `extra_content` member; nothing if there is no state. */
export const extraContent = (
  vendor: string,
  state: Readonly<Record<string, unknown>> | undefined,
): { readonly extra_content?: unknown } =>
  state === undefined ? {} : { extra_content: { [vendor]: state, sealgate: true } }

export const stateOf = (holder: Readonly<Record<string, unknown>>, vendor: string): unknown => {
  const extra = holder["extra_content"]
  return Predicate.hasProperty(extra, vendor) ? extra[vendor] : undefined
}

/** Whether a request's text may hold state from this product. `true` may be wrong, `false` is certain. */
export const mayHoldState = ({ buffer, byteOffset, length }: Bytes): boolean => {
  const json = Buffer.from(buffer, byteOffset, length)
  return json.includes('"extra_content"') && json.includes('"sealgate"')
}

/** Removes the `extra_content` that this product put into earlier answers. A caller's own stays. */
export const withoutExtraContent = (messages: unknown): unknown =>
  Array.isArray(messages) && messages.some(holdsState) ? messages.map(withoutState) : messages

const holdsState = (message: unknown): boolean =>
  isObject(message) && message["role"] === "assistant" && (isOurs(message) || callsOf(message).some(isOurs))

const withoutState = (message: unknown): unknown => {
  if (!isObject(message) || !holdsState(message)) return message
  const rest = strip(message)
  return callsOf(message).length === 0 ? rest : { ...rest, tool_calls: callsOf(message).map(strip) }
}

const callsOf = ({ tool_calls: calls }: JsonObject): ReadonlyArray<JsonObject> =>
  Array.isArray(calls) ? calls.filter(isObject) : []

const strip = (holder: JsonObject): JsonObject => {
  if (!isOurs(holder)) return holder
  const { extra_content: _, ...rest } = holder
  return rest
}

const isOurs = (holder: JsonObject): boolean => {
  const extra = holder["extra_content"]
  return isObject(extra) && extra["sealgate"] === true
}
