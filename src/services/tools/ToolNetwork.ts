/** The HTTP client for tools, whose URLs tenants choose. It follows no redirects and uses no network proxy. */
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import { Context, Duration, Effect, Layer } from "effect"
import { HttpClient, type HttpClientError } from "effect/http"
import type { IpNetwork } from "effect/net"
import type { Agent } from "undici"
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

/** The tenant whose tool, webhook or push is called. Lookups of tenants take turns. */
export const ToolTenant = Context.Reference<string>("sealgate/services/tools/ToolTenant", { defaultValue: () => "" })

/**
 * Returns a function that gives a tenant's connections. They end with the scope; a tenant without connections is
 * forgotten.
 */
const makeAgents = Effect.fnUntraced(function* (make: (tenant: string) => Agent) {
  const agents = new Map<string, Agent>()
  yield* Effect.addFinalizer(() =>
    Effect.promise(() => Promise.all(Array.from(agents.values(), (one) => one.destroy()))),
  )
  return (tenant: string): Agent => {
    const known = agents.get(tenant)
    if (known !== undefined) return known
    const agent = make(tenant)
    const forget = () => {
      if (agents.get(tenant) === agent && Object.keys(agent.stats).length === 0) agents.delete(tenant)
    }
    agent.on("disconnect", forget).on("connectionError", forget)
    agents.set(tenant, agent)
    return agent
  }
})

export class ToolNetwork extends Context.Service<ToolNetwork, HttpClient.HttpClient>()(
  "sealgate/services/tools/ToolNetwork",
) {
  static readonly layer = ({ allowed, lookup = lookupOfSystem }: ToolNetworkSettings): Layer.Layer<ToolNetwork> =>
    Layer.effect(
      ToolNetwork,
      Effect.gen(function* () {
        const { Agent, buildConnector } = yield* Effect.promise(() => import("undici"))
        const connectOf = guardedConnect(buildConnector, {
          mayConnect: (protocol, address) => mayConnect(protocol, address, allowed),
          lookup,
          timeout: Duration.toMillis(CONNECT_TIMEOUT),
        })
        const agentOf = yield* makeAgents(
          (tenant) => new Agent({ connect: connectOf(tenant), maxHeaderSize: MAX_HEADER_BYTES }),
        )
        const clientOf = (tenant: string) =>
          Effect.provideService(NodeHttpClient.makeUndici, NodeHttpClient.Dispatcher, agentOf(tenant))
        const client = HttpClient.makeWith<never, never, HttpClientError.HttpClientError, never>(
          Effect.flatMap(
            Effect.fnUntraced(function* (request) {
              const client = yield* clientOf(yield* ToolTenant)
              return yield* client.execute(request)
            }),
          ),
          Effect.succeed,
        )
        // No spans: they would contain URLs, whose queries are inputs of tools, and tools are no part of the operator's
        // traces.
        return HttpClient.transformResponse(client, (response) =>
          response.pipe(
            Effect.provideService(HttpClient.TracerDisabledWhen, () => true),
            Effect.provideService(HttpClient.TracerPropagationEnabled, false),
          ),
        )
      }),
    )
}
