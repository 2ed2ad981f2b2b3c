/** What every server is: routes behind a listener that drains before anything it serves with is torn down. */
import { Context, type Duration, Effect, Layer, ManagedRuntime, Scope } from "effect"
import { HttpRouter, HttpServer } from "effect/http"
import type { ConfigurationMistakes } from "../domain/problems/configuration.ts"
import { layerOwnSpans } from "../http/shared/requestSpan.ts"
import { type ListenSettings, layerDrainFirst, layerNodeServer } from "../server/NodeServer.ts"
import { urlOf } from "../server/serverUrl.ts"
import { layerDiscreetTracer } from "../server/telemetry/DiscreetTracer.ts"
import { layerLogging, type LoggingSettings } from "../server/telemetry/Logging.ts"
import { layerTelemetry } from "../server/telemetry/Telemetry.ts"
import type { TelemetrySettings } from "../server/telemetry/TelemetrySettings.ts"
import { Drain } from "../services/lifecycle/Drain.ts"
import { TlsStatus } from "../services/lifecycle/TlsStatus.ts"
import type { Upstream } from "../services/upstream/Upstream.ts"
import type { ServerSettings } from "./config/serverSettings.ts"
import { OperatorListener } from "./OperatorListener.ts"
import { layerUpstream, type UpstreamConfiguration } from "./Providers.ts"

/** No type if requests need services, because none of those that the routes are built with reach them. */
type NeedsNothing<R> = [
  Exclude<HttpRouter.Request.Only<"Requires" | "GlobalRequires", R>, HttpRouter.GlobalProvided>,
] extends [never]
  ? unknown
  : never

interface Served<A, B, E, R, E2, R2, E3, R3> {
  readonly routes: Layer.Layer<never, E, R> & NeedsNothing<R>
  /** What both the routes and what is beside them stand on, such as limits, and looks at the listener and the services. */
  readonly shared: Layer.Layer<B, E3, R3>
  readonly services: Layer.Layer<A, E2, R2>
}

/**
 * Has requests begin with `context` instead of all that the layers around the server gave: that is copied several times
 * for each.
 */
const layerBeginningWith = (context: Context.Context<never>) =>
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

/**
 * Listens, and serves `routes` with what `services` give. On closing it drains, then closes the routes, then what is
 * `beside` them, then the services. Gives the services and the bound address (`HttpServer`).
 */
export const serve = <A, B, E, R, E2, R2, E3, R3, E4 = never, R4 = never>(
  settings: ListenSettings & { readonly shutdownGrace: Duration.Duration },
  { routes, services, shared }: Served<A, B, E, R, E2, R2, E3, R3>,
  beside: Layer.Layer<never, E4, R4> = Layer.empty,
) =>
  Layer.unwrap(
    Effect.contextWith((context: Context.Context<never>) =>
      Effect.succeed(
        layerDrainFirst.pipe(
          Layer.provideMerge(
            HttpRouter.serve(routes, { disableLogger: true, disableListenLog: true }).pipe(
              Layer.provide(layerBeginningWith(context)),
            ),
          ),
          Layer.provideMerge(beside),
          Layer.provide(shared),
          Layer.provideMerge(layerNodeServer(settings)),
          Layer.provideMerge(services),
          Layer.provideMerge(Drain.layer({ grace: settings.shutdownGrace })),
        ),
      ),
    ),
  ).pipe(Layer.provide(Layer.merge(layerOwnSpans, layerDiscreetTracer)))

/** A server that runs. */
export interface Running {
  /** Where it listens, as seen from this machine. */
  readonly url: string
  /** Where its operator asks for `/metrics` and all of `/ready`; `undefined` where nobody listens for that. */
  readonly operatorUrl: string | undefined
  /** Drains and closes it. */
  readonly stop: () => Promise<void>
}

/** Starts a server for a program without Effect. Rejects when the configuration has mistakes or the port is taken. */
export const start = async <A extends HttpServer.HttpServer, E>(
  layer: Layer.Layer<A | HttpServer.HttpServer, E>,
): Promise<Running> => {
  const runtime = ManagedRuntime.make(layer)
  const urls = Effect.gen(function* () {
    const { address } = yield* HttpServer.HttpServer
    return { url: urlOf(address, (yield* yield* TlsStatus).mode !== "off"), operatorUrl: yield* OperatorListener }
  })
  return { ...(await runtime.runPromise(urls)), stop: () => runtime.dispose() }
}

interface Embeddable<Settings, A, E> {
  /** The name that telemetry carries. */
  readonly name: string
  /** What was given, and for the rest what the environment says; or every mistake in them. */
  readonly settings: (given?: Partial<Settings>) => Effect.Effect<Settings, ConfigurationMistakes>
  /** The server without providers, logging and telemetry. */
  readonly layerNoDeps: (settings: Settings) => Layer.Layer<A | HttpServer.HttpServer, E, Upstream>
}

/** A server that calls model providers, to be run by the command or embedded in a program. */
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
    beside: Layer.Layer<never, E2, A | HttpServer.HttpServer | Upstream> = Layer.empty,
  ) =>
    beside.pipe(
      Layer.provideMerge(layerNoDeps(configured)),
      Layer.provideMerge(layerUpstream(configured)),
      Layer.provide(layerTelemetry(configured, name)),
      Layer.provide(layerLogging(configured)),
    )
  const layer = (given: Partial<Settings> = {}) =>
    Layer.unwrap(Effect.map(settings(given), (configured) => layerWith(configured)))
  return {
    settings,
    /** As a layer that needs `Upstream`, for providers of your own; it takes all settings. */
    layerNoDeps,
    /**
     * As a layer with all settings, the configured providers, logging and telemetry; what is built beside it logs and
     * traces as it does.
     */
    layerWith,
    /** The same, with settings from the environment; what is given here wins. It stops when its scope closes. */
    layer,
    /** The same for programs without Effect. Rejects when the configuration has mistakes or the port is taken. */
    start: (given: Partial<Settings> = {}) => start(layer(given)),
  }
}
