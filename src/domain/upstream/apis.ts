/**
 * The APIs of model providers that a request can be for: the one table that the proxy, both clients, the connector and
 * the pages of the protocol go by. What a request and an answer hold is each vendor's own business.
 */
import type { JsonObject } from "../json/json.ts"

/** Whose SDKs speak it, and in whose form it reports errors. */
export type ApiVendor = "openai" | "anthropic"

/** How the vendor streams an answer. */
interface ApiStream {
  /** Whether a stream may begin anew after output: not where agents act on what came so far. */
  readonly restart: boolean
  /** The name of the server-sent event that `delta` is the data of, if events have names. */
  readonly eventName: (delta: JsonObject) => string | undefined
  /** What the vendor sends after the last event. */
  readonly sentinel?: "[DONE]"
}

interface Api {
  readonly vendor: ApiVendor
  /** Where it is below the base URL that the vendor's SDKs are given. */
  readonly path: string
  /** How it streams; absent if its answers only come whole. */
  readonly stream?: ApiStream
}

export const CHAT_COMPLETIONS = "chat.completions"

const typeOf = ({ type }: JsonObject): string | undefined => (typeof type === "string" ? type : undefined)

/** Every API by its name, the `api` of a request. */
export const APIS = {
  [CHAT_COMPLETIONS]: {
    vendor: "openai",
    path: "/chat/completions",
    stream: { restart: true, eventName: () => undefined, sentinel: "[DONE]" },
  },
  responses: {
    vendor: "openai",
    path: "/responses",
    stream: { restart: false, eventName: typeOf },
  },
  embeddings: { vendor: "openai", path: "/embeddings" },
  messages: {
    vendor: "anthropic",
    path: "/v1/messages",
    stream: { restart: false, eventName: typeOf },
  },
  "messages.count_tokens": { vendor: "anthropic", path: "/v1/messages/count_tokens" },
} as const satisfies Readonly<Record<string, Api>>

export type ApiName = keyof typeof APIS

export const API_NAMES = Object.keys(APIS) as ReadonlyArray<ApiName>

export const isApiName = (name: string): name is ApiName => Object.hasOwn(APIS, name)

/** What is known of an API, whichever it is. */
export const apiOf = (name: ApiName): Api => APIS[name]

/**
 * The headers of a vendor's API that say how a model is called, by their names in lower case. They travel under the seal;
 * others are about whoever calls, and are no business of the provider.
 */
export const API_HEADERS: Readonly<Record<ApiVendor, ReadonlyArray<string>>> = {
  openai: ["openai-beta"],
  anthropic: ["anthropic-version", "anthropic-beta"],
}
