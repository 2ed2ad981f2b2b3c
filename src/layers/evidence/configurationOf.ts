/** The configuration that evidence covers: everything that decides where prompts go and what holds the keys. */
import { readFileSync } from "node:fs"
import { Redacted } from "effect"
import { SOFTWARE } from "../../domain/operations/software.ts"
import { iJsonOf } from "../../domain/json/surrogates.ts"
import { PROVIDERS, SLOTS } from "../../services/upstream/Slots.ts"
import type { ProxySettings } from "../config/proxySettings.ts"
import { checksTokens } from "../config/tokenSettings.ts"
import { b64uHash, digestOfSoftware } from "./softwareDigest.ts"

/** Parts of the process that the document describes. */
export interface ProcessFacts {
  readonly env: Readonly<Record<string, string | undefined>>
  /** Options of Node. */
  readonly execArgv: ReadonlyArray<string>
}

/** A URL without user, password and query, which may hold secrets. */
const place = (url: string): string => {
  const { origin, pathname } = new URL(url)
  return `${origin}${pathname}`
}

const proxyPlace = (proxy: Redacted.Redacted | undefined) => (proxy === undefined ? null : place(Redacted.value(proxy)))

const providersOf = (settings: ProxySettings) =>
  SLOTS.filter((slot) => settings[`${slot}ApiKey`] !== undefined || settings[`${slot}SealedPin`] !== undefined).map(
    (slot) => ({
      slot,
      vendor: PROVIDERS[slot].format.title,
      base_url: place(settings[`${slot}BaseUrl`].href),
      sealed_pins: settings[`${slot}SealedPin`] ?? null,
    }),
  )

const telemetryOf = (settings: ProxySettings) =>
  [settings.otlpEndpoint, settings.otlpTracesEndpoint, settings.otlpMetricsEndpoint, settings.otlpLogsEndpoint].flatMap(
    (url) => (url === undefined ? [] : [place(url.href)]),
  )

/** Returns the document as I-JSON text. It holds no secret: keys are absent, and URLs lack users and queries. */
export const configurationOf = (
  settings: ProxySettings,
  keyStorage: string,
  { env, execArgv }: ProcessFacts,
): string => {
  const { NODE_EXTRA_CA_CERTS: extraCa } = env
  return iJsonOf({
    software: SOFTWARE,
    software_digest: digestOfSoftware(),
    providers: providersOf(settings),
    extra_ca: extraCa === undefined || extraCa === "" ? null : b64uHash(readFileSync(extraCa)),
    outgoing_proxies: {
      http: proxyPlace(settings.httpProxy),
      https: proxyPlace(settings.httpsProxy),
      except: settings.noProxy ?? null,
    },
    telemetry: telemetryOf(settings),
    asks_for_credentials: settings.callerKeysFile !== undefined || checksTokens(settings),
    redis: settings.redisUrl !== undefined,
    node: { version: process.version, flags: execArgv },
    key_storage: keyStorage,
  })
}
