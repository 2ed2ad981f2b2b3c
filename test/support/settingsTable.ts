import { gatewaySettings } from "../../src/layers/config/gatewaySettings.ts"
import { proxySettings } from "../../src/layers/config/proxySettings.ts"
import type { Setting } from "../../src/layers/config/Setting.ts"

type AnySetting = Setting<unknown>

const SERVERS = { proxy: Object.values<AnySetting>(proxySettings), gateway: Object.values<AnySetting>(gatewaySettings) }

const defaultOf = ({ fallback }: AnySetting): string =>
  fallback === undefined || fallback === "," ? "none" : `\`${fallback}\``

const namesOf = ({ aliases, variable }: AnySetting): string =>
  [variable, ...aliases].map((name) => `\`${name}\``).join(", ")

const rowOf = ({ variable }: AnySetting): string => {
  const [proxy, gateway] = [SERVERS.proxy, SERVERS.gateway].map((all) => all.find((each) => each.variable === variable))
  const setting = proxy ?? gateway
  if (setting === undefined) throw new Error(`no server has ${variable}`)
  const server = gateway === undefined ? "proxy" : proxy === undefined ? "gateway" : "both"
  const defaults = new Set([setting, gateway ?? setting].map(defaultOf))
  return `| ${namesOf(setting)} | ${server} | ${[...defaults].join(", gateway ")} | ${setting.summary} |`
}

/** All settings of both servers as the Markdown table that docs/settings.md shows. */
export const settingsTable = (): string => {
  const own = SERVERS.gateway.filter(({ variable }) => SERVERS.proxy.every((each) => each.variable !== variable))
  return [
    "| variable, vendor's (`PROVIDER_FROM_ENV`) | server | default | meaning |",
    "|---|---|---|---|",
    ...[...SERVERS.proxy, ...own].map(rowOf),
  ].join("\n")
}
