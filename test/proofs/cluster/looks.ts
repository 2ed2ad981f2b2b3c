/** Observations from outside: probes, metrics, logs, and callers of a provider. */
import { setTimeout as sleep } from "node:timers/promises"
import { Effect } from "effect"
import type { Recorded } from "../../support/fake-upstream/Asked.ts"
import type { Fake } from "../../support/FakeUpstream.ts"
import { until as untilSo } from "../../support/until.ts"
import type { Fleet, Gateway } from "../fleet.ts"

export const until = (condition: () => boolean | Promise<boolean>) =>
  Effect.promise(() => untilSo(String(condition), condition))

/** Waits under load. */
export const ticks = (milliseconds: number) => Effect.promise(() => sleep(milliseconds))

interface Ready {
  readonly redis?: string
  readonly database?: { readonly ok: boolean }
  readonly providers: ReadonlyArray<{ readonly provider: string; readonly circuit: string }>
}

const readyOf = async ({ operatorUrl }: Pick<Gateway, "operatorUrl">) => {
  const response = await fetch(`${operatorUrl}/ready`)
  // The contract describes this shape.
  return { ...((await response.json()) as Ready), status: response.status }
}

export const ready = (gateway: Pick<Gateway, "operatorUrl">) => Effect.promise(() => readyOf(gateway))

/** Expected parts of every gateway's readiness; omitted ones do not matter. */
export interface Expected {
  readonly status?: number
  readonly redis?: string
  readonly database?: boolean
  readonly circuit?: readonly [provider: string, state: string]
  readonly metric?: readonly [name: string, value: number]
}

const fits = async (gateway: Gateway, expected: Expected): Promise<boolean> => {
  const seen = await readyOf(gateway)
  const circuit = seen.providers.find(({ provider }) => provider === expected.circuit?.[0])?.circuit
  if (expected.status !== undefined && seen.status !== expected.status) return false
  if (expected.redis !== undefined && seen.redis !== expected.redis) return false
  if (expected.database !== undefined && seen.database?.ok !== expected.database) return false
  if (expected.circuit !== undefined && circuit !== expected.circuit[1]) return false
  if (expected.metric === undefined) return true
  const [name, value] = expected.metric
  return (await (await fetch(`${gateway.operatorUrl}/metrics`)).text()).includes(`\n${name} ${value}\n`)
}

/** Waits until all gateways match. */
export const untilReady = (gateways: Fleet, expected: Expected) =>
  until(async () => (await Promise.all(gateways.all.map((gateway) => fits(gateway, expected)))).every(Boolean))

/** The lines that any gateway logged with this text. */
export const logged = (gateways: Fleet, text: string): ReadonlyArray<string> =>
  gateways.all.flatMap(({ stderr, stdout }) => [...stdout, ...stderr].filter((line) => line.includes(text)))

/** Requests for a model within a period of `performance.now()`. */
export const callsTo = (upstream: Fake, model: string, from = 0, to = Infinity): ReadonlyArray<Recorded> =>
  upstream.requests.filter(({ asked, at }) => asked?.model === model && at >= from && at <= to)

/** The gateways that answered. */
export const keysSeen = (upstream: Fake, model: string, from?: number, to?: number): ReadonlySet<string> =>
  new Set(callsTo(upstream, model, from, to).flatMap(({ asked }) => asked?.key ?? []))
