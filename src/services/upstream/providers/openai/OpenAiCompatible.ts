/**
 * Providers that speak OpenAI Chat Completions. The request is in their language already, so everything in it is passed
 * on, members unknown here included; answers are checked, and completed where servers are careless.
 */
import { type Effect, Redacted } from "effect"
import type { Provider } from "../../Provider.ts"
import type { ProviderHttp } from "../../ProviderHttp.ts"
import { OpenAiChunkReader } from "./ChunkReader.ts"
import { fromResponse } from "./fromResponse.ts"
import type { ProviderApi } from "../shared/Descriptor.ts"
import { withoutExtraContent } from "../shared/ExtraContent.ts"
import { joinUrl, makeHttpProvider } from "../shared/HttpProvider.ts"
import type { ProviderOptions } from "../shared/WireFormat.ts"

/** A provider at `baseUrl`, which ends in the version as in `https://api.openai.com/v1`. */
export const make = (options: ProviderOptions): Effect.Effect<Provider, never, ProviderHttp> => {
  const url = joinUrl(options.baseUrl, "chat/completions")
  const headers = { authorization: `Bearer ${Redacted.value(options.apiKey)}` }
  return makeHttpProvider(options, {
    name: "openai",
    singleToolCall: true,
    request: (asked, call) => {
      const { stream: _stream, stream_options: streamOptions, ...members } = withoutExtraContent(asked)
      const body = {
        ...members,
        model: call.model,
        // Usage is what the ledger lives on, so it is always asked for.
        ...(call.stream ? { stream: true, stream_options: { ...streamOptions, include_usage: true } } : {}),
      }
      return { url, headers, body: JSON.stringify(body) }
    },
    completion: fromResponse,
    reader: (call) => new OpenAiChunkReader(call),
  })
}

export const openAiCompatible: ProviderApi = {
  title: "OpenAI-compatible",
  endpoint: "Its endpoint, version included; any OpenAI-compatible server",
  make,
}
