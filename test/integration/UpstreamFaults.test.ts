/** Every row of the fault table, in every wire format where it applies, over real sockets. */
import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Fiber, Redacted } from "effect"
import { createServer } from "node:net"
import type { AddressInfo, Socket } from "node:net"
import type { Served, StreamEvent, UpstreamError } from "../../src/domain/upstream/upstream.ts"
import { ask, JITTER_FLOOR } from "../services/upstream/ScriptedProvider.ts"
import {
  BACKOFF,
  BACKUP,
  hear,
  heard,
  pauses,
  readInto,
  SHORT,
  SHORT_MS,
  WIRES,
  wired,
  type Wired,
} from "../services/upstream/WiredUpstream.ts"
import { type Answer, type Break, fault, type Reply } from "../support/FakeUpstream.ts"
import { withinTurns } from "../support/withinTurns.ts"

/** Runs the cases of one row side by side, because most of their time is waiting. */
const every = <A, E, R>(cases: ReadonlyArray<A>, run: (item: A) => Effect.Effect<void, E, R>) =>
  Effect.forEach(cases, run, { concurrency: "unbounded", discard: true })

/** How far a busy machine may be behind before something is wrong; every fault here would last far longer. */
const SLACK_MS = 5_000
/** Time limit of a test that moves megabytes, and of its calls. */
const PATIENCE = Duration.minutes(2)

/** Both ways to ask, reduced to what they have in common. */
const MODES = ["complete", "stream"] as const
const request = (
  { upstream }: Wired,
  mode: (typeof MODES)[number],
  asked = ask(),
): Effect.Effect<{ readonly served: Served | undefined; readonly text: unknown }, UpstreamError> =>
  mode === "stream"
    ? Effect.map(hear(upstream, asked), ({ finished, text }) => ({ served: finished?.served, text }))
    : Effect.map(upstream.complete(asked), ({ completion, served }) => ({
        served,
        text: completion.choices[0]?.message.content,
      }))

const taken = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.suspend(() => {
    const startedAt = performance.now()
    return Effect.map(effect, (value) => ({ value, ms: performance.now() - startedAt }))
  })

