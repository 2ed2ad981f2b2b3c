import { clientSettings } from "../../layers/config/clientSettings.ts"
import { gatewaySettings } from "../../layers/config/gatewaySettings.ts"
import { proxySettings } from "../../layers/config/proxySettings.ts"
import type { Setting } from "../../layers/config/Setting.ts"

type Settings = Readonly<Record<string, Setting<unknown>>>

export const KNOWN: Readonly<Record<"proxy" | "gateway" | "clients", Settings>> = {
  proxy: proxySettings,
  gateway: gatewaySettings,
  clients: clientSettings,
}

const all: ReadonlyArray<Setting<unknown>> = Object.values(KNOWN).flatMap((settings) => Object.values(settings))

export const VARIABLES: ReadonlySet<string> = new Set(all.map(({ variable }) => variable))

/** Other names that are always read. */
export const SPELLINGS: ReadonlySet<string> = new Set(all.flatMap(({ spellings = [] }) => spellings))

export const ownNameOf = (alias: string): string | undefined =>
  all.find(({ aliases }) => aliases.includes(alias))?.variable
