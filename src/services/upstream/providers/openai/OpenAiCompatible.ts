/** Providers of OpenAI Chat Completions: requests pass with all members; answers are checked and completed. */
import { Redacted } from "effect"
import type { ChatRequest, Message } from "../../../../domain/chat/chat.ts"
import type { Bytes } from "../../../../domain/bytes/bytes.ts"
import { type ApiName, APIS, CHAT_COMPLETIONS } from "../../../../domain/upstream/apis.ts"
import { isObject } from "../../../../domain/json/json.ts"
import type { RawObject } from "../../../../domain/json/rawObject.ts"
import { joinUrl } from "../../../../domain/url.ts"
import { OpenAiChunkReader } from "./ChunkReader.ts"
import { fromResponse } from "./fromResponse.ts"
import type { ProviderFormat } from "../shared/Descriptor.ts"
import { mayHoldState, withoutExtraContent } from "../shared/ExtraContent.ts"
import { mayHoldCallIds, withCallIds } from "../mistral/callIds.ts"
import { nativeBody } from "../shared/nativeBody.ts"

/** A change that messages for a vendor need. */
interface MessageChange {
  /** Whether a request's text seems to need it: only then are its messages parsed. */
  readonly mayApply: (json: Bytes) => boolean
  /** Returns `messages` itself if there is nothing to change. */
  readonly apply: (messages: unknown) => unknown
}

/** The members to replace in a chat: changed messages, and `stream_options` if `asksUsage`. */
const chatValues = (
  body: RawObject,
  asksUsage: boolean,
  { apply, mayApply }: MessageChange,
): Readonly<Record<string, string>> => {
  const options = body.value("stream_options")
  const isCounted = !asksUsage || (isObject(options) && options["include_usage"] === true)
  const messages = mayApply(body.bytes) ? body.value("messages") : undefined
  const changed = apply(messages)
  return {
    ...(isCounted ? {} : { stream_options: JSON.stringify({ ...Object(options), include_usage: true }) }),
    ...(changed === messages ? {} : { messages: JSON.stringify(changed) }),
  }
}

/** No vendor gets this product's own state. */
const WITHOUT_STATE: MessageChange = { mayApply: mayHoldState, apply: withoutExtraContent }

export const MISTRAL_MESSAGES: MessageChange = {
  mayApply: (json) => mayHoldState(json) || mayHoldCallIds(json),
  apply: (messages) => withCallIds(withoutExtraContent(messages)),
}

/** OpenAI takes `null` in place of many members, but not of this one. */
const withoutNullCalls = (message: Message): Message => {
  if (message.role !== "assistant" || message.tool_calls !== null) return message
  const { tool_calls: _, ...rest } = message
  return rest
}

const OLDER_LIMIT = ["max_completion_tokens", "max_tokens"] as const

/** The request with its output limit in the older member. */
const withOlderLimit = ({ max_completion_tokens: limit, ...request }: ChatRequest): ChatRequest =>
  limit == null ? request : { ...request, max_tokens: request.max_tokens ?? limit }

/** Models whose servers refused `stream_options`, as some of Azure AI Foundry and Databricks do. */
const refusing = new Set<string>()
const MAX_REFUSING = 1000

const ERRORS = {
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
  // Codes of a response that failed over one of its images.
  empty_image_file: 400,
  failed_to_download_image: 400,
  image_file_not_found: 400,
  image_file_too_large: 400,
  image_parse_error: 400,
  image_too_large: 400,
  image_too_small: 400,
  invalid_base64_image: 400,
  invalid_image: 400,
  invalid_image_format: 400,
  invalid_image_mode: 400,
  invalid_image_url: 400,
  unsupported_image_media_type: 400,
}

export const openAiCompatibleWith = (messages: MessageChange): ProviderFormat => ({
  title: "OpenAI-compatible",
  errors: ERRORS,
  // The base URL ends in the version, as in `https://api.openai.com/v1`.
  wireFormat: ({ apiKey, baseUrl }) => {
    const urlOf = (api: ApiName) => joinUrl(baseUrl, APIS[api].path)
    const headers = { authorization: `Bearer ${Redacted.value(apiKey)}` }
    const { hostname } = new URL(baseUrl)
    // Mistral always reports the usage, and refuses to be asked for it (https://github.com/BerriAI/litellm/issues/8978).
    const isAtMistral = /(^|\.)mistral\.ai\.?$/.test(hostname)
    const takesOptions = (model: string) => !isAtMistral && !refusing.has(`${baseUrl} ${model}`)
    const change = isAtMistral ? MISTRAL_MESSAGES : messages
    // Mistral refuses the newer one (https://docs.mistral.ai/api), DeepSeek ignores it (https://api-docs.deepseek.com/api/create-chat-completion).
    const knowsOlderLimit = change === MISTRAL_MESSAGES || /(^|\.)deepseek\.com\.?$/.test(hostname)
    return {
      name: "openai",
      request: (asked, call) => {
        const spoken = knowsOlderLimit ? withOlderLimit(asked) : asked
        const { stream: _stream, stream_options: given, ...members } = spoken
        const body = {
          ...members,
          messages: change.apply(asked.messages.map(withoutNullCalls)),
          model: call.model,
          // Usage is always requested, because the ledger depends on it.
          ...(call.stream ? { stream: true } : {}),
          ...(call.stream && takesOptions(call.model) ? { stream_options: { ...given, include_usage: true } } : {}),
        }
        return { url: urlOf(CHAT_COMPLETIONS), headers, body: JSON.stringify(body) }
      },
      completion: fromResponse,
      reader: (call) => new OpenAiChunkReader(call),
      learn: ({ detail }, { model, options }) => {
        // A caller's own options may be the cause. Forgetting usage would cost all other callers theirs.
        if (detail === undefined || Object.keys(options).some((name) => name !== "include_usage")) return false
        const isNew = takesOptions(model) && Redacted.value(detail).includes("stream_options")
        if (refusing.size >= MAX_REFUSING) refusing.clear()
        if (isNew) refusing.add(`${baseUrl} ${model}`)
        return isNew
      },
      native: {
        names: new Set([CHAT_COMPLETIONS, "responses", "embeddings"]),
        request: (call, stream) => ({
          url: urlOf(call.api),
          headers: { ...call.headers, ...headers },
          body: nativeBody(
            call,
            call.api === CHAT_COMPLETIONS ? chatValues(call.body, stream && takesOptions(call.model), change) : {},
            takesOptions(call.model) ? undefined : "stream_options",
            knowsOlderLimit && call.api === CHAT_COMPLETIONS && !call.body.has("max_tokens") ? OLDER_LIMIT : undefined,
          ),
        }),
      },
    }
  },
})

export const openAiCompatible = openAiCompatibleWith(WITHOUT_STATE)
