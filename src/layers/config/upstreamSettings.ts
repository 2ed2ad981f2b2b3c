/** Settings of the model providers and of the policy that deals with their faults. */
import { durationText, intText, PlainText, parsed, SecretText, UrlText } from "./codecs.ts"
import { optionalSetting, setting } from "./Setting.ts"
import { Duration, Schema } from "effect"
import { POLICY_BOUNDS } from "../../domain/routing.ts"
import type { ProviderId } from "../../domain/upstream.ts"

export const SLOTS = ["provider1", "provider2", "provider3", "provider4"] as const satisfies ReadonlyArray<ProviderId>
export type Slot = (typeof SLOTS)[number]

const parseOrder = (text: string): ReadonlyArray<Slot> | undefined => {
  const named = text.split(",").map((part) =>
    part
      .trim()
      .toLowerCase()
      .replace(/^provider/, ""),
  )
  const slots = named.flatMap((name) => SLOTS.filter((slot) => slot === `provider${name}`))
  return slots.length === named.length && new Set(slots).size === slots.length ? slots : undefined
}

const OrderText = parsed(
  Schema.Array(Schema.Literals(SLOTS)),
  parseOrder,
  "providers in order, each once, such as 3,1 or provider3,provider1",
)

const COUNT = intText(1, 1_000_000)
const WAIT = durationText(Duration.millis(POLICY_BOUNDS.waitMs.maximum))

export const upstreamSettings = {
  provider1ApiKey: optionalSetting(
    "PROVIDER1_API_KEY",
    SecretText,
    "API key of provider 1, which enables it; OpenAI-compatible",
    ["OPENAI_API_KEY"],
  ),
  provider1BaseUrl: setting(
    "PROVIDER1_BASE_URL",
    UrlText,
    "https://api.openai.com/v1",
    "Its endpoint, version included; any OpenAI-compatible server",
    ["OPENAI_BASE_URL"],
  ),
  provider1Model: setting("PROVIDER1_MODEL", PlainText, "gpt-6-sol", "Its model when a request names none", [
    "OPENAI_MODEL",
  ]),
  provider2ApiKey: optionalSetting(
    "PROVIDER2_API_KEY",
    SecretText,
    "API key of provider 2, which enables it; OpenAI-compatible",
    ["MISTRAL_API_KEY"],
  ),
  provider2BaseUrl: setting(
    "PROVIDER2_BASE_URL",
    UrlText,
    "https://api.mistral.ai/v1",
    "Its endpoint, version included; any OpenAI-compatible server",
    ["MISTRAL_BASE_URL"],
  ),
  provider2Model: setting("PROVIDER2_MODEL", PlainText, "mistral-large-latest", "Its model when a request names none", [
    "MISTRAL_MODEL",
  ]),
  provider3ApiKey: optionalSetting(
    "PROVIDER3_API_KEY",
    SecretText,
    "API key of provider 3, which enables it; Anthropic Messages API",
    ["ANTHROPIC_API_KEY"],
  ),
  provider3BaseUrl: setting("PROVIDER3_BASE_URL", UrlText, "https://api.anthropic.com", "Its endpoint", [
    "ANTHROPIC_BASE_URL",
  ]),
  provider3Model: setting("PROVIDER3_MODEL", PlainText, "claude-sonnet-5-5", "Its model when a request names none", [
    "ANTHROPIC_MODEL",
  ]),
  provider4ApiKey: optionalSetting(
    "PROVIDER4_API_KEY",
    SecretText,
    "API key of provider 4, which enables it; Google Gemini API",
    ["GEMINI_API_KEY", "GOOGLE_API_KEY"],
  ),
  provider4BaseUrl: setting(
    "PROVIDER4_BASE_URL",
    UrlText,
    "https://generativelanguage.googleapis.com",
    "Its endpoint",
    ["GEMINI_BASE_URL"],
  ),
  provider4Model: setting("PROVIDER4_MODEL", PlainText, "gemini-3.8-flash", "Its model when a request names none", [
    "GEMINI_MODEL",
  ]),
  providerOrder: setting(
    "PROVIDER_ORDER",
    OrderText,
    "1,2,3,4",
    "Order in which providers are tried for a request that names none; the others follow",
  ),
  connectTimeout: setting("UPSTREAM_CONNECT_TIMEOUT", WAIT, "5s", "How long connecting to a provider may take"),
  answerTimeout: setting(
    "UPSTREAM_ANSWER_TIMEOUT",
    WAIT,
    "120s",
    "How long a provider's whole answer may take when it does not stream",
  ),
  firstTokenTimeout: setting(
    "UPSTREAM_FIRST_TOKEN_TIMEOUT",
    WAIT,
    "10s",
    "How long the first output of a stream may take; then the next provider is tried",
  ),
  idleTimeout: setting("UPSTREAM_IDLE_TIMEOUT", WAIT, "15s", "How long a stream may pause between two chunks"),
  totalTimeout: setting(
    "UPSTREAM_TOTAL_TIMEOUT",
    WAIT,
    "10min",
    "How long a request may take as a whole: retries, failover and reading included",
  ),
  retries: setting(
    "UPSTREAM_RETRIES",
    intText(POLICY_BOUNDS.retries.minimum, POLICY_BOUNDS.retries.maximum),
    "2",
    "Tries of one provider after its first",
  ),
  retryBase: setting("UPSTREAM_RETRY_BASE", WAIT, "250ms", "Back-off before the first retry; it doubles"),
  retryCap: setting("UPSTREAM_RETRY_CAP", WAIT, "4s", "Longest back-off between two tries"),
  maxRetryAfter: setting(
    "UPSTREAM_MAX_RETRY_AFTER",
    WAIT,
    "20s",
    "Longest Retry-After that is waited for; a longer one leads to the next provider",
  ),
  bulkheadCalls: setting("UPSTREAM_CONCURRENCY", COUNT, "512", "Calls that one provider serves at a time"),
  bulkheadWaiting: setting("UPSTREAM_WAITING", COUNT, "512", "Calls that may wait for one of those places"),
  bulkheadMaxWait: setting("UPSTREAM_MAX_WAIT", WAIT, "2s", "How long they wait, then the next provider is tried"),
  circuitFailures: setting(
    "UPSTREAM_CIRCUIT_FAILURES",
    intText(POLICY_BOUNDS.failures.minimum, POLICY_BOUNDS.failures.maximum),
    "3",
    "Failed requests in a row after which a provider is left alone for a while: its circuit opens",
  ),
  circuitOpen: setting("UPSTREAM_CIRCUIT_OPEN", WAIT, "5s", "How long it is left alone the first time; it doubles"),
  circuitMaxOpen: setting("UPSTREAM_CIRCUIT_MAX_OPEN", WAIT, "60s", "Longest time that it is left alone"),
}
