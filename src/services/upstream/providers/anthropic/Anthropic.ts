/** The Anthropic Messages API, version 2023-06-01. */
import { Redacted } from "effect"
import { type ApiName, APIS } from "../../../../domain/upstream/apis.ts"
import { joinUrl } from "../../../../domain/url.ts"
import { AnthropicChunkReader } from "./ChunkReader.ts"
import { fromResponse } from "./fromResponse.ts"
import { toRequest } from "./toRequest.ts"
import type { ProviderFormat, ProviderDescriptor } from "../shared/Descriptor.ts"
import { nativeBody } from "../shared/nativeBody.ts"

const API_VERSION = "2023-06-01"
const KEY_HEADER = "x-api-key"

const messages: ProviderFormat = {
  title: "Anthropic Messages API",
  errors: {
    invalid_request_error: 400,
    authentication_error: 401,
    billing_error: 402,
    permission_error: 403,
    not_found_error: 404,
    request_too_large: 413,
    rate_limit_error: 429,
    api_error: 500,
    timeout_error: 504,
    overloaded_error: 529,
  },
  // The base URL has no path, for example `https://api.anthropic.com`.
  wireFormat: ({ apiKey, baseUrl }) => {
    const urlOf = (api: ApiName) => joinUrl(baseUrl, APIS[api].path)
    const url = urlOf("messages")
    const headers = { "anthropic-version": API_VERSION, [KEY_HEADER]: Redacted.value(apiKey) }
    return {
      name: "anthropic",
      request: (asked, call, unsupported) => ({
        url,
        headers,
        body: JSON.stringify(toRequest(asked, call, unsupported)),
      }),
      completion: fromResponse,
      reader: (call) => new AnthropicChunkReader(call),
      native: {
        names: new Set(["messages", "messages.count_tokens"]),
        request: (call) => ({
          url: urlOf(call.api),
          headers: { ...headers, ...call.headers, [KEY_HEADER]: headers[KEY_HEADER] },
          body: nativeBody(call),
        }),
      },
    }
  },
}

export const anthropic: ProviderDescriptor = {
  format: messages,
  baseUrl: "https://api.anthropic.com",
  model: "claude-sonnet-5-5",
  aliases: { apiKey: ["ANTHROPIC_API_KEY"], baseUrl: ["ANTHROPIC_BASE_URL"], model: ["ANTHROPIC_MODEL"] },
}
