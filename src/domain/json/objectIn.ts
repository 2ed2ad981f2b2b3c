import { JSON_LIMITS, type JsonLimits } from "./iJson.ts"
import { isObject, type JsonObject, parseJson } from "./json.ts"

/** Whether JSON has more levels or values than `limits`. Each value has a comma, an opening bracket or the text before it. */
const exceeds = (text: string, limits: JsonLimits): boolean => {
  let depth = 0
  let values = 0
  let isQuoted = false
  for (let i = 0; i < text.length; i++) {
    const char = text[i]
    if (char === '"') isQuoted = !isQuoted
    else if (isQuoted) i += char === "\\" ? 1 : 0
    else if (char === "[" || char === "{") {
      values++
      if (++depth > limits.depth) return true
    } else if (char === "]" || char === "}") depth--
    else if (char === ",") values++
    if (values > limits.values) return true
  }
  return false
}

/** Parses an object that a model wrote, half surrogate pairs included; `undefined` if none or beyond `limits`. */
export const objectIn = (text: string, limits = JSON_LIMITS): JsonObject | undefined => {
  const value = exceeds(text, limits) ? undefined : parseJson(text)
  return isObject(value) ? value : undefined
}
