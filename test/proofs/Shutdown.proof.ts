/** Shutdown of real processes under load: what clients receive, and when. */
import { setTimeout } from "node:timers/promises"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { AnswerIncomplete, SealedProblem } from "../../src/client/errors.ts"
import { deltaText } from "../../src/client/sealed/deltaText.ts"
import type { ChatStream } from "../../src/client/sealed/joins.ts"
import { SECRET } from "../support/gateway.ts"
import { findInMemory, findPrivateKey, formsOf } from "../support/memory.ts"
import { PAUSED } from "../support/pauseAtExit.ts"
import { run, runProxy, type RunningProxyProcess } from "../support/processes.ts"
import { failureOf } from "../support/promises.ts"
import { beginSession, INIT, jsonOf, post, seal } from "../support/sealing.ts"
import { openSocket } from "../support/sockets.ts"
import {
  FLOOD_LENGTH,
  FLOOD_WORDS,
  type HeldProvider,
  type Manner,
  OPENING,
  REST,
  runHeldProvider,
} from "./shutdown/HeldProvider.ts"

const GRACE_MS = 10_000
/** Aborted streams have 3 s for their end, connections linger for 0.5 s; the rest is for a busy machine. */
const MARGIN_MS = 3000 + 500 + 4000

const IN_FLIGHT: Readonly<Record<Manner, number>> = { finishes: 90, hangs: 90, floods: 20, silent: 20 }
const CLIENTS = 10
const IDLE = 50
/** Flood readers that stop reading; the others read slowly. */
const STALLED = 8
const SLOW_MS = 5

const startProxy = Effect.fnUntraced(function* (provider: HeldProvider, grace: number) {
  return yield* runProxy({
    pauseAtExit: true,
    env: {
      SHUTDOWN_GRACE: `${grace}ms`,
      PROVIDER1_API_KEY: "key",
      PROVIDER1_BASE_URL: provider.url,
      UPSTREAM_FIRST_TOKEN_TIMEOUT: "10min",
      UPSTREAM_IDLE_TIMEOUT: "10min",
      RATE_LIMIT_COMPLETIONS: "0",
      MAX_CONCURRENT_PER_CLIENT: "0",
      MAX_CONNECTIONS_PER_CLIENT: "1000",
    },
  })
})

const wordOf = (part: { readonly type: string; readonly chunk?: unknown }): string => {
  const content: unknown = Reflect.get(Object(Reflect.get(Object(part.chunk), "choices")?.[0]?.delta), "content")
  return typeof content === "string" ? content : ""
}

type Parts = ReturnType<ChatStream[typeof Symbol.asyncIterator]>

/** Reads the first words, and returns the rest of the stream. */
const begin = async (stream: ChatStream): Promise<Parts> => {
  const parts = stream[Symbol.asyncIterator]()
  for (;;) {
    const { done, value } = await parts.next()
    if (done === true) throw new Error("the stream ended before its first words")
    // Immediate continuations may be merged into the same frame.
    if (wordOf(value).startsWith(OPENING)) return parts
  }
}

const finished = async (stream: ChatStream): Promise<void> => {
  assert.strictEqual(await stream.text(), OPENING + REST)
  const { proof, receipt } = await stream.end
  assert.strictEqual(receipt.status, "complete")
  assert.strictEqual(proof.count, receipt.count + 1)
}

/** The client reports this only after verifying the receipt and the proof. */
const aborted = async (parts: Parts, characters: number, pauseMs = 0): Promise<void> => {
  const reading = async () => {
    for (let next = await parts.next(); next.done !== true; next = await parts.next()) {
      if (pauseMs > 0) await setTimeout(pauseMs)
    }
  }
  const error = await failureOf(reading())
  assert.instanceOf(error, AnswerIncomplete)
  assert.strictEqual(error.status, "aborted")
  assert.strictEqual(error.problem?.code, "draining")
  assert.strictEqual(error.receipt.status, "aborted")
  const text = error.prefix.chunks.map(deltaText).join("")
  assert.strictEqual(text.length, characters)
}

/** Whole answers are refused under the seal, streams end under it. */
const refusedSealed = async (answer: Promise<unknown>): Promise<void> => {
  const error = await failureOf(answer)
  assert.isTrue(error instanceof SealedProblem ? error.sealed : error instanceof AnswerIncomplete)
  assert.strictEqual(Reflect.get(Object(Reflect.get(Object(error), "problem")), "code"), "draining")
}

/** Starts all requests. `ends` settles when every reader knows how its answer ended. */
const load = async (proxy: RunningProxyProcess, provider: HeldProvider) => {
  const clients = Array.from({ length: CLIENTS }, () => proxy.client())
  const client = (n: number) => {
    const one = clients[n % CLIENTS]
    if (one === undefined) throw new Error("no clients")
    return one
  }
  const streams = (manner: Manner) =>
    Promise.all(
      Array.from({ length: IN_FLIGHT[manner] }, async (_, n) => {
        const stream = await client(n).stream({ prompt: manner })
        return { stream, parts: await begin(stream) }
      }),
    )
  const finishing = await streams("finishes")
  const hanging = await streams("hangs")
  const flooding = await streams("floods")
  const waiting = Array.from({ length: IN_FLIGHT.silent }, (_, n) =>
    refusedSealed(
      n % 2 === 0
        ? client(n)
            .stream({ prompt: "silent" })
            .then((stream) => stream.text())
        : client(n).complete({ prompt: "silent" }),
    ),
  )
  while (provider.open() < Object.values(IN_FLIGHT).reduce((sum, count) => sum + count)) await setTimeout(20)
  const ends = Promise.all([
    ...finishing.map(({ stream }) => finished(stream)),
    ...hanging.map(({ parts }) => aborted(parts, OPENING.length)),
    ...flooding.slice(STALLED).map(({ parts }) => aborted(parts, OPENING.length + FLOOD_WORDS * FLOOD_LENGTH, SLOW_MS)),
    ...waiting,
  ])
  // Awaited after the process exits; until then a failure must not count as unhandled.
  ends.catch(() => undefined)
  return { ends }
}

