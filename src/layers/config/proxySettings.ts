import { Schema } from "effect"
import type { Rule } from "../../domain/problems/configuration.ts"
import { ROUTING_TAG } from "../../domain/protocol/routingTag.ts"
import { CountText, intText, LimitText, literalText, parsed, PlainText, RateText, SessionText } from "./codecs.ts"
import { serverRules, serverSettings } from "./serverSettings.ts"
import { type Decoded, optionalSetting, setting } from "./Setting.ts"
import { checksTokens, tokenSettings, tokenSourceRule, tokenSourceSettings } from "./tokenSettings.ts"
import { keylessRules, sealedRules, tenantlessRules, timeLimitRules, upstreamSettings } from "./upstreamSettings.ts"

const RoutingTagText = parsed(
  Schema.String,
  (text) => (ROUTING_TAG.test(text) ? text : undefined),
  "four characters of a-z and 0-9",
)

export const proxySettings = {
  // Agents send prompts of megabytes: 12 MiB hold 8 MiB after padding, sealing and base64url.
  ...serverSettings({ port: 3001, maxRequestBytes: "12MiB" }),
  ...upstreamSettings({ firstTokenTimeout: "60s", traceHeaders: "off" }),
  attestationKeyFile: setting(
    "ATTESTATION_KEY_FILE",
    PlainText,
    "./.sealgate/attestation.pem",
    "Ed25519 key that signs every statement. The default file is created, a named one must exist",
  ),
  attest: optionalSetting(
    "ATTEST",
    literalText("dstack", "tsm", "confidential-space"),
    "Source of hardware evidence of this proxy's code, key and configuration",
  ),
  sessionTtl: setting("SESSION_TTL", SessionText, "300s", "How long a session's key lives; at most a day"),
  sessionMaxRequests: setting("SESSION_MAX_REQUESTS", intText(1, 65_536), "256", "Requests per session"),
  sessionMaxLive: setting("SESSION_MAX_LIVE", CountText, "100000", "Live sessions; one more ends the oldest"),
  routingTag: optionalSetting(
    "ROUTING_TAG",
    RoutingTagText,
    "First four characters of this process's session ids, for load balancers. Default: random",
  ),
  rateLimitInit: setting("RATE_LIMIT_INIT", RateText, "60", "Sessions per minute and client"),
  rateLimitCompletions: setting("RATE_LIMIT_COMPLETIONS", RateText, "600", "Completions per minute and client"),
  callerKeysFile: optionalSetting(
    "CALLER_KEYS_FILE",
    PlainText,
    "Lines that `sealgate key new` printed; with it or JWT_…, only known callers are served",
  ),
  ...tokenSettings,
  ...tokenSourceSettings,
  rateLimitCaller: setting("RATE_LIMIT_CALLER", RateText, "600", "Completions per minute and caller"),
  rateLimitRefused: setting(
    "RATE_LIMIT_REFUSED",
    RateText,
    "60",
    "Opened requests without a valid credential per minute and client; further ones stay unopened for a while",
  ),
  maxConcurrentPerCaller: setting(
    "MAX_CONCURRENT_PER_CALLER",
    LimitText,
    "64",
    "Completions and streams in flight of one caller",
  ),
  maxConcurrentPerClient: setting(
    "MAX_CONCURRENT_PER_CLIENT",
    LimitText,
    "64",
    "Completions and streams in flight from one client",
  ),
}

export type ProxySettings = Decoded<typeof proxySettings>

/** Rejects a key from outside: its author could use it in other code. */
const bornInside: Rule<Pick<ProxySettings, "attest" | "attestationKeyFile">> = {
  of: ["attest", "attestationKeyFile"],
  problems: ({ attest, attestationKeyFile }) => ({
    ATTESTATION_KEY_FILE:
      attest !== undefined &&
      attestationKeyFile !== proxySettings.attestationKeyFile.fallback &&
      "is set together with ATTEST; remove it: the key is made in the guest, or derived by dstack",
  }),
}

/** Rejects an issuer, audience or previous secret without a way to check tokens: the proxy would serve everybody. */
const closedRule: Rule<
  Pick<
    ProxySettings,
    "callerKeysFile" | "jwtAudience" | "jwtIssuer" | "jwtJwksFile" | "jwtJwksUrl" | "jwtPreviousSecret" | "jwtSecret"
  >
> = {
  of: ["callerKeysFile", "jwtAudience", "jwtIssuer", "jwtJwksFile", "jwtJwksUrl", "jwtPreviousSecret", "jwtSecret"],
  problems: (settings) => {
    const { callerKeysFile, jwtAudience, jwtIssuer, jwtPreviousSecret } = settings
    const expectsTokens =
      jwtPreviousSecret !== undefined ||
      jwtIssuer !== proxySettings.jwtIssuer.fallback ||
      jwtAudience !== proxySettings.jwtAudience.fallback
    return {
      JWT_SECRET:
        expectsTokens &&
        callerKeysFile === undefined &&
        !checksTokens(settings) &&
        "is missing, so tokens cannot be checked; set it, JWT_JWKS_URL or JWT_JWKS_FILE, or remove the other JWT_… to serve everybody",
    }
  },
}

export const proxyRules = [
  ...serverRules,
  tokenSourceRule,
  closedRule,
  bornInside,
  ...sealedRules,
  ...keylessRules,
  ...tenantlessRules,
  ...timeLimitRules,
]
