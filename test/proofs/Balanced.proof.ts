/** Three proxies behind the documented nginx, under load, while one is killed and restarted and another drained. */
import { join } from "node:path"
import { setTimeout } from "node:timers/promises"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { createKeyFile } from "../../src/services/sealing/AttestationKeyFile.ts"
import { freePort } from "../support/freePort.ts"
import { hasNginx, NO_NGINX, runNginx, TAGS } from "../support/nginx.ts"
import { runProxy, type RunningProxyProcess } from "../support/processes.ts"
import { scrape, valueOf } from "../support/prometheus.ts"
import { temporaryFolder } from "../support/proxy.ts"
import { type Exchange, runLoad, wanderer } from "./balanced/Load.ts"
import { HOLD, runProvider } from "./balanced/Provider.ts"

const SESSIONS = 500
const ROUNDS = 20
const TOTAL = SESSIONS * ROUNDS
const CONCURRENCY = 24

const start = Effect.gen(function* () {
  const provider = yield* runProvider
  const keyFile = join(yield* temporaryFolder, "attestation.pem")
  yield* createKeyFile(keyFile)
  const startProxy = (tag: string, port: number) =>
    runProxy({
      env: {
        PORT: String(port),
        ROUTING_TAG: tag,
        ATTESTATION_KEY_FILE: keyFile,
        TRUSTED_PROXIES: "127.0.0.1",
        PROVIDER1_API_KEY: "key",
        PROVIDER1_BASE_URL: provider.url,
        // Unique, so a prompt that arrives twice was sent twice.
        UPSTREAM_RETRIES: "0",
        SESSION_TTL: "15min",
        RATE_LIMIT_COMPLETIONS: "0",
        MAX_CONCURRENT_PER_CLIENT: "0",
      },
    })
  // The first creates the shared key.
  const first = yield* startProxy(TAGS[0], yield* Effect.promise(freePort))
  const second = yield* startProxy(TAGS[1], 0)
  const third = yield* startProxy(TAGS[2], 0)
  const nginx = yield* runNginx([first, second, third].map(portOf))
  return { provider, startProxy, first, second, third, nginx }
})

const portOf = ({ url }: RunningProxyProcess): number => Number(new URL(url).port)

/** Promises that resolve once a number of exchanges is done, even in the past. */
const milestones = () => {
  let done = 0
  const waiting = new Map<() => void, number>()
  return {
    reached: (count: number) => {
      done = count
      for (const [resume, at] of waiting) {
        if (at <= done && waiting.delete(resume)) resume()
      }
    },
    at: (count: number) =>
      Effect.promise(() =>
        count <= done ? Promise.resolve() : new Promise<void>((resolve) => waiting.set(resolve, count)),
      ),
  }
}

const sessionCounts = (proxy: RunningProxyProcess) =>
  Effect.promise(async () => {
    const metrics = await scrape(proxy)
    return {
      created: valueOf(metrics, "sealgate_sessions_created_total"),
      gone: valueOf(metrics, "sealgate_openings_failed_total", { reason: "session-gone" }),
    }
  })

/** Counts errors by message. */
const countErrors = (exchanges: ReadonlyArray<Exchange>): Readonly<Record<string, number>> => {
  const counts: Record<string, number> = {}
  for (const { error } of exchanges) {
    if (error === undefined) continue
    const name = `${error.code}, ${error.mayHaveBeenServed ? "may have been served" : "not served"}`
    counts[name] = (counts[name] ?? 0) + 1
  }
  return counts
}

