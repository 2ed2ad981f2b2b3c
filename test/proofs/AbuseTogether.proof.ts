/** Runs every attack in turn, each from one address, while an honest client at another works. */
import { setTimeout } from "node:timers/promises"
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { plainRequest } from "../support/plainRequest.ts"
import { run } from "../support/processes.ts"
import { forgetPeak, metricsOf, peakOf, residentOf, startProxyProcess } from "./abuse/Server.ts"
import { MB, MIB } from "./abuse/UnderAttack.ts"

/** Duration of each attack; together they take more than a minute. */
const PHASE_MS = 6000
/** Interval of each of the honest client's requests: fewer than 600 a minute. */
const EVERY_MS = 150
const P99_MS = 1000
/** The defaults of `MAX_BODY_MEMORY` and `MAX_ANSWER_MEMORY`. */
const DOCUMENTED = 2 * 256 * MIB
/** See `UnderAttack.ts`. */
const LITTER = 150 * MB

interface Taken {
  readonly what: string
  readonly attack: string
  readonly ms: number
}

const percentile = (sorted: ReadonlyArray<number>, part: number): number =>
  sorted[Math.min(sorted.length - 1, Math.ceil(sorted.length * part) - 1)] ?? 0

const say = (name: string, taken: ReadonlyArray<Taken>) => {
  const sorted = taken.map(({ ms }) => ms).sort((a, b) => a - b)
  const [p50, p99, most] = [0.5, 0.99, 1].map((part) => percentile(sorted, part).toFixed(0))
  return `${name}: ${sorted.length} answered, p50 ${p50} ms, p99 ${p99} ms, the slowest ${most} ms`
}

it.live("attacks from one address leave all requests of another one answered, 99 of 100 within a second", () =>
  Effect.gen(function* () {
    const proxy = yield* startProxyProcess()
    const client = proxy.client()
    const taken: Array<Taken> = []
    let attack = "none"
    const health = async () => {
      const { status } = await plainRequest({ port: proxy.port, path: "/health", headers: { host: "localhost" } })
      assert.strictEqual(status, 200)
    }
    const sealed = async () => {
      const { completion } = await client.complete({ prompt: "hello" })
      assert.strictEqual(completion.choices[0]?.message.content, "hello")
    }
    const operator = () => metricsOf(proxy)
    /**
     * Sends a request every `EVERY_MS`, answered or not, and measures from the due time: a client that waits would measure
     * one slow request instead of many while a server hangs.
     */
    const asking = async (what: string, request: () => Promise<unknown>, signal: AbortSignal) => {
      const begun = performance.now()
      const asked: Array<Promise<unknown>> = []
      for (let count = 0; !signal.aborted; count++) {
        const due = begun + count * EVERY_MS
        await setTimeout(Math.max(0, due - performance.now()))
        const during = attack
        const answered = request().then(() => taken.push({ what, attack: during, ms: performance.now() - due }))
        asked.push(answered)
        // Awaited later; until then it must not count as an unhandled rejection.
        answered.catch(() => undefined)
      }
      await Promise.all(asked)
    }
    yield* Effect.promise(async () => {
      for (let i = 0; i < 30; i++) await Promise.all([sealed(), health(), operator()])
    })
    const base = residentOf(proxy)
    forgetPeak(proxy)

    const attacker = yield* run([String(proxy.port), String(PHASE_MS)], {
      module: new URL("./abuse/oneAttacker.ts", import.meta.url).pathname,
    })
    const over = new AbortController()
    yield* Effect.promise(async () => {
      const honest = Promise.all([
        asking("a sealed completion", sealed, over.signal),
        asking("/health", health, over.signal),
        asking("the operator's listener", operator, over.signal),
      ])
      const follow = globalThis.setInterval(() => {
        attack = attacker.stdout.findLast((line) => line.startsWith("attack: "))?.slice(8) ?? attack
      }, 20)
      await attacker.exit
      globalThis.clearInterval(follow)
      over.abort()
      await honest
    })
    const peak = peakOf(proxy)
    for (const key of ["attack", "what"] as const) {
      for (const name of new Set(taken.map((each) => each[key]))) {
        console.info(
          say(
            name,
            taken.filter((each) => each[key] === name),
          ),
        )
      }
    }
    console.info(
      `resident ${(base / MB).toFixed(0)} MB before, ${(peak / MB).toFixed(0)} MB at most; ${attacker.stdout.filter((line) => !line.startsWith("attack: ")).join(", ")}`,
    )
    assert.strictEqual(yield* Effect.promise(() => attacker.exit), 0, attacker.stderr.join("\n"))
    assert.deepStrictEqual(
      attacker.stdout.filter((line) => line.startsWith("failed")),
      [],
    )
    // Refused attacks would prove nothing.
    for (const attack of ["stale requests", "streams at pace 20"]) {
      const line = attacker.stdout.find((line) => line.startsWith("opened: ") && line.endsWith(attack))
      assert.isAtLeast(Number(/\d+/.exec(line ?? "")?.[0] ?? 0), 20, attack)
    }
    for (const what of new Set(taken.map((each) => each.what))) {
      const times = taken.filter((each) => each.what === what).map(({ ms }) => ms)
      assert.isAbove(times.length, 100, what)
      assert.isAtMost(
        percentile(
          times.sort((a, b) => a - b),
          0.99,
        ),
        P99_MS,
        `${what}, at p99`,
      )
    }
    assert.isBelow(peak, base + DOCUMENTED + LITTER)
  }),
)