const pausedWith = (proxy: RunningProxyProcess): Promise<number> =>
  proxy.line((line) => (line.startsWith(PAUSED) ? Number(line.slice(PAUSED.length)) : undefined))

/** Keys of new sessions, in all forms that memory may hold. */
const keysIn = async (proxy: RunningProxyProcess) => {
  const sessions = await Promise.all(Array.from({ length: 3 }, () => beginSession(proxy, ["X25519"])))
  return sessions.flatMap(({ publicKey }) => {
    const key = findPrivateKey(proxy.pid, publicKey)
    if (key === undefined) throw new Error("the session's key is not in guarded memory")
    return formsOf(key)
  })
}

const onLinux = process.platform === "linux"

const statusOf = async (proxy: RunningProxyProcess, path: string) => (await fetch(proxy.url + path)).status

describe("a proxy with 200 streams in flight", () => {
  it.live("ends all of them in order within its grace period, and leaves no key in memory", () =>
    Effect.gen(function* () {
      const provider = yield* runHeldProvider
      const proxy = yield* startProxy(provider, GRACE_MS)
      const idle = yield* Effect.forEach(Array.from({ length: IDLE }), () =>
        openSocket(Number(new URL(proxy.url).port), "GET /health HTTP/1.1\r\nhost: localhost\r\n\r\n"),
      )
      yield* Effect.promise(async () => {
        for (const socket of idle) await socket.receives(/"ok"/)
        const { ends } = await load(proxy, provider)
        const session = await beginSession(proxy)
        const late = await seal(session, { prompt: "late" })
        const keys = onLinux ? await keysIn(proxy) : []
        assert.strictEqual(await statusOf(proxy, "/ready"), 200)

        const signalled = performance.now()
        proxy.kill("SIGTERM")
        while ((await statusOf(proxy, "/ready")) !== 503) await setTimeout(20)
        assert.strictEqual(await statusOf(proxy, "/health"), 200)
        for (const [path, body] of [
          ["/v1/init", INIT],
          ["/v1/completions", late.body],
        ] as const) {
          const refused = await post(proxy, path, body)
          assert.strictEqual(refused.status, 503)
          assert.strictEqual((await jsonOf(refused))["code"], "draining")
        }
        provider.release()

        assert.strictEqual(await pausedWith(proxy), 0)
        assert.isBelow(performance.now() - signalled, GRACE_MS + MARGIN_MS)
        await ends
        for (const socket of idle) await socket.ended
        assert.strictEqual(provider.open(), 0)
        assert.deepStrictEqual(proxy.stderr, [])
        if (onLinux) assert.deepStrictEqual(findInMemory(proxy.pid, keys), [])
      })
    }),
  )

  it.live("exits at once on a second signal, and leaves no key in memory", () =>
    Effect.gen(function* () {
      const provider = yield* runHeldProvider
      const proxy = yield* startProxy(provider, 600_000)
      yield* Effect.promise(async () => {
        await load(proxy, provider)
        const keys = onLinux ? await keysIn(proxy) : []
        proxy.kill("SIGINT")
        while ((await statusOf(proxy, "/ready")) !== 503) await setTimeout(20)
        const second = performance.now()
        proxy.kill("SIGTERM")
        assert.strictEqual(await pausedWith(proxy), 130)
        assert.isBelow(performance.now() - second, MARGIN_MS)
        if (onLinux) assert.deepStrictEqual(findInMemory(proxy.pid, keys), [])
      })
    }),
  )
})

/** Moments of a start, in milliseconds: before loading, while loading, and while opening files. */
const MOMENTS = [0, 150, 400, 800, 1200]

describe("a server that is stopped while it starts", () => {
  it.live.each(["proxy", "gateway"])("%s: ends at once, and the next start works", (command) =>
    Effect.gen(function* () {
      const env = { PORT: "0", HOST: "127.0.0.1", LOG_FORMAT: "json", JWT_SECRET: SECRET }
      const { folder } = yield* run(["--version"])
      for (const [n, moment] of MOMENTS.entries()) {
        const starting = yield* run([command], { env, folder })
        yield* Effect.promise(() => setTimeout(moment))
        const signal = n % 2 === 0 ? "SIGTERM" : "SIGINT"
        starting.kill(signal)
        // Node's exit until the command's handler is loaded; the command exits with 130.
        const codes = signal === "SIGINT" ? [0, 130, signal] : [0, signal]
        assert.include(codes, yield* Effect.promise(() => starting.exit))
        assert.deepStrictEqual(starting.stderr, [])
      }
      const next = yield* run([command], { env, folder })
      yield* Effect.promise(() => next.line((line) => (line.includes("listening on") ? true : undefined)))
    }),
  )
})
