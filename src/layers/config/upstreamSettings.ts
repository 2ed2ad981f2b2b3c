/** Settings of the model providers and of the fault policy. */
import {
  CountText,
  durationText,
  FlagText,
  intText,
  isDecodable,
  listText,
  parsed,
  PlainText,
  SecretText,
  UrlText,
} from "./codecs.ts"
import { type Decoded, optionalSetting, providerFromEnv, type Setting, setting } from "./Setting.ts"
import { Duration, Redacted, Schema } from "effect"
import type { Rule } from "../../domain/problems/configuration.ts"
import { POLICY_BOUNDS } from "../../domain/routing/routing.ts"
import { apiAt } from "../../domain/upstream/apis.ts"
import { hasUser } from "../../domain/url.ts"
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

/** Whether it is an origin, perhaps with user and password: the HTTP client throws for others, at every call. */
const isProxyUrl = (text: string): boolean => {
  if (!/^https?:/i.test(text) || !URL.canParse(text)) return false
  const url = new URL(text)
  return isDecodable(url) && `${url.pathname}${url.search}${url.hash}` === "/"
}

/** A secret, because the URL may hold a password. The scheme may be missing. */
const ProxyText = parsed(
  Schema.Redacted(Schema.String),
  (text) => {
    const url = text.includes("://") ? text : `http://${text}`
    return isProxyUrl(url) ? Redacted.make(url) : undefined
  },
  "an HTTP proxy, such as http://user:password@proxy.example.com:3128, with a percent-encoded password",
)

const WAIT = durationText(Duration.millis(POLICY_BOUNDS.waitMs.maximum))

type SlotSettings = {
  readonly [S in Slot as `${S}ApiKey`]: Setting<typeof SecretText.Type | undefined>
} & {
  readonly [S in Slot as `${S}TenantKeys`]: Setting<boolean>
} & {
  readonly [S in Slot as `${S}BaseUrl`]: Setting<URL>
} & {
  readonly [S in Slot as `${S}Model`]: Setting<string>
} & {
  readonly [S in Slot as `${S}SealedPin`]: Setting<ReadonlyArray<string> | undefined>
} & {
  readonly [S in Slot as `${S}FirstTokenTimeout`]: Setting<Duration.Duration | undefined>
}

/** Calls append the path of an endpoint, so a URL that has one already, or a query or fragment, would not reach it. */
const BaseUrlText = UrlText.pipe(
  Schema.check(
    Schema.makeFilter((url: URL) => !/[?#]/.test(url.href), {
      message: "expected a URL without query and fragment",
    }),
    Schema.makeFilter((url: URL) => apiAt(url.pathname) === undefined, {
      message: "expected a URL without the path of an endpoint, such as /chat/completions",
    }),
  ),
)

const settingsOf = (slot: Slot) => {
  const { aliases, baseUrl, format, model } = PROVIDERS[slot]
  const variable = slot.toUpperCase()
  return {
    [`${slot}ApiKey`]: optionalSetting(
      `${variable}_API_KEY`,
      SecretText,
      `API key of provider ${numberOf(slot)}; enables it. ${format.title}`,
      aliases.apiKey,
    ),
    [`${slot}TenantKeys`]: setting(
      `${variable}_TENANT_KEYS`,
      FlagText,
      "off",
      "on: each tenant of a gateway brings its own key",
    ),
    [`${slot}BaseUrl`]: setting(
      `${variable}_BASE_URL`,
      BaseUrlText,
      baseUrl,
      "Endpoint; with the API's version, such as /v1, if OpenAI-compatible",
      aliases.baseUrl,
    ),
    [`${slot}Model`]: setting(
      `${variable}_MODEL`,
      PlainText,
      model,
      "Model for requests that name none",
      aliases.model,
    ),
    [`${slot}SealedPin`]: optionalSetting(
      `${variable}_SEALED_PIN`,
      PinsText,
      "Pins of the sealed proxy at this endpoint, to which calls are sealed",
    ),
    [`${slot}FirstTokenTimeout`]: optionalSetting(
      `${variable}_FIRST_TOKEN_TIMEOUT`,
      WAIT,
      "Instead of UPSTREAM_FIRST_TOKEN_TIMEOUT for this provider",
    ),
  }
}

// The compiler cannot infer the computed keys of all slots.
const slotSettings = Object.assign({}, ...SLOTS.map(settingsOf)) as SlotSettings

