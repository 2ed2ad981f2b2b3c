/** Settings of the model providers and of the policy that deals with their faults. */
import { durationText, FlagText, intText, listText, PlainText, parsed, SecretText, UrlText } from "./codecs.ts"
import { type Decoded, optionalSetting, providerFromEnv, type Setting, setting } from "./Setting.ts"
import { Duration, Redacted, Schema } from "effect"
import type { Rule } from "../../domain/problems/configuration.ts"
import { POLICY_BOUNDS } from "../../domain/routing/routing.ts"
import { numberOf, PROVIDERS, type Slot, SLOTS } from "../../services/upstream/Slots.ts"

const parseOrder = (text: string): ReadonlyArray<Slot> | undefined => {
  const named = text.split(",").map((part) =>
    part
      .trim()
      .toLowerCase()
      .replace(/^provider/, ""),
  )
  const slots = named.flatMap((name) => SLOTS.filter((slot) => numberOf(slot) === name))
  return slots.length === named.length && new Set(slots).size === slots.length ? slots : undefined
}

const OrderText = parsed(
  Schema.Array(Schema.Literals(SLOTS)),
  parseOrder,
  "providers in order, each once, such as 3,1 or provider3,provider1",
)

const PIN = /^[\w-]{43}$/

/** Comma-separated pins, as `sealgate pin` prints them. */
export const PinsText = listText(
  Schema.String,
  (text) => (PIN.test(text) ? text : undefined),
  "pins of 43 characters, as `sealgate pin` prints them, with commas between them",
)

/** A URL may hold a password, so it is a secret. Many write it without its scheme. */
const ProxyText = parsed(
  Schema.Redacted(Schema.String),
  (text) => {
    const url = text.includes("://") ? text : `http://${text}`
    return URL.canParse(url) && /^https?:$/.test(new URL(url).protocol) ? Redacted.make(url) : undefined
  },
  "an HTTP proxy, such as http://proxy.example.com:3128",
)

const COUNT = intText(1, 1_000_000)
const WAIT = durationText(Duration.millis(POLICY_BOUNDS.waitMs.maximum))

type SlotSettings = {
  readonly [S in Slot as `${S}ApiKey`]: Setting<typeof SecretText.Type | undefined>
} & {
  readonly [S in Slot as `${S}BaseUrl`]: Setting<URL>
} & {
  readonly [S in Slot as `${S}Model`]: Setting<string>
} & {
  readonly [S in Slot as `${S}SealedPin`]: Setting<ReadonlyArray<string> | undefined>
} & {
  readonly [S in Slot as `${S}FirstTokenTimeout`]: Setting<Duration.Duration | undefined>
}

const settingsOf = (slot: Slot) => {
  const { aliases, baseUrl, format, model } = PROVIDERS[slot]
  const variable = slot.toUpperCase()
  return {
    [`${slot}ApiKey`]: optionalSetting(
      `${variable}_API_KEY`,
      SecretText,
      `API key of provider ${numberOf(slot)}, which enables it; ${format.title}`,
      aliases.apiKey,
    ),
    [`${slot}BaseUrl`]: setting(`${variable}_BASE_URL`, UrlText, baseUrl, format.endpoint, aliases.baseUrl),
    [`${slot}Model`]: setting(
      `${variable}_MODEL`,
      PlainText,
      model,
      "Its model when a request names none",
      aliases.model,
    ),
    [`${slot}SealedPin`]: optionalSetting(
      `${variable}_SEALED_PIN`,
      PinsText,
      "Pins of the sealed proxy at its endpoint, to which calls are sealed then; its API key, if it has one, is what the proxy knows its callers by",
    ),
    [`${slot}FirstTokenTimeout`]: optionalSetting(
      `${variable}_FIRST_TOKEN_TIMEOUT`,
      WAIT,
      "How long the first output of its streams may take, where that differs from UPSTREAM_FIRST_TOKEN_TIMEOUT",
    ),
  }
}

// The compiler does not put together what each slot has under names of its own.
const slotSettings = Object.assign({}, ...SLOTS.map(settingsOf)) as SlotSettings

interface Defaults {
  readonly firstTokenTimeout: string
  readonly traceHeaders: string
}

