/** Tools of types other than `function`, which only providers of the request's API know. */
import { isObject } from "../../domain/json/json.ts"
import type { RawObject } from "../../domain/json/rawObject.ts"
import type { ProviderFailure } from "./Provider.ts"
import { Unsupported } from "./providers/shared/Unsupported.ts"

/** The failure that names a chat's tools of other types, and their calls; `undefined` if there are none. */
export const otherTools = (body: RawObject): ProviderFailure | undefined => {
  const unsupported = new Unsupported()
  const check = (tool: unknown, path: string) => {
    if (isObject(tool) && typeof tool["type"] === "string" && tool["type"] !== "function") {
      unsupported.add(path, "this provider has no tools of this type")
    }
  }
  for (const [i, tool] of listIn(body.value("tools")).entries()) check(tool, `tools[${i}]`)
  check(body.value("tool_choice"), "tool_choice")
  for (const [i, message] of listIn(body.value("messages")).entries()) {
    const calls = isObject(message) ? listIn(message["tool_calls"]) : []
    for (const [j, call] of calls.entries()) check(call, `messages[${i}].tool_calls[${j}]`)
  }
  return unsupported.failure
}

const listIn = (value: unknown): ReadonlyArray<unknown> => (Array.isArray(value) ? value : [])