describe.skipIf(!hasNginx)(hasNginx ? "three proxies behind nginx" : NO_NGINX, () => {
  it.live("complete every exchange verified while one is killed and another drained", () =>
    Effect.gen(function* () {
      const { first, nginx, provider, second, startProxy, third } = yield* start
      assert.strictEqual(new Set([first.kid, second.kid, third.kid]).size, 1)
      const { at, reached } = milestones()
      const began = performance.now()
      const load = Effect.promise(() =>
        runLoad({
          url: nginx.url,
          pins: [first.kid],
          sessions: SESSIONS,
          rounds: ROUNDS,
          concurrency: CONCURRENCY,
          onProgress: reached,
        }),
      )
      const faults = Effect.gen(function* () {
        yield* at(TOTAL * 0.3)
        const quiet = yield* Effect.forEach([first, second, third], sessionCounts)
        first.kill("SIGKILL")
        yield* Effect.promise(() => first.exit)
        yield* at(TOTAL * 0.4)
        const restarted = yield* startProxy(TAGS[0], portOf(first))
        yield* at(TOTAL * 0.6)
        second.kill("SIGTERM")
        const exitCode = yield* Effect.promise(() => second.exit)
        return { quiet, restarted, exitCode }
      })
      const [exchanges, { exitCode, quiet, restarted }] = yield* Effect.all([load, faults], {
        concurrency: "unbounded",
      })

      const errors = countErrors(exchanges)
      const asked = exchanges.filter(({ error }) => error !== undefined)
      const mended = exchanges.filter(({ error, sent }) => error === undefined && sent > 1)
      const failed = exchanges.filter(({ verified }) => !verified)
      console.log({
        exchanges: exchanges.length,
        seconds: Math.round((performance.now() - began) / 1000),
        verifiedAtOnce: exchanges.length - asked.length - mended.length,
        mendedByTheClient: mended.length,
        mendedByAskingOnceMore: asked.length - failed.length,
        failed: failed.length,
        errors,
      })

      assert.strictEqual(exchanges.length, TOTAL)
      assert.deepStrictEqual(
        failed.map(({ again, error, prompt }) => ({ prompt, error, again })),
        [],
      )
      // Requests reached their session's process, and all three proxies took part.
      assert.deepStrictEqual(
        quiet.map(({ gone }) => gone),
        [0, 0, 0],
      )
      assert.strictEqual(
        quiet.reduce((sum, { created }) => sum + created, 0),
        SESSIONS,
      )
      for (const { created } of quiet) assert.isAbove(created, SESSIONS / 6)
      // The faults had effects: sessions moved from each proxy, and the restarted one was used again.
      assert.isAbove(mended.length, SESSIONS / 3)
      assert.strictEqual(exitCode, 0)
      assert.isAbove((yield* sessionCounts(restarted)).created, 0)
      for (const { error } of asked) assert.include(["unreachable", "problem", "stream-truncated"], error?.code)
      // Only requests that a caller repeated may have reached the provider twice.
      assert.isTrue(exchanges.every(({ prompt }) => provider.asked.has(prompt)))
      for (const { error, prompt } of exchanges) {
        assert.isAtMost(provider.asked.get(prompt) ?? 0, error?.mayHaveBeenServed === true ? 2 : 1, prompt)
      }
    }),
  )

  it.live("answer a misrouted session with session-gone, and the client begins another", () =>
    Effect.gen(function* () {
      const { first, nginx } = yield* start
      yield* Effect.promise(async () => {
        const { client, detours, refusals } = wanderer(nginx.url, first.kid)
        const ask = async () => (await client.complete({ prompt: "where am I" })).receipt.session_id
        const session = await ask()
        assert.strictEqual(await ask(), session)
        assert.include<string>(TAGS, session.slice(0, 4))
        assert.deepStrictEqual(refusals, [])

        const elsewhere = TAGS.find((tag) => !session.startsWith(tag))
        detours.push(elsewhere)
        const next = await ask()
        assert.notStrictEqual(next, session)
        assert.deepStrictEqual(refusals, ["410 session-gone"])
        assert.strictEqual(await ask(), next)

        // Without a known route a request reaches any proxy, which serves it or answers session-gone.
        for (const route of [undefined, "zzzz", "", "a route that is none"]) {
          detours.push(route)
          await ask()
        }
        assert.isTrue(refusals.every((refusal) => refusal === "410 session-gone"))
        assert.strictEqual(nginx.log.join(""), "")
      })
    }),
  )

  it.live("take new requests from a draining one, which finishes those in flight", () =>
    Effect.gen(function* () {
      const { first, nginx, provider, second, third } = yield* start
      yield* Effect.promise(async () => {
        const { client, refusals } = wanderer(nginx.url, first.kid)
        const held = client.complete({ prompt: HOLD })
        await provider.holding
        const { receipt: before } = await client.complete({ prompt: "before" })
        const home = [first, second, third][TAGS.findIndex((tag) => before.session_id.startsWith(tag))]
        if (home === undefined) return assert.fail("the session has no home")
        home.kill("SIGTERM")
        while ((await fetch(`${home.url}/ready`)).status === 200) await setTimeout(20)

        const { receipt: after } = await client.complete({ prompt: "after" })
        assert.deepStrictEqual(refusals, ["503 draining"])
        assert.notStrictEqual(after.session_id.slice(0, 4), before.session_id.slice(0, 4))
        for (let i = 0; i < 12; i++) {
          const fresh = wanderer(nginx.url, first.kid)
          const { receipt } = await fresh.client.complete({ prompt: `fresh ${i}` })
          assert.notStrictEqual(receipt.session_id.slice(0, 4), before.session_id.slice(0, 4))
          assert.deepStrictEqual(fresh.refusals, [])
        }

        provider.release()
        const { completion, receipt } = await held
        assert.strictEqual(completion.choices[0]?.message.content, HOLD)
        assert.strictEqual(receipt.session_id, before.session_id)
        assert.strictEqual(await home.exit, 0)
        assert.strictEqual(provider.asked.get(HOLD), 1)
      })
    }),
  )
})
