/** The HTTP client for tools, whose URLs tenants choose. It follows no redirects and uses no network proxy. */
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import { Context, Duration, Effect, Layer } from "effect"
import { HttpClient } from "effect/http"
import type { IpNetwork } from "effect/net"
import { mayConnect } from "../../domain/access/publicAddress.ts"
import { guardedConnect } from "./guardedConnect.ts"
import { type Lookup, lookupOfSystem } from "./lookups.ts"

const CONNECT_TIMEOUT = Duration.seconds(10)
/** A larger header section fails the call. */
const MAX_HEADER_BYTES = 32 * 1024

interface ToolNetworkSettings {
  /** Networks beside the public ones that tools may reach. */
  readonly allowed: ReadonlyArray<IpNetwork.IpNetwork>
  readonly lookup?: Lookup | undefined
}

export class ToolNetwork extends Context.Service<ToolNetwork, HttpClient.HttpClient>()(
  "sealgate/services/tools/ToolNetwork",
) {
  static readonly layer = ({ allowed, lookup = lookupOfSystem }: ToolNetworkSettings): Layer.Layer<ToolNetwork> =>
    Layer.effect(
      ToolNetwork,
      Effect.gen(function* () {
        const { buildConnector } = yield* Effect.promise(() => import("undici"))
        const dispatcher = yield* NodeHttpClient.makeDispatcherOptions({
          connect: guardedConnect(buildConnector, {
            mayConnect: (protocol, address) => mayConnect(protocol, address, allowed),
            lookup,
            timeout: Duration.toMillis(CONNECT_TIMEOUT),
          }),
          maxHeaderSize: MAX_HEADER_BYTES,
        })
        const client = yield* Effect.provideService(NodeHttpClient.makeUndici, NodeHttpClient.Dispatcher, dispatcher)
        // Spans would hold URLs, whose queries are inputs of tools, and tools are no part of the operator's traces.
        return HttpClient.transformResponse(client, (response) =>
          response.pipe(
            Effect.provideService(HttpClient.TracerDisabledWhen, () => true),
            Effect.provideService(HttpClient.TracerPropagationEnabled, false),
          ),
        )
      }),
    )
}
