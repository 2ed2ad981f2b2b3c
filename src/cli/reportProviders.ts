/** Logs the variables that configure providers, because a shell or a file may have set them long ago. */
import { Effect } from "effect"
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

/** Logs the variables of each configured provider, and the vendors' variables that are set but not used. */
export const reportProviders = Effect.fnUntraced(function* (settings: Settings) {
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