/** With the defaults in which servers differ, as one would write them. */
export const upstreamSettings = ({ firstTokenTimeout, traceHeaders }: Defaults) => ({
  ...slotSettings,
  providerFromEnv,
  providerOrder: setting(
    "PROVIDER_ORDER",
    OrderText,
    SLOTS.map(numberOf).join(","),
    "Order in which providers are tried for a request that names none; the others follow",
  ),
  httpsProxy: {
    ...optionalSetting(
      "HTTPS_PROXY",
      ProxyText,
      "Proxy of your network through which providers at https:// are called; this machine never is",
    ),
    spellings: ["https_proxy"],
  },
  httpProxy: {
    ...optionalSetting("HTTP_PROXY", ProxyText, "The same for providers at http://"),
    spellings: ["http_proxy"],
  },
  noProxy: {
    ...optionalSetting("NO_PROXY", PlainText, "Hosts that are called without it, such as .internal,10.0.0.7; * is any"),
    spellings: ["no_proxy"],
  },
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
    firstTokenTimeout,
    "How long the first output of a stream may take at most; with another provider behind it, as long as its recent calls suggest",
  ),
  idleTimeout: setting(
    "UPSTREAM_IDLE_TIMEOUT",
    WAIT,
    "15s",
    "How long a stream may be silent after its first output; comments and pings are not silence",
  ),
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
    "Further tries of one provider after the first",
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
    "Failed requests in a row after which a model, or a provider that cannot be reached, is left alone for a while: its circuit opens",
  ),
  circuitSlow: setting(
    "UPSTREAM_CIRCUIT_SLOW",
    intText(POLICY_BOUNDS.failures.minimum, POLICY_BOUNDS.failures.maximum),
    "10",
    "The same for requests that were too slow, which are counted apart",
  ),
  circuitOpen: setting("UPSTREAM_CIRCUIT_OPEN", WAIT, "5s", "How long it is left alone the first time; it doubles"),
  circuitMaxOpen: setting("UPSTREAM_CIRCUIT_MAX_OPEN", WAIT, "10s", "Longest time that it is left alone"),
  traceHeaders: setting(
    "UPSTREAM_TRACE_HEADERS",
    FlagText,
    traceHeaders,
    "Whether providers are sent the trace that a call belongs to (traceparent, tracestate)",
  ),
})
export type UpstreamConfiguration = Decoded<ReturnType<typeof upstreamSettings>>

type TimeLimit = Extract<keyof UpstreamConfiguration, `${string}Timeout`>

/** Only their variables are looked at, which are the same whatever the default. */
const SETTINGS = upstreamSettings({ firstTokenTimeout: "60s", traceHeaders: "off" })

const limits = [
  "connectTimeout",
  "answerTimeout",
  "firstTokenTimeout",
  ...SLOTS.map((slot) => `${slot}FirstTokenTimeout` as const),
  "idleTimeout",
] as const

/** With a limit that the total cuts off, no other provider would ever be asked. */
export const timeLimitRules = limits.map((limit): Rule<Pick<UpstreamConfiguration, TimeLimit>> => ({
  of: [limit, "totalTimeout"],
  mistakes: ({ [limit]: given, totalTimeout }) =>
    given === undefined || Duration.isLessThanOrEqualTo(given, totalTimeout)
      ? []
      : [
          {
            variable: SETTINGS[limit].variable,
            problem: `is ${Duration.format(given)}, longer than UPSTREAM_TOTAL_TIMEOUT (${Duration.format(totalTimeout)}), which would end requests before another provider is asked`,
          },
        ],
}))

/** A vendor does not speak the sealed protocol, so a proxy has an endpoint of its own. */
export const sealedRules = SLOTS.map(
  (slot): Rule<Pick<UpstreamConfiguration, `${Slot}BaseUrl` | `${Slot}SealedPin`>> => ({
    of: [`${slot}BaseUrl`, `${slot}SealedPin`],
    mistakes: ({ [`${slot}BaseUrl` as const]: baseUrl, [`${slot}SealedPin` as const]: pins }) =>
      pins !== undefined && baseUrl.href === new URL(PROVIDERS[slot].baseUrl).href
        ? [
            {
              variable: SETTINGS[`${slot}BaseUrl`].variable,
              problem: "is missing; set it to the address of the sealed proxy",
            },
          ]
        : [],
  }),
)
