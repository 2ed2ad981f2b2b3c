/** The Gemini API, version v1beta. */
import { type Effect, Redacted } from "effect"
import type { Provider } from "../../Provider.ts"
import type { ProviderHttp } from "../../ProviderHttp.ts"
import { GeminiChunkReader } from "./ChunkReader.ts"
import { fromResponse } from "./fromResponse.ts"
import { toRequest } from "./toRequest.ts"
import type { ProviderDescriptor } from "../shared/Descriptor.ts"
import { joinUrl, makeHttpProvider } from "../shared/HttpProvider.ts"
import type { ProviderOptions } from "../shared/WireFormat.ts"

const KEY_HEADER = "x-goog-api-key"

/** A provider at `baseUrl`, such as `https://generativelanguage.googleapis.com`. */
export const make = (options: ProviderOptions): Effect.Effect<Provider, never, ProviderHttp> =>
  makeHttpProvider(options, {
    name: "gcp.gemini",
    singleToolCall: false,
    request: (asked, call, unsupported) => {
      // The model is part of the path, where a caller's text must not become anything else.
      if (!MODEL.test(call.model)) unsupported.add("model", "not the name of a model")
      const path = call.model.includes("/") ? call.model : `models/${call.model}`
      const method = call.stream ? "streamGenerateContent?alt=sse" : "generateContent"
      // The key travels in a header, because URLs are recorded in spans.
      const headers = { [KEY_HEADER]: Redacted.value(options.apiKey) }
      const body = JSON.stringify(toRequest(asked, call, unsupported))
      return { url: joinUrl(options.baseUrl, `v1beta/${path}:${method}`), headers, body }
    },
    completion: fromResponse,
    reader: (call) => new GeminiChunkReader(call),
  })

/** A model's name, or its resource name as in `tunedModels/…`. */
const MODEL = /^([a-zA-Z]+\/)?[a-zA-Z0-9][a-zA-Z0-9._-]*$/

export const gemini: ProviderDescriptor = {
  api: { title: "Google Gemini API", endpoint: "Its endpoint", make },
  baseUrl: "https://generativelanguage.googleapis.com",
  model: "gemini-3.8-flash",
  aliases: { apiKey: ["GEMINI_API_KEY", "GOOGLE_API_KEY"], baseUrl: ["GEMINI_BASE_URL"], model: ["GEMINI_MODEL"] },
}
