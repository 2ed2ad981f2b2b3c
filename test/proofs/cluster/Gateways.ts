/** Three gateway processes on one Postgres and one Redis, in front of a fake of the vendors. */
import { Effect, Scope } from "effect"
import type { Fake } from "../../support/FakeUpstream.ts"
import { operatorUrlIn, type Running } from "../../support/processes.ts"
import { runGateway } from "../../support/gatewayProcess.ts"

export const COUNT = 3

/** Reading requests per tenant and minute. */
export const READ_LIMIT = 300

/** The reliable provider, and the one that a proof breaks. */
export const GOOD = { provider: "provider1", model: "good" } as const
export const SHAKY = { provider: "provider2", model: "shaky" } as const

const CIRCUIT_OPEN_SECONDS = 6

/** Providers identify the calling process by its key. */
export const keyOf = (slot: number): string => `key-of-gateway-${slot}`

export interface Gateway extends Running {
  readonly url: string
  /** The operator's listener. */
  readonly operatorUrl: string
}

export interface Gateways {
  /** The process in each slot; a restart replaces it. */
  readonly all: ReadonlyArray<Gateway>
  readonly kill: (slot: number) => Effect.Effect<void>
  /** Restarts a process in the scope of the others. */
  readonly restart: (slot: number) => Effect.Effect<void>
}

const start = Effect.fnUntraced(function* (slot: number, shared: Readonly<Record<string, string>>, upstream: Fake) {
  const running = yield* runGateway({
    env: {
      PROVIDER1_API_KEY: keyOf(slot),
      PROVIDER1_BASE_URL: upstream.openAi,
      PROVIDER1_MODEL: GOOD.model,
      PROVIDER2_API_KEY: keyOf(slot),
      PROVIDER2_BASE_URL: upstream.openAi,
      PROVIDER2_MODEL: SHAKY.model,
      UPSTREAM_RETRIES: "0",
      UPSTREAM_CIRCUIT_FAILURES: "3",
      UPSTREAM_CIRCUIT_OPEN: `${CIRCUIT_OPEN_SECONDS}s`,
      RATE_LIMIT_READ: `${READ_LIMIT}`,
      RATE_LIMIT_WRITE: "0",
      RATE_LIMIT_EXECUTE: "0",
      MAX_CONNECTIONS_PER_CLIENT: "1000",
      // Each caller has a separate address, as behind a load balancer.
      TRUSTED_PROXIES: "127.0.0.1",
      ...shared,
    },
  })
  const operatorUrl = yield* Effect.promise(() => running.line(operatorUrlIn))
  return { ...running, operatorUrl } satisfies Gateway
})

/** Starts them all; they end with the scope. */
export const startGateways = Effect.fnUntraced(function* (
  shared: { readonly DATABASE_URL: string; readonly REDIS_URL: string },
  upstream: Fake,
) {
  const scope = yield* Scope.Scope
  const slots = Array.from({ length: COUNT }, (_, slot) => slot)
  const all = yield* Effect.forEach(slots, (slot) => start(slot, shared, upstream), { concurrency: "unbounded" })
  const at = (slot: number): Gateway => {
    const gateway = all[slot]
    if (gateway === undefined) throw new Error(`no gateway ${slot}`)
    return gateway
  }
  return {
    all,
    kill: (slot) =>
      Effect.promise(async () => {
        at(slot).kill("SIGKILL")
        await at(slot).exit
      }),
    restart: (slot) =>
      Effect.map(Scope.provide(start(slot, shared, upstream), scope), (gateway) => {
        all[slot] = gateway
      }),
  } satisfies Gateways
})
