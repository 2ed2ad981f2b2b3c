/**
 * Providers that speak OpenAI Chat Completions. Requests are in this format already, so they are passed on with all
 * members, unknown ones included. Answers are checked, and completed where servers leave members out.
 */
import { Redacted } from "effect"
import { joinUrl } from "../../../../domain/url.ts"
import { OpenAiChunkReader } from "./ChunkReader.ts"
import { fromResponse } from "./fromResponse.ts"
import type { ProviderApi } from "../shared/Descriptor.ts"
import { withoutExtraContent } from "../shared/ExtraContent.ts"

export const openAiCompatible: ProviderApi = {
  title: "OpenAI-compatible",
  endpoint: "Its endpoint, version included; any OpenAI-compatible server",
  errors: {
    BadRequestError: 400,
    AuthenticationError: 401,
    invalid_api_key: 401,
    PermissionDeniedError: 403,
    NotFoundError: 404,
    RateLimitError: 429,
    rate_limit_exceeded: 429,
    too_many_requests: 429,
    server_error: 500,
    InternalServerError: 500,
  },
  // The base URL ends in the version, as in `https://api.openai.com/v1`.
  wireFormat: ({ apiKey, baseUrl }) => {
    const url = joinUrl(baseUrl, "chat/completions")
    const headers = { authorization: `Bearer ${Redacted.value(apiKey)}` }
    return {
      name: "openai",
      singleToolCall: true,
      request: (asked, call) => {
        const { stream: _stream, stream_options: streamOptions, ...members } = withoutExtraContent(asked)
        const body = {
          ...members,
          model: call.model,
          // Usage is always requested, because the ledger depends on it.
          ...(call.stream ? { stream: true, stream_options: { ...streamOptions, include_usage: true } } : {}),
        }
        return { url, headers, body: JSON.stringify(body) }
      },
      completion: fromResponse,
      reader: (call) => new OpenAiChunkReader(call),
    }
  },
}
