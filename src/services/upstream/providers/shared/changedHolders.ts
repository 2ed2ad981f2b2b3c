import { isObject, type JsonObject } from "../../../../domain/json/json.ts"

/** Changes the messages of a chat and their tool calls. `change` returns an object itself if there is nothing to change. */
export const changedHolders = (
  messages: unknown,
  change: (holder: JsonObject, message: JsonObject) => JsonObject,
): unknown =>
  unlessEqual(messages, (message) => {
    if (!isObject(message)) return message
    const own = change(message, message)
    const { tool_calls: calls } = own
    const changed = unlessEqual(calls, (call) => (isObject(call) ? change(call, message) : call))
    return changed === calls ? own : { ...own, tool_calls: changed }
  })

/** The same list if no item changes. */
const unlessEqual = (list: unknown, change: (item: unknown) => unknown): unknown => {
  if (!Array.isArray(list)) return list
  const changed = list.map(change)
  return changed.some((item, i) => item !== list[i]) ? changed : list
}
