/** The supported APIs of model providers. The content of requests and answers is defined by each vendor. */
import type { JsonObject } from "../json/json.ts"

/** The vendor whose SDKs and error format an API has. */
export type ApiVendor = "openai" | "anthropic"

interface ApiStream {
  /** Whether a stream may restart after output; not in APIs whose agents act on partial output. */
  readonly restart: boolean
  /** The name of the server-sent event with the data `delta`, if events have names. */
  readonly eventName: (delta: JsonObject) => string | undefined
  /** Data after the last event. */
  readonly sentinel?: "[DONE]"
}

/** Members that limit the length of an answer, in the APIs that have one. */
export type LimitMember = "max_completion_tokens" | "max_tokens" | "max_output_tokens"

interface Api {
  readonly vendor: ApiVendor
  /** Path below the base URL of the vendor's SDKs. */
  readonly path: string
  /** Absent if the API does not stream. */
  readonly stream?: ApiStream
  /** The usual one first; empty if answers are no text. */
  readonly limits: ReadonlyArray<LimitMember>
}

export const CHAT_COMPLETIONS = "chat.completions"

const typeOf = ({ type }: JsonObject): string | undefined => (typeof type === "string" ? type : undefined)

/** Every API by its name, the `api` of a request. */
export const APIS = {
  [CHAT_COMPLETIONS]: {
    vendor: "openai",
    path: "/chat/completions",
    stream: { restart: true, eventName: () => undefined, sentinel: "[DONE]" },
    limits: ["max_completion_tokens", "max_tokens"],
  },
  responses: {
    vendor: "openai",
    path: "/responses",
    stream: { restart: false, eventName: typeOf },
    limits: ["max_output_tokens"],
  },
  embeddings: { vendor: "openai", path: "/embeddings", limits: [] },
  messages: {
    vendor: "anthropic",
    path: "/v1/messages",
    stream: { restart: false, eventName: typeOf },
    limits: ["max_tokens"],
  },
  "messages.count_tokens": { vendor: "anthropic", path: "/v1/messages/count_tokens", limits: [] },
} as const satisfies Readonly<Record<string, Api>>

export type ApiName = keyof typeof APIS

export const API_NAMES = Object.keys(APIS) as ReadonlyArray<ApiName>

export const isApiName = (name: string): name is ApiName => Object.hasOwn(APIS, name)

/** Returns the API of a `POST` to this path, with any base path before it. */
export const apiAt = (pathname: string): ApiName | undefined =>
  API_NAMES.find((api) => pathname.endsWith(apiOf(api).path))

export const apiOf = (name: ApiName): Api => APIS[name]

/** Headers that affect the model call, in lower case. Only they reach the provider; others describe the caller. */
export const API_HEADERS: Readonly<Record<ApiVendor, ReadonlyArray<string>>> = {
  openai: ["openai-beta"],
  anthropic: ["anthropic-version", "anthropic-beta"],
}
