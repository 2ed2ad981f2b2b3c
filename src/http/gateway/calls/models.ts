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

/** The agents that are listed, the newest ones. Others can be used, too. */
const MOST_AGENTS = 100

/** Returns the list of a caller's models: the configuration's names, models of targets that have a provider, agents. */
export const makeModels = Effect.gen(function* () {
  const routing = yield* RoutingConfig
  const upstream = yield* Upstream
  const agents = yield* Agents
  const keysOf = yield* ProviderKeys

  return Effect.fnUntraced(function* ({ key, tenant }: Identity) {
    const settings = yield* routing.ofCall
    const configured = yield* upstream.configured
    const own = yield* keysOf(tenant)
    const targets = settings.targets.filter((target) => {
      const source = configured.get(target.provider)
      const isUsable = source !== undefined && hasKey(source, target.provider, own)
      return key?.agents === undefined && isUsable && permits(key?.models, target)
    })
    const models = new Map<string, Model>()
    for (const id of Object.keys(settings.names ?? {})) {
      if (targets.some((target) => isNamed(settings, id, target))) models.set(id, { id, owned_by: "sealgate" })
    }
    for (const { model: id, provider } of targets) {
      if (!models.has(id)) models.set(id, { id, owned_by: provider })
    }
    // Without a cursor, none is invalid.
    const page = agents.list(tenant, { limit: MOST_AGENTS }, key?.agents)
    const { items } = yield* Effect.catchTag(page, "CursorInvalid", Effect.die)
    for (const { name } of items) models.set(`agent:${name}`, { id: `agent:${name}`, owned_by: "agents" })
    return [...models.values()]
  })
})
