/**
 * Provider state that has to come back with the conversation, such as signed thoughts. It travels in the member
 * `extra_content` of a tool call or an assistant message, under the name of its vendor. `sealgate: true` marks state
 * that this product put there. Providers of Chat Completions refuse unknown members, so they must not get it.
 */
import { Predicate } from "effect"
import type { Bytes } from "../../../../domain/bytes/bytes.ts"
import { isObject } from "../../../../domain/json/json.ts"
import { changedHolders } from "./changedHolders.ts"

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
  changedHolders(messages, (holder, message) => {
    const { extra_content: extra, ...rest } = holder
    return message["role"] === "assistant" && isObject(extra) && extra["sealgate"] === true ? rest : holder
  })
