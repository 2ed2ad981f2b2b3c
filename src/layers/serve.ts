/** Common parts of all servers: routes behind a listener that drains before their services are closed. */
import { Context, type Duration, Effect, Layer, ManagedRuntime, Scope } from "effect"
import { HttpRouter, HttpServer } from "effect/http"
import type { ConfigurationMistakes } from "../domain/problems/configuration.ts"
import { layerOwnSpans } from "../http/shared/requestSpan.ts"
import { type ListenSettings, layerDrainFirst, layerNodeServer } from "../server/NodeServer.ts"
import { ownUrl } from "../server/serverUrl.ts"
import { layerDiscreetTracer } from "../server/telemetry/DiscreetTracer.ts"
import { layerLogging, type LoggingSettings } from "../server/telemetry/Logging.ts"
import { layerTelemetry } from "../server/telemetry/Telemetry.ts"
import type { TelemetrySettings } from "../server/telemetry/TelemetrySettings.ts"
import { Drain } from "../services/lifecycle/Drain.ts"
import type { Upstream } from "../services/upstream/Upstream.ts"
import type { ServerSettings } from "./config/serverSettings.ts"
import { OperatorListener } from "./OperatorListener.ts"
import { layerUpstream, type UpstreamConfiguration } from "./Providers.ts"

/** `never`, so a type error, if handling a request needs services: those of the routes do not reach requests. */
type NeedsNothing<R> = [
  Exclude<HttpRouter.Request.Only<"Requires" | "GlobalRequires", R>, HttpRouter.GlobalProvided>,
] extends [never]
  ? unknown
  : never

interface ServerLayers<A, B, E, R, E2, R2, E3, R3> {
  readonly routes: Layer.Layer<never, E, R> & NeedsNothing<R>
  /** Shared by the routes and `extras`, such as rate limits. May depend on the listener and the services. */
  readonly shared: Layer.Layer<B, E3, R3>
  readonly services: Layer.Layer<A, E2, R2>
}

/** Starts requests with `context` instead of everything in scope, which would be copied several times per request. */
const layerRequestContext = (context: Context.Context<never>) =>
  Layer.effect(
    HttpServer.HttpServer,
    Effect.map(HttpServer.HttpServer, (server) => {
      const begun = <A, E>(serving: Effect.Effect<A, E, Scope.Scope>) =>
        Effect.updateContext(serving, (all: Context.Context<Scope.Scope>) =>
          Context.add(context, Scope.Scope, Context.get(all, Scope.Scope)),
        )
      return HttpServer.make({
        address: server.address,
        serve: (app, middleware) => begun(middleware === undefined ? server.serve(app) : server.serve(app, middleware)),
      })
    }),
  )

/** On closing it drains, then closes routes, `extras` and services. Listeners with the same `drain` drain together. */
export const serve = <A, B, E, R, E2, R2, E3, R3, E4 = never, R4 = never>(
  settings: ListenSettings & { readonly shutdownGrace: Duration.Duration },
  { routes, services, shared }: ServerLayers<A, B, E, R, E2, R2, E3, R3>,
  extras: Layer.Layer<never, E4, R4> = Layer.empty,
  drain = Drain.layer({ grace: settings.shutdownGrace }),
) =>
  Layer.unwrap(
    Effect.contextWith((context: Context.Context<never>) =>
      Effect.succeed(
        layerDrainFirst(settings).pipe(
          Layer.provideMerge(
            HttpRouter.serve(routes, { disableLogger: true, disableListenLog: true }).pipe(
              Layer.provide(layerRequestContext(context)),
            ),
          ),
          Layer.provideMerge(extras),
          Layer.provide(shared),
          Layer.provideMerge(layerNodeServer(settings)),
          Layer.provideMerge(services),
          Layer.provideMerge(drain),
        ),
      ),
    ),
  ).pipe(Layer.provide(Layer.merge(layerOwnSpans, layerDiscreetTracer)))

export interface Running {
  /** Its URL on this machine. */
  readonly url: string
  /** URL of the operator's listener; `undefined` if there is none. */
  readonly operatorUrl: string | undefined
  /** Drains and closes it. */
  readonly stop: () => Promise<void>
}

/** Starts a server for a program without Effect. Rejects if the configuration has mistakes or the port is taken. */
export const start = async <A extends HttpServer.HttpServer, E>(
  layer: Layer.Layer<A | HttpServer.HttpServer, E>,
): Promise<Running> => {
  const runtime = ManagedRuntime.make(layer)
  const urls = await runtime.runPromise(Effect.all({ url: ownUrl, operatorUrl: OperatorListener }))
  return { ...urls, stop: () => runtime.dispose() }
}

interface Embeddable<Settings, A, E> {
  /** Service name in telemetry. */
  readonly name: string
  /** Decodes the settings: the given ones, and the others from the environment. Fails with all mistakes. */
  readonly settings: (given?: Partial<Settings>) => Effect.Effect<Settings, ConfigurationMistakes>
  /** The server without providers, logging or telemetry. */
  readonly layerNoDeps: (settings: Settings) => Layer.Layer<A | HttpServer.HttpServer, E, Upstream>
}

/** A server that calls model providers, for the command or for embedding. */
export const embeddable = <
  Settings extends UpstreamConfiguration & Pick<ServerSettings, "redisUrl"> & TelemetrySettings & LoggingSettings,
  A,
  E,
>({
  layerNoDeps,
  name,
  settings,
}: Embeddable<Settings, A, E>) => {
  const layerWith = <E2 = never>(
    configured: Settings,
    extras: Layer.Layer<never, E2, A | HttpServer.HttpServer | Upstream> = Layer.empty,
  ) =>
    extras.pipe(
      Layer.provideMerge(layerNoDeps(configured)),
      Layer.provideMerge(layerUpstream(configured)),
      Layer.provide(layerTelemetry(configured, name)),
      Layer.provide(layerLogging(configured)),
    )
  const layer = (given: Partial<Settings> = {}) =>
    Layer.unwrap(Effect.map(settings(given), (configured) => layerWith(configured)))
  return {
    settings,
    /** As a layer that requires `Upstream`, for custom providers. Takes all settings. */
    layerNoDeps,
    /** As a layer with the configured providers, logging and telemetry, which `extras` shares. Takes all settings. */
    layerWith,
    /** The same with settings from the environment; settings passed here win. It stops when its scope closes. */
    layer,
    /** For programs without Effect. Rejects if the configuration has mistakes or the port is taken. */
    start: (given: Partial<Settings> = {}) => start(layer(given)),
  }
}
