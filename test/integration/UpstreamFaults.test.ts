/** Faults of real sockets, in every wire format: connections that fail, answers that break off, callers that hang up. */
import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Fiber, Stream } from "effect"
import { createServer, type Socket } from "node:net"
import type { UpstreamError } from "../../src/domain/upstream/upstream.ts"
import { ask } from "../services/upstream/ScriptedProvider.ts"
import { BACKUP, WIRES, wired, type Wired } from "../services/upstream/WiredUpstream.ts"
import { type Break, fault, type Reply } from "../support/FakeUpstream.ts"
import { listening } from "../support/listening.ts"
import { streamOf } from "../support/streamed.ts"
import { withinTurns } from "../support/withinTurns.ts"

/** Runs the cases of one row side by side, because most of their time is waiting. */
const every = <A, E, R>(cases: ReadonlyArray<A>, run: (item: A) => Effect.Effect<void, E, R>) =>
  Effect.forEach(cases, run, { concurrency: "unbounded", discard: true })

/** Time limit of a test that moves megabytes, and of its calls. */
const PATIENCE = Duration.minutes(2)

const MODES = ["complete", "stream"] as const
const request = ({ upstream }: Wired, mode: (typeof MODES)[number]): Effect.Effect<unknown, UpstreamError> =>
  mode === "stream" ? Stream.runDrain(streamOf(upstream, ask())) : upstream.complete(ask())

