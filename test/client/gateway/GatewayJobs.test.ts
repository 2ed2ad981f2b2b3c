/** How the gateway's client waits for a job, on a clock that the tests move. */
import { setImmediate } from "node:timers/promises"
import { assert, describe, it } from "@effect/vitest"
import { Clock, Duration, Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { SealgateError } from "../../../src/client/errors.ts"
import { GatewayProblem } from "../../../src/client/gateway/GatewayProblem.ts"
import { connect } from "../../../src/client/gateway/gatewayCalls.ts"
import { GatewayClient } from "../../../src/client/gateway/GatewayClient.ts"
import { untilEnded } from "../../../src/client/gateway/GatewayJobs.ts"
import { settableClock } from "../../support/settableClock.ts"
import { makeProblem, PROBLEM_CONTENT_TYPE } from "../../../src/domain/problems/problem.ts"

const ID = "01890a5d-ac96-774b-bcce-b302099a8057"
const TIME = "2030-01-01T00:00:00.000Z"

const jobThatIs = (status: "completed" | "running") =>
  Response.json({
    id: ID,
    agent_id: ID,
    agent_version: 1,
    mode: "verified",
    status,
    priority: "normal",
    attempt: 1,
    task: "x",
    options: {},
    usage: { input_tokens: 0, output_tokens: 0, cached_tokens: 0, calls: 0 },
    cost_micro_usd: 0,
    steps: [],
    created_at: TIME,
    expires_at: TIME,
    trace_id: "",
    metadata: {},
  })

const refusal = (status: number, code: string, retryAfter?: number) =>
  new Response(JSON.stringify(makeProblem({ code, status, title: "No." })), {
    status,
    headers: {
      "content-type": PROBLEM_CONTENT_TYPE,
      ...(retryAfter === undefined ? {} : { "retry-after": String(retryAfter) }),
    },
  })

const GATEWAY_TIMEOUT = () => new Response("<h1>504 Gateway Time-out</h1>", { status: 504 })
const hangUp = () => Effect.runSync(Effect.die(new TypeError("terminated")))

interface Asked {
  /** In seconds since the test began. */
  readonly at: number
  readonly wait: number
}

const turns = Effect.promise(async () => {
  for (let turn = 0; turn < 10; turn++) await setImmediate()
})

/** A wait for a job at a gateway that answers every request so, on the clock of the test. */
const waitAt = Effect.fnUntraced(function* (answer: (asked: Asked) => Effect.Effect<Response>) {
  const asked: Array<Asked> = []
  const context = yield* Effect.context<never>()
  const run = Effect.runPromiseWith(context)
  const respond = Effect.fnUntraced(function* (url: URL) {
    const at = (yield* Clock.currentTimeMillis) / 1000
    const request = { at, wait: Number(url.searchParams.get("wait") ?? 0) }
    asked.push(request)
    return yield* answer(request)
  })
  const fetch: typeof globalThis.fetch = (input, init) =>
    run(respond(new URL(String(input))), init?.signal == null ? {} : { signal: init.signal })
  const connection = connect({ baseUrl: "http://gateway.example", token: "x", fetch })
  const waiting = yield* Effect.forkChild(untilEnded(connection, ID))
  /** Lets time pass, in small steps: answers are promises, which need turns of the event loop but no time. */
  const pass = (seconds: number) =>
    Effect.forEach(Array.from({ length: seconds }), () => Effect.andThen(TestClock.adjust("1 second"), turns), {
      discard: true,
    })
  return { asked, pass, waiting }
})

/** Answers a poll of an unfinished job after the requested wait. */
const running = ({ wait }: Asked) => Effect.as(Effect.sleep(Duration.seconds(wait)), jobThatIs("running"))

describe("waiting for a job", () => {
  it.effect("polls one after the other, each for less than the time-out of reverse proxies", () =>
    Effect.gen(function* () {
      const { asked, pass, waiting } = yield* waitAt((request) =>
        request.at >= 75 ? Effect.succeed(jobThatIs("completed")) : running(request),
      )
      yield* pass(80)
      assert.strictEqual((yield* Fiber.join(waiting)).status, "completed")
      assert.deepStrictEqual(asked, [
        { at: 0, wait: 25 },
        { at: 25, wait: 25 },
        { at: 50, wait: 25 },
        { at: 75, wait: 25 },
      ])
    }),
  )

  for (const [how, cut] of [
    ["with 504", GATEWAY_TIMEOUT],
    ["by hanging up", hangUp],
  ] as const) {
    it.effect(`asks again as long as it takes when polls are cut ${how}`, () =>
      Effect.gen(function* () {
        const { asked, pass, waiting } = yield* waitAt(({ at, wait }) => {
          if (wait > 0) return Effect.flatMap(Effect.sleep("10 seconds"), () => Effect.sync(cut))
          return Effect.succeed(jobThatIs(at > 600 ? "completed" : "running"))
        })
        yield* pass(630)
        assert.strictEqual((yield* Fiber.join(waiting)).status, "completed")
        // Each poll that is cut is followed at once by one that is not.
        const [first, second, third] = asked
        assert.deepStrictEqual([first?.wait, second?.wait, third?.wait], [25, 0, 25])
        assert.strictEqual(third?.at, 10)
      }),
    )
  }

  it.effect("polls without waiting, at growing intervals, while the gateway refuses waiting requests", () =>
    Effect.gen(function* () {
      const { asked, pass, waiting } = yield* waitAt(({ at, wait }) =>
        Effect.succeed(wait > 0 ? refusal(429, "rate-limited", 1) : jobThatIs(at > 600 ? "completed" : "running")),
      )
      yield* pass(640)
      assert.strictEqual((yield* Fiber.join(waiting)).status, "completed")
      const plain = asked.filter(({ wait }) => wait === 0).map(({ at }) => at)
      const pauses = plain.map((at, i) => at - (plain[i - 1] ?? 0))
      for (const [i, pause] of pauses.entries()) {
        const interval = Math.min(2 ** i, 16)
        assert.isAtLeast(pause, interval)
        // A step of the clock more than half as much again.
        assert.isAtMost(pause, interval * 1.5 + 1)
      }
      assert.isAtMost(asked.length, 90)
    }),
  )

  it.effect("retries after Retry-After, not before", () =>
    Effect.gen(function* () {
      const { asked, pass, waiting } = yield* waitAt(({ at }) =>
        Effect.succeed(at < 300 ? refusal(429, "rate-limited", 40) : jobThatIs("completed")),
      )
      yield* pass(330)
      assert.strictEqual((yield* Fiber.join(waiting)).status, "completed")
      assert.deepStrictEqual(
        asked.map(({ at }) => at),
        [0, 40, 80, 120, 160, 200, 240, 280, 320],
      )
    }),
  )

  it.effect("shortens its pauses again once a gateway has answered after its wait", () =>
    Effect.gen(function* () {
      // Two times of trouble, each of a minute, with polls that are answered in between.
      const isTrouble = (at: number) => at < 60 || (at >= 200 && at < 260)
      const { asked, pass, waiting } = yield* waitAt((request) => {
        if (isTrouble(request.at)) return Effect.succeed(refusal(503, "draining"))
        return request.at >= 300 ? Effect.succeed(jobThatIs("completed")) : running(request)
      })
      yield* pass(360)
      assert.strictEqual((yield* Fiber.join(waiting)).status, "completed")
      const pauses = (from: number) => {
        const times = asked.map(({ at }) => at).filter((at) => at >= from)
        return times.slice(1, 4).map((at, i) => at - (times[i] ?? 0))
      }
      for (const [i, pause] of pauses(200).entries()) assert.isAtMost(pause, 2 ** i * 1.5 + 1, String(pauses(200)))
    }),
  )

  it.effect("pauses between polls of a gateway that shuts down and answers at once", () =>
    Effect.gen(function* () {
      const { asked, pass, waiting } = yield* waitAt(({ at }) =>
        Effect.succeed(jobThatIs(at < 30 ? "running" : "completed")),
      )
      yield* pass(60)
      assert.strictEqual((yield* Fiber.join(waiting)).status, "completed")
      assert.isAtMost(asked.length, 7)
    }),
  )

  for (const [what, answer, code] of [
    ["hangs up", () => Effect.sync(hangUp), "unreachable"],
    ["never answers", () => Effect.never, "unreachable"],
    ["has no database", () => Effect.succeed(refusal(503, "storage-unavailable", 1)), "problem"],
  ] as const) {
    it.effect(`gives up a gateway that ${what}, after two minutes and not before`, () =>
      Effect.gen(function* () {
        const { pass, waiting } = yield* waitAt((request) =>
          request.at === 0 ? running(request) : Effect.suspend(answer),
        )
        yield* pass(25 + 119)
        assert.isUndefined(waiting.pollUnsafe())
        yield* pass(60)
        const error = yield* Effect.flip(Fiber.join(waiting))
        assert.strictEqual(error instanceof SealgateError ? error.code : error, code)
      }),
    )
  }

  for (const [how, byMs] of [
    ["set back", -3_600_000],
    ["set forward", 3_600_000],
  ] as const) {
    it.effect(`goes on while the time of day is ${how} by an hour`, () =>
      Effect.gen(function* () {
        const { clock, set } = yield* settableClock
        const answers = [() => jobThatIs("running"), () => refusal(503, "draining"), () => jobThatIs("completed")]
        yield* Effect.gen(function* () {
          const { asked, pass, waiting } = yield* waitAt(() =>
            Effect.sync(() => {
              set.forward += byMs
              return answers.shift()?.() ?? assert.fail("asked after the end")
            }),
          )
          yield* pass(10)
          assert.strictEqual(asked.length, 3)
          assert.strictEqual((yield* Fiber.join(waiting)).status, "completed")
        }).pipe(Effect.provideService(Clock.Clock, clock))
      }),
    )
  }

  it.effect("rejects at once for a permanent failure", () =>
    Effect.gen(function* () {
      const { asked, pass, waiting } = yield* waitAt(() => Effect.succeed(refusal(404, "job-not-found")))
      yield* pass(1)
      const error = yield* Effect.flip(Fiber.join(waiting))
      assert.deepInclude(error instanceof GatewayProblem ? error.problem : {}, { code: "job-not-found" })
      assert.strictEqual(asked.length, 1)
    }),
  )
})

describe("GatewayProblem", () => {
  it.effect("has the gateway's Retry-After", () =>
    Effect.gen(function* () {
      const pauseAfter = (response: Response) => {
        const fetch = async () => response
        const client = new GatewayClient({ baseUrl: "http://gateway.example", token: "x", fetch })
        return Effect.promise(async () => {
          const error: unknown = await client.agents.create({ name: "a" }).catch((error: unknown) => error)
          return error instanceof GatewayProblem ? error.retryAfterMs : error
        })
      }
      assert.strictEqual(yield* pauseAfter(refusal(429, "rate-limited", 7)), 7000)
      assert.isUndefined(yield* pauseAfter(refusal(400, "invalid-request")))
    }),
  )
})
