import { Effect, Layer } from "effect"
import type { ServerSettings } from "./NodeServer.ts"

/** OpenTelemetry if an endpoint is set. Spans and metrics carry no prompt, answer, key or token. */
export const layerTelemetry = (settings: Pick<ServerSettings, "otlpEndpoint">) =>
  settings.otlpEndpoint === undefined
    ? Layer.empty
    : Layer.unwrap(
        Effect.map(
          Effect.promise(() => import("./OpenTelemetry.ts")),
          ({ layerOpenTelemetry }) => layerOpenTelemetry,
        ),
      )