const choiceSettings = {
  providerFromEnv,
  providersFile: optionalSetting(
    "PROVIDERS_FILE",
    PlainText,
    "JSON file of further providers; reloaded when it changes",
  ),
  providerOrder: setting(
    "PROVIDER_ORDER",
    OrderText,
    SLOTS.map(numberOf).join(","),
    "Order in which providers are tried; others follow",
  ),
}

const networkSettings = {
  httpsProxy: {
    ...optionalSetting(
      "HTTPS_PROXY",
      ProxyText,
      "HTTP proxy of your network for https:// providers; never for this machine",
    ),
    spellings: ["https_proxy"],
  },
  httpProxy: {
    ...optionalSetting("HTTP_PROXY", ProxyText, "The same for http:// providers"),
    spellings: ["http_proxy"],
  },
  noProxy: {
    ...optionalSetting("NO_PROXY", PlainText, "Hosts called without that proxy, such as .internal,10.0.0.7; * is any"),
    spellings: ["no_proxy"],
  },
}

const timeLimitSettings = (firstTokenTimeout: string) => ({
  connectTimeout: setting("UPSTREAM_CONNECT_TIMEOUT", WAIT, "5s", "Time limit for connecting to a provider"),
  answerTimeout: setting("UPSTREAM_ANSWER_TIMEOUT", WAIT, "120s", "Time limit for a whole answer that does not stream"),
  firstTokenTimeout: setting(
    "UPSTREAM_FIRST_TOKEN_TIMEOUT",
    WAIT,
    firstTokenTimeout,
    "Longest time limit for the first output of a stream",
  ),
  idleTimeout: setting(
    "UPSTREAM_IDLE_TIMEOUT",
    WAIT,
    "40s",
    "Longest silence of a stream after its first output; UPSTREAM_ANSWER_TIMEOUT for the last target, or once output is final",
  ),
  totalTimeout: setting(
    "UPSTREAM_TOTAL_TIMEOUT",
    WAIT,
    "10min",
    "Time limit for a request, including retries, failover and reading",
  ),
})

const retrySettings = {
  retries: setting(
    "UPSTREAM_RETRIES",
    intText(POLICY_BOUNDS.retries.minimum, POLICY_BOUNDS.retries.maximum),
    "2",
    "Retries of one provider",
  ),
  retryBase: setting("UPSTREAM_RETRY_BASE", WAIT, "250ms", "Back-off before the first retry; it doubles each time"),
  retryCap: setting("UPSTREAM_RETRY_CAP", WAIT, "4s", "Longest back-off between two attempts"),
  maxRetryAfter: setting(
    "UPSTREAM_MAX_RETRY_AFTER",
    WAIT,
    "20s",
    "Longest Retry-After to wait for; else the next provider is tried",
  ),
}

const bulkheadSettings = {
  bulkheadCalls: setting("UPSTREAM_CONCURRENCY", CountText, "512", "Concurrent calls to one provider"),
  bulkheadWaiting: setting("UPSTREAM_WAITING", CountText, "512", "Calls that may wait for a free place"),
  bulkheadMaxWait: setting("UPSTREAM_MAX_WAIT", WAIT, "2s", "How long a call waits before the next provider is tried"),
}

const circuitSettings = {
  circuitFailures: setting(
    "UPSTREAM_CIRCUIT_FAILURES",
    intText(POLICY_BOUNDS.failures.minimum, POLICY_BOUNDS.failures.maximum),
    "3",
    "Consecutive failures that open a circuit: its model or provider gets no calls for a while",
  ),
  circuitSlow: setting(
    "UPSTREAM_CIRCUIT_SLOW",
    intText(POLICY_BOUNDS.failures.minimum, POLICY_BOUNDS.failures.maximum),
    "10",
    "Consecutive slow requests that open a circuit, counted apart",
  ),
  circuitOpen: setting(
    "UPSTREAM_CIRCUIT_OPEN",
    WAIT,
    "5s",
    "How long a circuit stays open first; it doubles each time",
  ),
  circuitMaxOpen: setting("UPSTREAM_CIRCUIT_MAX_OPEN", WAIT, "10s", "Longest time that a circuit stays open"),
}

interface Defaults {
  readonly firstTokenTimeout: string
  readonly traceHeaders: string
}

