/** Ids of tool calls: Mistral refuses any but 9 letters and digits, so others get a digest in their place. */
import { createHash } from "node:crypto"
import type { Bytes } from "../../../../domain/bytes/bytes.ts"
import { isObject, type JsonObject } from "../../../../domain/json/json.ts"

const LENGTH = 9
const TAKEN = /^[a-zA-Z0-9]{9}$/

const isForeign = (id: unknown): id is string => typeof id === "string" && !TAKEN.test(id)

const digestOf = (id: string): string =>
  createHash("sha256").update(id).digest("base64url").replaceAll(/[-_]/g, "").slice(0, LENGTH)

/** Whether a request's text may hold ids of tool calls. Misses names that are written with escapes, which no client does. */
export const mayHoldCallIds = ({ buffer, byteOffset, length }: Bytes): boolean =>
  Buffer.from(buffer, byteOffset, length).includes('"tool_call')

/** Replaces ids in calls and results alike. */
export const withCallIds = (messages: unknown): unknown =>
  Array.isArray(messages) && messages.some(holdsForeign) ? messages.map(withTaken) : messages

const callsOf = ({ tool_calls: calls }: JsonObject): ReadonlyArray<unknown> => (Array.isArray(calls) ? calls : [])

const holdsForeign = (message: unknown): boolean =>
  isObject(message) &&
  (isForeign(message["tool_call_id"]) || callsOf(message).some((call) => isObject(call) && isForeign(call["id"])))

const withTaken = (message: unknown): unknown => {
  if (!isObject(message) || !holdsForeign(message)) return message
  const replaced = replace(message, "tool_call_id")
  const calls = callsOf(message).map((call) => (isObject(call) ? replace(call, "id") : call))
  return calls.length === 0 ? replaced : { ...replaced, tool_calls: calls }
}

const replace = (holder: JsonObject, name: string): JsonObject => {
  const id = holder[name]
  return isForeign(id) ? { ...holder, [name]: digestOf(id) } : holder
}
