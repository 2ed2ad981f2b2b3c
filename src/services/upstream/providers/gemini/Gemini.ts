/** The Gemini API, version v1beta. */
import { Redacted } from "effect"
import { joinUrl } from "../../../../domain/url.ts"
import { GeminiChunkReader } from "./ChunkReader.ts"
import { fromResponse } from "./fromResponse.ts"
import { toRequest } from "./toRequest.ts"
import type { ProviderFormat, ProviderDescriptor } from "../shared/Descriptor.ts"

const KEY_HEADER = "x-goog-api-key"

/** A model's name, or its resource name as in `tunedModels/…`. */
const MODEL = /^([a-zA-Z]+\/)?[a-zA-Z0-9][a-zA-Z0-9._-]*$/

const generateContent: ProviderFormat = {
  title: "Google Gemini API",
  // The names of google.rpc.Code.
  errors: {
    INVALID_ARGUMENT: 400,
    FAILED_PRECONDITION: 400,
    OUT_OF_RANGE: 400,
    UNAUTHENTICATED: 401,
    PERMISSION_DENIED: 403,
    NOT_FOUND: 404,
    ABORTED: 409,
    RESOURCE_EXHAUSTED: 429,
    CANCELLED: 499,
    INTERNAL: 500,
    UNAVAILABLE: 503,
    DEADLINE_EXCEEDED: 504,
  },
  // The base URL has no path, for example `https://generativelanguage.googleapis.com`.
  wireFormat: ({ apiKey, baseUrl }) => ({
    name: "gcp.gemini",
    request: (asked, call, unsupported) => {
      // The model is part of the path, so a caller's text must not change the rest of the path.
      if (!MODEL.test(call.model)) unsupported.add("model", "not the name of a model")
      const path = call.model.includes("/") ? call.model : `models/${call.model}`
      const method = call.stream ? "streamGenerateContent?alt=sse" : "generateContent"
      // The key travels in a header, because URLs are recorded in spans.
      const headers = { [KEY_HEADER]: Redacted.value(apiKey) }
      const body = JSON.stringify(toRequest(asked, call, unsupported))
      return { url: joinUrl(baseUrl, `v1beta/${path}:${method}`), headers, body }
    },
    completion: fromResponse,
    reader: (call) => new GeminiChunkReader(call),
  }),
}

export const gemini: ProviderDescriptor = {
  format: generateContent,
  baseUrl: "https://generativelanguage.googleapis.com",
  model: "gemini-3.8-flash",
  aliases: { apiKey: ["GEMINI_API_KEY", "GOOGLE_API_KEY"], baseUrl: ["GEMINI_BASE_URL"], model: ["GEMINI_MODEL"] },
}
