/** Limits of a connector's server. The connector is configured by flags, so the environment is not read. */
import { ConfigProvider, Effect } from "effect"
import { decodeSettings } from "./Setting.ts"
import { serverSettings } from "./serverSettings.ts"

export const DEFAULT_CONNECTOR_PORT = 8787

/** Only bounds memory; the proxy limits the size of sealed requests. */
const MAX_REQUEST_BYTES = "32MiB"

export const connectorServerSettings = (host: string, port: number) =>
  decodeSettings(serverSettings({ port: DEFAULT_CONNECTOR_PORT, maxRequestBytes: MAX_REQUEST_BYTES })).pipe(
    Effect.provideService(ConfigProvider.ConfigProvider, ConfigProvider.fromEnvRecord({})),
    Effect.map((defaults) => ({ ...defaults, host, port, named: { host: "--host", port: "--port" } })),
    Effect.orDie,
  )
