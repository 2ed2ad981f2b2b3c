import type { UsageClaims } from "../domain/protocol/statement.ts"
import { isObject } from "../domain/json/json.ts"

/** Returns text such as `900 tokens in (800 from the cache, 64 into it), 20 out`. */
export const tokensText = ({ completion_tokens, prompt_tokens, prompt_tokens_details }: UsageClaims): string => {
  const details = isObject(prompt_tokens_details) ? prompt_tokens_details : {}
  const cache = [
    cacheText(details["cached_tokens"], "from the cache"),
    cacheText(details["cache_write_tokens"], "into it"),
  ].filter((text) => text !== undefined)
  const cached = cache.length === 0 ? "" : ` (${cache.join(", ")})`
  return `${JSON.stringify(prompt_tokens)} ${prompt_tokens === 1 ? "token" : "tokens"} in${cached}, ${JSON.stringify(completion_tokens)} out`
}

const cacheText = (count: unknown, where: string): string | undefined =>
  typeof count === "number" && count > 0 ? `${count} ${where}` : undefined