/** The settings, with the defaults that differ between the servers in the form of their variables. */
export const upstreamSettings = ({ firstTokenTimeout, traceHeaders }: Defaults) => ({
  ...slotSettings,
  ...choiceSettings,
  ...networkSettings,
  ...timeLimitSettings(firstTokenTimeout),
  ...retrySettings,
  ...bulkheadSettings,
  ...circuitSettings,
  traceHeaders: setting(
    "UPSTREAM_TRACE_HEADERS",
    FlagText,
    traceHeaders,
    "Whether calls to providers carry traceparent and tracestate",
  ),
})
export type UpstreamConfiguration = Decoded<ReturnType<typeof upstreamSettings>>

type TimeLimit = Extract<keyof UpstreamConfiguration, `${string}Timeout`>

/** Only the names of the variables are used, so the defaults do not matter. */
const SETTINGS = upstreamSettings({ firstTokenTimeout: "60s", traceHeaders: "off" })

const limits = [
  "connectTimeout",
  "answerTimeout",
  "firstTokenTimeout",
  ...SLOTS.map((slot) => `${slot}FirstTokenTimeout` as const),
  "idleTimeout",
] as const

/** Rejects a time limit longer than the total: the request would end before another provider is tried. */
export const timeLimitRules = limits.map((limit): Rule<Pick<UpstreamConfiguration, TimeLimit>> => ({
  of: [limit, "totalTimeout"],
  problems: ({ [limit]: given, totalTimeout }) => ({
    [SETTINGS[limit].variable]:
      given !== undefined &&
      Duration.isGreaterThan(given, totalTimeout) &&
      `is ${Duration.format(given)}, longer than UPSTREAM_TOTAL_TIMEOUT (${Duration.format(totalTimeout)}), which would end requests before another provider is tried`,
  }),
}))

/** Rejects pins with a vendor's default endpoint, which does not speak the sealed protocol, and with a user in the URL. */
export const sealedRules = SLOTS.map(
  (slot): Rule<Pick<UpstreamConfiguration, `${Slot}BaseUrl` | `${Slot}SealedPin`>> => ({
    of: [`${slot}BaseUrl`, `${slot}SealedPin`],
    problems: ({ [`${slot}BaseUrl` as const]: baseUrl, [`${slot}SealedPin` as const]: pins }) => ({
      [SETTINGS[`${slot}BaseUrl`].variable]:
        pins !== undefined &&
        ((baseUrl.href === new URL(PROVIDERS[slot].baseUrl).href &&
          "is missing; set it to the address of the sealed proxy") ||
          (hasUser(baseUrl) &&
            `has a user or password; put the credential for the sealed proxy into ${SETTINGS[`${slot}ApiKey`].variable}`)),
    }),
  }),
)

/** Rejects an endpoint without a key: its provider would be missing, and perhaps the echo would answer. */
export const keylessRules = SLOTS.map(
  (
    slot,
  ): Rule<
    Pick<UpstreamConfiguration, `${Slot}ApiKey` | `${Slot}BaseUrl` | `${Slot}SealedPin` | `${Slot}TenantKeys`>
  > => ({
    of: [`${slot}ApiKey`, `${slot}BaseUrl`, `${slot}SealedPin`, `${slot}TenantKeys`],
    problems: ({
      [`${slot}ApiKey` as const]: apiKey,
      [`${slot}BaseUrl` as const]: baseUrl,
      [`${slot}SealedPin` as const]: pins,
      [`${slot}TenantKeys` as const]: tenantKeys,
    }) => ({
      [SETTINGS[`${slot}TenantKeys`].variable]:
        tenantKeys &&
        (apiKey !== undefined || pins !== undefined) &&
        `is on, but there is a key; remove ${SETTINGS[`${slot}ApiKey`].variable} and ${SETTINGS[`${slot}SealedPin`].variable}`,
      [SETTINGS[`${slot}ApiKey`].variable]:
        apiKey === undefined &&
        pins === undefined &&
        !tenantKeys &&
        baseUrl.href !== new URL(PROVIDERS[slot].baseUrl).href &&
        `is missing, so nothing would be sent to ${baseUrl.host}; set it, to any text if that server asks for no key`,
    }),
  }),
)

/** For proxies: rejects slots for keys of tenants, which only gateways have. */
export const tenantlessRules = SLOTS.map((slot): Rule<Pick<UpstreamConfiguration, `${Slot}TenantKeys`>> => ({
  of: [`${slot}TenantKeys`],
  problems: ({ [`${slot}TenantKeys` as const]: tenantKeys }) => ({
    [SETTINGS[`${slot}TenantKeys`].variable]:
      tenantKeys && `is on, but only gateways have tenants; set ${SETTINGS[`${slot}ApiKey`].variable} instead`,
  }),
}))
