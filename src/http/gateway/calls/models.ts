/** The models that a caller may use. */
import { Effect } from "effect"
import type { Model } from "../../../client/sdk/vendors/models.ts"
import type { Identity } from "../../../domain/access/identity.ts"
import { isNamed } from "../../../domain/routing/routing.ts"
import { hasKey } from "../../../domain/upstream/upstream.ts"
import { permits } from "../../../domain/upstream/targets.ts"
import { ProviderKeys } from "../../../services/access/Secrets.ts"
import { Agents } from "../../../services/agents/Agents.ts"
import { RoutingConfig } from "../../../services/routing/RoutingConfig.ts"
import { Upstream } from "../../../services/upstream/Upstream.ts"
import { agentIn } from "./agentCall.ts"

/** The agents that are listed, the newest ones. Others can be used, too. */
const MOST_AGENTS = 100
const AGENTS = "agents"

export const makeModels = Effect.gen(function* () {
  const routing = yield* RoutingConfig
  const upstream = yield* Upstream
  const agents = yield* Agents
  const keysOf = yield* ProviderKeys

  /** The configuration's names, and the targets that the caller may use and that have a provider. */
  const routesOf = Effect.fnUntraced(function* ({ key, tenant }: Identity) {
    const settings = yield* routing.ofCall
    const configured = yield* upstream.configured
    const own = yield* keysOf(tenant)
    const targets = settings.targets.filter((target) => {
      const source = configured.get(target.provider)
      const isUsable = source !== undefined && hasKey(source, target.provider, own)
      return key?.agents === undefined && isUsable && permits(key?.models, target)
    })
    /** The model that calls reach under the name `id`, if there is one. */
    const named = (id: string): Model | undefined => {
      const target = targets.find((target) => isNamed(settings, id, target))
      const isName = settings.names !== undefined && Object.hasOwn(settings.names, id)
      return target && { id, owned_by: isName ? "sealgate" : target.provider }
    }
    return { names: Object.keys(settings.names ?? {}), targets, named }
  })

  const agentsOf = ({ key, tenant }: Identity) =>
    // Without a cursor, none is invalid.
    agents.list(tenant, { limit: MOST_AGENTS }, key?.agents).pipe(
      Effect.catchTag("CursorInvalid", Effect.die),
      Effect.map(({ items }) => items.map(({ name }): Model => ({ id: `agent:${name}`, owned_by: AGENTS }))),
    )

  return {
    /** Lists the configuration's names, the models of targets, and agents. */
    list: Effect.fnUntraced(function* (user: Identity) {
      const { named, names, targets } = yield* routesOf(user)
      const ids = new Set([...names, ...targets.map(({ model }) => model)])
      return [...[...ids].flatMap((id) => named(id) ?? []), ...(yield* agentsOf(user))]
    }),
    /** Returns the model or agent that calls name `id`. */
    find: Effect.fnUntraced(function* (user: Identity, id: string) {
      const agent = agentIn(id)
      if (agent === undefined) return (yield* routesOf(user)).named(id)
      return yield* agents.named(user.tenant, agent, user.key?.agents).pipe(
        Effect.as<Model>({ id, owned_by: AGENTS }),
        Effect.catchTag("AgentNotFound", () => Effect.undefined),
      )
    }),
  }
})
