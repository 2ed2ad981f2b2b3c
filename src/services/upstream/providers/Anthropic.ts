/** The Anthropic Messages API, version 2023-06-01. */
import { type Effect, Redacted } from "effect"
import { type HttpClient, HttpClientRequest } from "effect/http"
import type { Provider } from "../Provider.ts"
import { AnthropicChunkReader } from "./anthropic/ChunkReader.ts"
import { fromResponse } from "./anthropic/fromResponse.ts"
import { toRequest } from "./anthropic/toRequest.ts"
import { joinUrl, makeHttpProvider } from "./shared/HttpProvider.ts"
import type { ProviderOptions } from "./shared/WireFormat.ts"

const API_VERSION = "2023-06-01"

/** A provider at `baseUrl`, such as `https://api.anthropic.com`. */
export const make = (options: ProviderOptions): Effect.Effect<Provider, never, HttpClient.HttpClient> => {
  const endpoint = HttpClientRequest.post(joinUrl(options.baseUrl, "v1/messages"), {
    headers: { "anthropic-version": API_VERSION, "x-api-key": Redacted.value(options.apiKey) },
  })
  return makeHttpProvider(options, {
    singleToolCall: true,
    request: (asked, call, unsupported) =>
      HttpClientRequest.bodyJsonUnsafe(endpoint, toRequest(asked, call, unsupported)),
    completion: fromResponse,
    reader: (call) => new AnthropicChunkReader(call),
  })
}
