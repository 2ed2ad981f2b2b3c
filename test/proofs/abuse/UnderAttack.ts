/** Runs one attack on one server beside honest clients, and measures memory before, at its height and after. */
import { setTimeout } from "node:timers/promises"
import { assert } from "@effect/vitest"
import { GatewayClient } from "../../../src/client/gateway/GatewayClient.ts"
import { until } from "../../support/until.ts"
import {
  attackersAt,
  forgetPeak,
  type GatewayProcess,
  heldBy,
  peakOf,
  type ProxyProcess,
  residentOf,
  type Server,
} from "./Server.ts"

export const KB = 1e3
export const MB = 1e6
export const MIB = 1024 * 1024

/**
 * Resident bytes of any load: V8 lets the young generation grow to about 50 MB, and the old one to a multiple of its live
 * size before it collects, and external buffers wait for that; compiled code and the allocator's reserves come on top. This depends
 * more on the time of a collection than on the attack; held memory is more meaningful.
 */
const LITTER = 150 * MB
/** Bytes that may remain held: caches filled on first use. */
const KEEPSAKES = 16 * MB
/** Rounds of honest use before anything is measured. */
const WARM_UP = 30

/** One round of an honest client; rejects on any error. */
export type Round = () => Promise<unknown>

/** Requests a whole answer and a stream, and verifies both. */
export const sealedRound = (proxy: ProxyProcess): Round => {
  const client = proxy.client()
  let count = 0
  return async () => {
    const prompt = `round ${count++} of an honest client`
    const { completion } = await client.complete({ prompt })
    assert.strictEqual(completion.choices[0]?.message.content, prompt)
    assert.strictEqual(await (await client.stream({ prompt })).text(), prompt)
  }
}

/** Reads and changes an agent, and sometimes runs a task. */
export const gatewayRound = async (gateway: GatewayProcess): Promise<Round> => {
  const client = new GatewayClient({ baseUrl: gateway.url, token: gateway.token })
  const { id } = await client.agents.create({ name: "honest" })
  let count = 0
  return async () => {
    const role = `role ${count++}`
    await client.agents.update(id, { role })
    assert.strictEqual((await client.agents.get(id)).role, role)
    if (count % 10 !== 1) return
    const job = await client.agents.execute(id, { task: "say something" })
    const { status } = await job.wait()
    assert.strictEqual(status, "completed")
  }
}

/** Pause of an honest client between rounds: 60 rounds a minute stay below every default rate. */
const REST_MS = 600

interface Attack {
  readonly name: string
  readonly server: Server
  readonly round: Round
  /** Rounds of warming up; default 30. */
  readonly warmUp?: number
  /** Bytes that the attack may occupy by the documented limits. */
  readonly allowed: number
  /** Further bytes of garbage, for attacks that produce much. */
  readonly litter?: number
  /** Attacks and cleans up; must call `atHeight` when most memory is held. */
  readonly attack: (atHeight: () => Promise<void>) => Promise<unknown>
  /** Number of units, to report the cost of one. */
  readonly count?: number
}

/** Runs an attack and asserts that it stays within its bound, harms no honest client, and leaves nothing behind. */
export const underAttack = async (options: Attack) => {
  const { allowed, attack, count, litter = LITTER, name, round, server, warmUp = WARM_UP } = options
  for (let i = 0; i < warmUp; i++) await round()
  const before = await heldBy(server)
  const base = residentOf(server)
  forgetPeak(server)

  const over = new AbortController()
  let rounds = 0
  let slowest = 0
  const honest = (async () => {
    while (!over.signal.aborted) {
      const started = performance.now()
      await round()
      rounds++
      slowest = Math.max(slowest, performance.now() - started)
      await setTimeout(REST_MS)
    }
  })()
  let atHeight = before
  const started = performance.now()
  // The honest client ends only by failing.
  const attacked = attack(async () => {
    atHeight = await heldBy(server)
  })
  await Promise.race([attacked, Promise.all([attacked, honest])])
  const seconds = (performance.now() - started) / 1000
  await until("the attackers' connections are closed", () => attackersAt(server) === 0)
  const peak = peakOf(server)
  const floor = before + KEEPSAKES
  await until(`no more than ${mb(floor)} is held`, async () => (await heldBy(server)) <= floor)
  over.abort()
  await honest
  const each =
    count === undefined ? "" : `, ${((atHeight - before) / count / KB).toFixed(1)} kB held for each of ${count}`
  console.info(
    `${name}: resident ${mb(base)} before, ${mb(peak)} at most (${mb(base + allowed + litter)} allowed), ` +
      `${mb(residentOf(server))} after; held ${mb(before)}, ${mb(atHeight)} at the height${each}; ` +
      `${seconds.toFixed(1)} s, ${rounds} honest rounds, the slowest ${slowest.toFixed(0)} ms`,
  )
  assert.isAbove(rounds, 0)
  assert.isAtMost(atHeight, before + allowed, `${name}: held at the height`)
  assert.isBelow(peak, base + allowed + litter, name)
}

const mb = (bytes: number): string => `${(bytes / MB).toFixed(0)} MB`
