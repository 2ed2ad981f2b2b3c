/** What a connector's server is bounded by. It is set up by flags, so nothing here looks at the environment. */
import { ConfigProvider, Effect } from "effect"
import { decodeSettings } from "./Setting.ts"
import { serverSettings } from "./serverSettings.ts"

export const DEFAULT_CONNECTOR_PORT = 8787

/** The proxy decides how much may be sealed; this only bounds memory. */
const MAX_REQUEST_BYTES = "32MiB"

/** The server's usual bounds, listening on `host` and `port`. */
export const connectorServerSettings = (host: string, port: number) =>
  decodeSettings(serverSettings({ port: DEFAULT_CONNECTOR_PORT, maxRequestBytes: MAX_REQUEST_BYTES })).pipe(
    Effect.provideService(ConfigProvider.ConfigProvider, ConfigProvider.fromEnvRecord({})),
    Effect.map((defaults) => ({ ...defaults, host, port, named: { host: "--host", port: "--port" } })),
    Effect.orDie,
  )
