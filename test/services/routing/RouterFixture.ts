/** The router over a scripted upstream and a database of its own. */
import { Effect, Layer, Random } from "effect"
import { SqlClient } from "effect/sql"
import type { ChatRequest } from "../../../src/domain/chat/chat.ts"
import type { RoutingSettings, RoutingSettingsInput, Target } from "../../../src/domain/routing/routing.ts"
import { Ledger } from "../../../src/services/routing/Ledger.ts"
import type { Routed, RouterRequest } from "../../../src/services/routing/askChat.ts"
import { Router } from "../../../src/services/routing/Router.ts"
import { type RouterError } from "../../../src/services/routing/RoutingErrors.ts"
import { RoutingConfig } from "../../../src/services/routing/RoutingConfig.ts"
import { sqlite } from "../../support/databases.ts"
import type { ScriptedUpstream } from "./ScriptedUpstream.ts"

/** In USD per million tokens. */
export const prices = (input: number, output: number, cachedInput = input) => ({
  input: input * 1_000_000,
  output: output * 1_000_000,
  cached_input: cachedInput * 1_000_000,
})

export const target = (name: `${Target["provider"]}/${string}`, members: Partial<Target> = {}): Target => {
  const [provider, model] = name.split("/") as [Target["provider"], string] // The type of `name` says so.
  return { provider, model, max_context_tokens: 100_000, ...members }
}

/** By default no retries, and one target per provider. */
export const settings = (members: Partial<RoutingSettings> = {}): RoutingSettingsInput => ({
  strategy: "fallback",
  baseline: { provider: "provider1", model: "large" },
  targets: [
    target("provider1/large", { prices: prices(10, 40, 1) }),
    target("provider2/small", { prices: prices(1, 4) }),
  ],
  retry: { max_retries: 0, base_delay_ms: 1, max_delay_ms: 1 },
  breaker: { failure_threshold: 3, open_ms: 1000 },
  timeouts: { first_token_ms: 1000, idle_ms: 1000, total_ms: 10_000 },
  ...members,
})

export const completion = (content = "hi"): ChatRequest => ({ messages: [{ role: "user", content }] })

/** The router and what it stands on, over an upstream and a database that are provided, with this configuration. */
export const stack = (input: RoutingSettingsInput) =>
  Layer.mergeAll(Router.layer, Layer.effectDiscard(stored(input))).pipe(
    Layer.provideMerge(Layer.mergeAll(RoutingConfig.layer(), Ledger.layer)),
  )

export const routing = (upstream: ScriptedUpstream, input: RoutingSettingsInput) =>
  Layer.provideMerge(stack(input), Layer.merge(upstream.layer, sqlite.layer))

const stored = (input: RoutingSettingsInput) => RoutingConfig.use((config) => config.put(input, { by: "test" }))

export const call = (request: Partial<RouterRequest> = {}): Effect.Effect<Routed, RouterError, Router> =>
  Router.use((router) => router.call({ tenant: "acme", role: "proposer", completion: completion(), ...request }))

/** The rows of the ledger in the order of their calls. */
export const ledgerRows = SqlClient.SqlClient.use((sql) => sql<Row>`SELECT * FROM ledger_calls ORDER BY id`)

interface Row {
  readonly [column: string]: string | number | null
}

/** Draws these numbers, over and over, in place of random ones. */
export const drawing =
  (...numbers: ReadonlyArray<number>) =>
  <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> => {
    let drawn = 0
    const nextDoubleUnsafe = () => numbers[drawn++ % numbers.length] ?? 0
    return Effect.provideService(effect, Random.Random, {
      nextDoubleUnsafe,
      nextIntUnsafe: () => Math.floor(nextDoubleUnsafe() * Number.MAX_SAFE_INTEGER),
    })
  }
