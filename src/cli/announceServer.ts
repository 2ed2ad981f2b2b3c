import { Effect } from "effect"
import { OperatorListener } from "../layers/OperatorListener.ts"
import { ownUrl } from "../server/serverUrl.ts"
import { Upstream } from "../services/upstream/Upstream.ts"
import { findSettings, type FoundSetting, type Setting, unusedAliases } from "../layers/config/Setting.ts"
import { SLOTS } from "../services/upstream/Slots.ts"

type Settings = Readonly<Record<string, Setting<unknown>>>

const taken = (found: ReadonlyArray<FoundSetting>): string => {
  const origins = Map.groupBy(
    found.flatMap(({ from }) => from ?? []),
    ({ origin }) => origin,
  )
  return [...origins]
    .map(([origin, each]) => `${each.map(({ variable }) => variable).join(", ")} from ${origin}`)
    .join("; ")
}

/** Logs where each provider's variables come from, because they may have been set long ago, and which are not used. */
const reportProviders = Effect.fnUntraced(function* (settings: Settings) {
  const providers = Object.values(settings).filter(({ variable }) => /^PROVIDER\d/.test(variable))
  const found = yield* findSettings(providers)
  for (const slot of SLOTS) {
    const own = found.filter(
      ({ from, setting }) => from !== undefined && setting.variable.startsWith(`${slot.toUpperCase()}_`),
    )
    const enabled = own.some(({ setting }) => /_(API_KEY|SEALED_PIN)$/.test(setting.variable))
    if (enabled) yield* Effect.logInfo(`${slot}: ${taken(own)}`)
  }
  const unused = yield* unusedAliases(providers)
  if (unused.length > 0) {
    yield* Effect.logInfo(`set, but not used: ${unused.join(", ")}; set PROVIDER_FROM_ENV=1 to use vendors' variables`)
  }
})

const reportTelemetry = (settings: Settings) => {
  const used = new Set(Object.values(settings).map(({ variable }) => variable))
  const unused = Object.keys(process.env).filter(
    (name) => name.startsWith("OTEL_") && process.env[name] !== "" && !used.has(name),
  )
  return unused.length === 0
    ? Effect.void
    : Effect.logWarning(`set, but not used: ${unused.join(", ")}; \`sealgate config --all\` lists the settings`)
}

interface Announced {
  /** Text that follows the providers in the log line. */
  readonly providersAnd: string
  /** The path of the console; `undefined` if there is none. */
  readonly console: string | undefined
}

export const announceServer = Effect.fnUntraced(function* (settings: Settings, { console, providersAnd }: Announced) {
  const upstream = yield* Upstream
  const providers = (yield* upstream.status).map(({ model, provider }) => `${provider} (${model})`).join(", ")
  yield* Effect.logInfo(`providers: ${providers}; ${providersAnd}`)
  yield* reportProviders(settings)
  yield* reportTelemetry(settings)
  const operatorUrl = yield* OperatorListener
  if (operatorUrl !== undefined) yield* Effect.logInfo(`for the operator: ${operatorUrl} (/ready, /metrics)`)
  if (console !== undefined) yield* Effect.logInfo(`console: ${yield* ownUrl}${console}`)
})