describe.concurrent.each(WIRES)("$name", (wire) => {
  const setUp = (options?: Parameters<typeof wired>[1]) => wired(wire, options)

  it.live("waits for Retry-After of 429 and 503, in seconds and until a date", () =>
    every(MODES, (mode) =>
      every(["seconds", "date", "503"] as const, (form) =>
        Effect.gen(function* () {
          const all = yield* setUp()
          // Dates have whole seconds, so this is one to two seconds away.
          const date = new Date(Math.floor(Date.now() / 1000) * 1000 + 2_000)
          const refusal = {
            seconds: fault.status(429, { headers: { "retry-after": "1" } }),
            date: fault.status(429, { headers: { "retry-after": date.toUTCString() } }),
            "503": fault.status(503, { headers: { "retry-after": "1" } }),
          }
          all.target.script(refusal[form], { text: "patience" })
          const { served, text } = yield* request(all, mode)
          assert.strictEqual(text, "patience")
          assert.strictEqual(served?.provider, wire.provider)
          assert.strictEqual(all.target.requests.length, 2)
          assert.strictEqual(all.backup.requests.length, 0)
          if (form === "date") {
            const second = performance.timeOrigin + (all.target.requests[1]?.at ?? 0)
            assert.isAtLeast(second, date.getTime())
          } else {
            assert.isAtLeast(pauses(all.target.requests)[0] ?? 0, 1_000)
          }
        }),
      ),
    ),
  )

  it.live("retries 429, 5xx and resets twice with back-off, then goes to the next target", () =>
    every(MODES, (mode) =>
      every(
        [
          fault.rateLimited(),
          fault.serverError(),
          fault.overloaded(),
          fault.status(502, { body: "<html>Bad Gateway</html>", headers: { "content-type": "text/html" } }),
          fault.status(504, { body: "" }),
          fault.reset,
        ],
        (trouble) =>
          Effect.gen(function* () {
            const all = yield* setUp()
            all.target.always(trouble)
            const { served } = yield* request(all, mode)
            assert.strictEqual(served?.provider, BACKUP)
            assert.strictEqual(served?.model, "backup-model")
            assert.strictEqual(all.target.requests.length, 3)
            const [first = 0, second = 0] = pauses(all.target.requests)
            // A timer may be early by the millisecond that clocks differ in.
            assert.isAtLeast(first, BACKOFF * JITTER_FLOOR - 1)
            assert.isAtLeast(second, 2 * BACKOFF * JITTER_FLOOR - 1)
            assert.strictEqual(all.backup.requests.length, 1)
            assert.isAbove(all.backup.requests[0]?.at ?? 0, all.target.requests[2]?.at ?? Infinity)
          }),
      ),
    ),
  )

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
      const { ms, value } = yield* taken(all.upstream.complete(ask()))
      assert.deepStrictEqual(
        value.attempts.map(({ outcome }) => outcome),
        ["connect-timeout", "success"],
      )
      assert.strictEqual(silent.connections(), 1)
      // The client's timers are coarse: they may be late by a second.
      assert.isBelow(ms, 500 + 1_000 + SLACK_MS)
    }),
  )

  it.live("leaves a late or silent answer in time after one request, and goes to the next target", () => {
    const silences: ReadonlyArray<{
      readonly reply: Reply
      readonly limit: number
      readonly restarts?: number
      readonly settings?: typeof SHORT | { readonly timeouts: { readonly idle: Duration.Duration } }
    }> = [
      { reply: fault.silence, limit: SHORT_MS },
      { reply: { text: "late", delivery: { headersAfter: 30_000 } }, limit: SHORT_MS },
      { reply: { text: "late", delivery: { firstChunkAfter: 30_000, pings: 200 } }, limit: SHORT_MS },
      { reply: { text: "a b c d", delivery: { breaks: { after: 0, how: "silence" } } }, limit: SHORT_MS },
      {
        reply: { text: "a b c d", delivery: { breaks: { after: 2, how: "silence" } } },
        limit: 2 * SHORT_MS,
        restarts: 1,
        // A first token that a busy machine delays would be another fault.
        settings: { timeouts: { idle: Duration.millis(SHORT_MS) } },
      },
    ]
    return every(silences, ({ limit, reply, restarts = 0, settings = SHORT }) =>
      Effect.gen(function* () {
        const all = yield* setUp(settings)
        all.target.always(reply)
        const { ms, value } = yield* taken(hear(all.upstream, ask()))
        assert.strictEqual(value.finished?.served.provider, BACKUP)
        assert.strictEqual(value.text, "ok")
        assert.strictEqual(value.restarts.length, restarts)
        assert.strictEqual(all.target.requests.length, 1)
        assert.strictEqual(all.target.requests[0]?.ending, "hung-up")
        assert.isBelow(ms, limit + SLACK_MS)
      }),
    )
  })

  it.live("counts comments and pings as silence", () =>
    Effect.gen(function* () {
      const all = yield* setUp(SHORT)
      all.target.always({ text: ["a ", "b"], delivery: { gap: 2.5 * SHORT_MS, gapPings: 9 } })
      const { finished, restarts, text } = yield* hear(all.upstream, ask())
      assert.strictEqual(text, "a b")
      assert.strictEqual(restarts.length, 0)
      assert.strictEqual(finished?.served.provider, wire.provider)
    }),
  )

  it.live("leaves a whole answer that is late or incomplete in the same way", () =>
    every(
      [
        fault.silence,
        { text: "late", delivery: { headersAfter: 30_000 } },
        { text: "half", delivery: { breaks: { after: 0, how: "silence" } } },
      ] satisfies Array<Reply>,
      (reply) =>
        Effect.gen(function* () {
          const all = yield* setUp(SHORT)
          all.target.always(reply)
          const { ms, value } = yield* taken(all.upstream.complete(ask()))
          assert.strictEqual(value.served.provider, BACKUP)
          assert.strictEqual(all.target.requests.length, 1)
          assert.strictEqual(yield* Effect.promise(() => all.target.requests[0]?.ended ?? assert.fail()), "hung-up")
          assert.isBelow(ms, SHORT_MS + SLACK_MS)
        }),
    ),
  )

  const PASSING = ["cut", "reset", "end", "error"] satisfies Array<Break["how"]>
  const BREAKS = [...PASSING, "garbage"] satisfies Array<Break["how"]>

  it.live("restarts silently if a stream breaks before its first output", () =>
    every(PASSING, (how) =>
      Effect.gen(function* () {
        const all = yield* setUp()
        all.target.script({ text: "a b c", delivery: { breaks: { after: 0, how } } }, { text: "whole" })
        const { finished, restarts, text } = yield* hear(all.upstream, ask({ restart: false }))
        assert.strictEqual(text, "whole")
        assert.strictEqual(restarts.length, 0)
        assert.strictEqual(finished?.served.provider, wire.provider)
        assert.strictEqual(all.target.requests.length, 2)
      }),
    ),
  )

  it.live("restarts if a stream breaks after output and the caller can take a restart", () =>
    every(PASSING, (how) =>
      Effect.gen(function* () {
        const all = yield* setUp()
        all.target.script({ text: "a b c d", delivery: { breaks: { after: 2, how } } }, { text: "whole" })
        const { finished, restarts, text } = yield* hear(all.upstream, ask())
        assert.strictEqual(text, "whole")
        assert.deepStrictEqual(
          restarts.map(({ model, provider }) => [provider, model]),
          [[wire.provider, "target-model"]],
        )
        assert.strictEqual(finished?.attempts.length, 2)
        assert.strictEqual(all.target.requests.length, 2)
      }),
    ),
  )

  it.live("goes to the next target after garbage, without paying for it again", () =>
    every(
      [
        fault.status(200, { headers: { "content-type": "text/html" }, body: "<html>Sign in</html>" }),
        fault.status(200, { body: "not JSON" }),
        { text: "a b c d", delivery: { breaks: { after: 2, how: "garbage" } } },
      ] satisfies Array<Reply>,
      (reply) =>
        Effect.gen(function* () {
          const all = yield* setUp()
          all.target.always(reply)
          const { finished, text } = yield* hear(all.upstream, ask())
          assert.strictEqual(text, "ok")
          assert.strictEqual(finished?.served.provider, BACKUP)
          assert.strictEqual(all.target.requests.length, 1)
        }),
    ),
  )

  it.live("fails with a typed error if a stream breaks after output and the caller cannot take a restart", () =>
    every(BREAKS, (how) =>
      Effect.gen(function* () {
        const all = yield* setUp()
        all.target.always({ text: "a b c d", delivery: { breaks: { after: 2, how } } })
        const events: Array<StreamEvent> = []
        const error = yield* Effect.flip(readInto(all.upstream, ask({ restart: false }), events))
        assert.strictEqual(error.code, "upstream-interrupted")
        assert.strictEqual(error.provider, wire.provider)
        assert.strictEqual(heard(events).text, "a b ")
        assert.isUndefined(heard(events).finished)
        assert.strictEqual(all.target.requests.length, 1)
        assert.strictEqual(all.backup.requests.length, 0)
      }),
    ),
  )

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

  it.live("ends a finished stream without its closing sentinel at once and successfully", () =>
    every(["missing", "never"] as const, (sentinel) =>
      Effect.gen(function* () {
        const all = yield* setUp({ timeouts: { idle: Duration.seconds(15) } })
        const usage = { input: 3, output: 4 }
        all.target.script({ text: "a b c d", usage, delivery: { sentinel } })
        const { ms, value } = yield* taken(hear(all.upstream, ask()))
        assert.strictEqual(value.text, "a b c d")
        assert.strictEqual(value.finished?.served.provider, wire.provider)
        assert.strictEqual(value.finished?.served.usage?.completion_tokens, 4)
        assert.isBelow(ms, SLACK_MS)
      }),
    ),
  )

  it.live(
    "content filter, refusal, invalid request: not repeated, not routed around, the reason reaches the caller",
    () =>
      every(MODES, (mode) =>
        every(
          [
            { reply: fault.contentFiltered(), code: "content-filtered" },
            { reply: fault.invalidRequest({ message: "temperature: too hot" }), code: "invalid-request" },
          ] as const,
          ({ code, reply }) =>
            Effect.gen(function* () {
              const all = yield* setUp()
              all.target.always(reply)
              const error = yield* Effect.flip(request(all, mode))
              assert.strictEqual(error.code, code)
              assert.isAbove((error.detail && Redacted.value(error.detail))?.length ?? 0, 0)
              if (code === "invalid-request") {
                assert.include(error.detail && Redacted.value(error.detail), "temperature: too hot")
              }
              assert.strictEqual(all.target.requests.length, 1)
              assert.strictEqual(all.backup.requests.length, 0)
            }),
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

  it.live("cuts off endless chunks after the total, and closes the connection", () =>
    Effect.gen(function* () {
      const all = yield* setUp({ alone: true, timeouts: { total: Duration.seconds(3) } })
      all.target.always({ text: Array.from({ length: 10_000 }, () => "x "), delivery: { gap: 10 } })
      const { ms, value } = yield* taken(Effect.flip(hear(all.upstream, ask())))
      assert.strictEqual(value.code, "upstream-timeout")
      assert.isBelow(ms, 3_000 + SLACK_MS)
      const [first] = all.target.requests
      assert.strictEqual(yield* Effect.promise(() => first?.ended ?? assert.fail()), "hung-up")
      assert.strictEqual(all.target.requests.length, 1)
    }),
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

  it.live("sends the whole request once to a named provider", () =>
    Effect.gen(function* () {
      const all = yield* setUp()
      const answer: Answer = { text: "from the backup" }
      all.backup.script(answer)
      const { served, text } = yield* request(all, "stream", ask({ provider: BACKUP, model: "special" }))
      assert.strictEqual(text, "from the backup")
      assert.strictEqual(served?.model, "special")
      assert.strictEqual(all.target.requests.length, 0)
    }),
  )
})

/** Takes connections and never says anything. */
const silentListener = Effect.acquireRelease(
  Effect.promise(
    () =>
      new Promise<{ readonly port: number; readonly connections: () => number; readonly close: () => void }>(
        (resolve) => {
          const sockets: Array<Socket> = []
          const server = createServer((socket) => sockets.push(socket.on("error", () => {}).resume()))
          server.listen(0, "127.0.0.1", () =>
            resolve({
              // `address()` is a string only for pipes.
              port: (server.address() as AddressInfo).port,
              connections: () => sockets.length,
              close: () => {
                for (const socket of sockets) socket.destroy()
                server.close()
              },
            }),
          )
        },
      ),
  ),
  ({ close }) => Effect.sync(close),
)
