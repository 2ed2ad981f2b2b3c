/** The Anthropic Messages API, version 2023-06-01. */
import { type Effect, Redacted } from "effect"
import type { Provider } from "../../Provider.ts"
import type { ProviderHttp } from "../../ProviderHttp.ts"
import { AnthropicChunkReader } from "./ChunkReader.ts"
import { fromResponse } from "./fromResponse.ts"
import { toRequest } from "./toRequest.ts"
import type { ProviderDescriptor } from "../shared/Descriptor.ts"
import { joinUrl, makeHttpProvider } from "../shared/HttpProvider.ts"
import type { ProviderOptions } from "../shared/WireFormat.ts"

const API_VERSION = "2023-06-01"
const KEY_HEADER = "x-api-key"

/** A provider at `baseUrl`, such as `https://api.anthropic.com`. */
export const make = (options: ProviderOptions): Effect.Effect<Provider, never, ProviderHttp> => {
  const url = joinUrl(options.baseUrl, "v1/messages")
  const headers = { "anthropic-version": API_VERSION, [KEY_HEADER]: Redacted.value(options.apiKey) }
  return makeHttpProvider(options, {
    name: "anthropic",
    singleToolCall: true,
    request: (asked, call, unsupported) => ({
      url,
      headers,
      body: JSON.stringify(toRequest(asked, call, unsupported)),
    }),
    completion: fromResponse,
    reader: (call) => new AnthropicChunkReader(call),
  })
}

export const anthropic: ProviderDescriptor = {
  api: { title: "Anthropic Messages API", endpoint: "Its endpoint", make },
  baseUrl: "https://api.anthropic.com",
  model: "claude-sonnet-5-5",
  aliases: { apiKey: ["ANTHROPIC_API_KEY"], baseUrl: ["ANTHROPIC_BASE_URL"], model: ["ANTHROPIC_MODEL"] },
}