describe.concurrent.each(WIRES)("$name", (wire) => {
  const setUp = (options?: Parameters<typeof wired>[1]) => wired(wire, options)

  it.live("retries a missing server, an unknown name and a missing TLS twice, then goes to the next target", () =>
    every(
      [
        // The discard port, which nothing listens on; a name that cannot exist (RFC 6761); TLS to a plain server.
        { baseUrl: "http://127.0.0.1:9" },
        { baseUrl: "http://no-such-host.invalid" },
        { tls: true },
      ],
      ({ baseUrl, tls }) =>
        Effect.gen(function* () {
          const all = yield* setUp(baseUrl === undefined ? {} : { baseUrl })
          const broken = tls ? yield* setUp({ baseUrl: all.target.url.replace("http:", "https:") }) : all
          const { upstream } = broken
          const { attempts, served } = yield* upstream.complete(ask())
          assert.strictEqual(served.provider, BACKUP)
          assert.deepStrictEqual(
            attempts.map(({ outcome }) => outcome),
            ["unreachable", "unreachable", "unreachable", "success"],
          )
        }),
    ),
  )

  it.live("gives up a connection that is never made in time, without a retry", () =>
    Effect.gen(function* () {
      const silent = yield* silentListener
      const baseUrl = `https://127.0.0.1:${silent.port}`
      const all = yield* setUp({ baseUrl, timeouts: { connect: Duration.millis(500) } })
      // Far from the default of five seconds, but the client's timers may be late by a second.
      const { attempts } = yield* withinTurns("4 seconds")(all.upstream.complete(ask()))
      assert.deepStrictEqual(
        attempts.map(({ outcome }) => outcome),
        ["connect-timeout", "success"],
      )
      assert.strictEqual(silent.connections(), 1)
    }),
  )

  const BREAKS = ["cut", "reset", "end", "error", "garbage"] satisfies Array<Break["how"]>

  it.live("never reports a truncated answer as a success, on any path", () =>
    every(MODES, (mode) =>
      every(BREAKS, (how) =>
        every([0, 1, 4], (after) =>
          Effect.gen(function* () {
            const all = yield* setUp({ alone: true })
            all.target.always({ text: "a b c d", delivery: { breaks: { after, how } } })
            const error = yield* Effect.flip(request(all, mode))
            const codes = ["upstream-truncated", "upstream-protocol", "upstream-unavailable", "rate-limited"]
            assert.include(codes, error.code)
            assert.strictEqual(all.target.requests.length, error.code === "upstream-protocol" ? 1 : 3)
            assert.isTrue(error.attempts?.every(({ outcome }) => outcome !== "success"))
          }),
        ),
      ),
    ),
  )

  it.live(
    "bounds and types garbage, wrong content types, oversized and endless answers",
    () => {
      const garbage: ReadonlyArray<readonly [mode: (typeof MODES)[number], reply: Reply]> = [
        ["complete", { text: "x", delivery: { contentType: "text/html" } }],
        ["complete", { text: "x", delivery: { breaks: { after: 0, how: "garbage" } } }],
        ["complete", { text: "x", delivery: { breaks: { after: 0, how: "flood" } } }],
        ["complete", fault.status(200, { body: [1, 2, 3] })],
        ["complete", fault.status(200, { body: "" })],
        ["stream", { text: "x", delivery: { contentType: "text/html" } }],
        ["stream", { text: "x y z", delivery: { breaks: { after: 0, how: "garbage" } } }],
        ["stream", { text: "x y z", delivery: { breaks: { after: 0, how: "oversized" } } }],
        ["stream", { text: "x y z", delivery: { breaks: { after: 2, how: "oversized" } } }],
        ["stream", { text: "x y z", delivery: { breaks: { after: 1, how: "flood" } } }],
      ]
      return Effect.forEach(
        garbage,
        ([mode, reply]) =>
          Effect.gen(function* () {
            // Megabytes take their time on a busy machine, and only their number counts here.
            const unhurried = { answer: PATIENCE, firstToken: PATIENCE, idle: PATIENCE, total: PATIENCE }
            const all = yield* setUp({ alone: true, retry: { times: 0 }, timeouts: unhurried })
            all.target.always(reply)
            const error = yield* Effect.flip(request(all, mode))
            assert.strictEqual(error.code, "upstream-protocol", `${mode} ${JSON.stringify(reply)}`)
            assert.strictEqual(all.target.requests.length, 1)
          }),
        { discard: true },
      )
    },
    Duration.toMillis(PATIENCE),
  )

  it.live("bounds and types answers that are not HTTP", () =>
    every(MODES, (mode) =>
      Effect.gen(function* () {
        const all = yield* setUp({ alone: true })
        all.target.always(fault.raw("SSH-2.0-OpenSSH_9.9\r\n"))
        assert.strictEqual((yield* Effect.flip(request(all, mode))).code, "upstream-unavailable")
        assert.strictEqual(all.target.requests.length, 3)
      }),
    ),
  )

  it.live("closes the connection within a second after the caller hangs up, at any point", () => {
    const moments: ReadonlyArray<readonly [mode: (typeof MODES)[number], reply: Reply]> = [
      ["complete", fault.silence],
      ["complete", { text: "half", delivery: { breaks: { after: 0, how: "silence" } } }],
      ["stream", fault.silence],
      ["stream", { text: "late", delivery: { firstChunkAfter: 30_000 } }],
      ["stream", { text: Array.from({ length: 10_000 }, () => "x "), delivery: { gap: 5 } }],
      ["stream", { text: "a b", delivery: { breaks: { after: 1, how: "silence" } } }],
    ]
    return every(moments, ([mode, reply]) =>
      Effect.gen(function* () {
        const all = yield* setUp()
        all.target.always(reply)
        const caller = yield* Effect.forkChild(request(all, mode))
        const received = yield* Effect.promise(() => all.target.received(1))
        yield* Effect.sleep("100 millis")
        const closed = Effect.andThen(
          Fiber.interrupt(caller),
          Effect.promise(() => received.ended),
        )
        assert.strictEqual(yield* withinTurns("1 second")(closed), "hung-up")
        assert.strictEqual(all.target.requests.length, 1)
        assert.strictEqual(all.backup.requests.length, 0)
      }),
    )
  })
})

/** Takes connections and never says anything. */
const silentListener = Effect.gen(function* () {
  const sockets: Array<Socket> = []
  const server = createServer((socket) => sockets.push(socket.on("error", () => {}).resume()))
  const closeAllConnections = () => {
    for (const socket of sockets) socket.destroy()
  }
  return { port: yield* listening(Object.assign(server, { closeAllConnections })), connections: () => sockets.length }
})
