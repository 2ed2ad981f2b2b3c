/** Three gateway processes of one deployment, each of which can be killed and started again. */
import { Effect, Scope } from "effect"
import { runGateway } from "../support/gatewayProcess.ts"
import { operatorUrlIn, type Running } from "../support/processes.ts"

export const GATEWAYS = 3

/** Providers identify the calling process by its key. */
export const keyOf = (slot: number): string => `key-of-gateway-${slot}`

export interface Gateway extends Running {
  readonly url: string
  /** The operator's listener. */
  readonly operatorUrl: string
}

export interface Fleet {
  /** The process in each slot; a restart replaces it. */
  readonly all: ReadonlyArray<Gateway>
  readonly kill: (slot: number) => Effect.Effect<void>
  /** Restarts a process in the scope of the others. */
  readonly restart: (slot: number) => Effect.Effect<void>
}

/** The settings of the process in a slot. */
type EnvironmentOf = (slot: number) => Readonly<Record<string, string>>

const start = Effect.fnUntraced(function* (slot: number, environmentOf: EnvironmentOf) {
  const running = yield* runGateway({
    env: {
      UPSTREAM_RETRIES: "0",
      RATE_LIMIT_READ: "0",
      RATE_LIMIT_WRITE: "0",
      RATE_LIMIT_EXECUTE: "0",
      ...environmentOf(slot),
    },
  })
  const operatorUrl = yield* Effect.promise(() => running.line(operatorUrlIn))
  return { ...running, operatorUrl } satisfies Gateway
})

/** Starts them all; they end with the scope. */
export const startFleet = Effect.fnUntraced(function* (environmentOf: EnvironmentOf) {
  const scope = yield* Scope.Scope
  const slots = Array.from({ length: GATEWAYS }, (_, slot) => slot)
  const all = yield* Effect.forEach(slots, (slot) => start(slot, environmentOf), { concurrency: "unbounded" })
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
      Effect.map(Scope.provide(start(slot, environmentOf), scope), (gateway) => {
        all[slot] = gateway
      }),
  } satisfies Fleet
})
