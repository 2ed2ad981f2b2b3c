import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Logger, Metric, Redacted, References, Stream } from "effect"
import { TestClock } from "effect/testing"
import type { Attempt } from "../../../src/domain/upstream/upstream.ts"
import { REPEAT } from "../../../src/services/upstream/Faults.ts"
import { measureAll } from "../../../src/services/lifecycle/MeasuredGauges.ts"
import {
  ask,
  fails,
  finish,
  hang,
  passingTime,
  role,
  rounded,
  says,
  scripted,
  spends,
  text,
  tokens,
  oneProvider,
  upstreamOf,
  upstreamSaying,
  usage,
  wait,
} from "./ScriptedProvider.ts"
import { streamOf } from "../../support/streamed.ts"
import { keepingTracer } from "../../support/spans.ts"
import { attempt } from "../routing/ScriptedUpstream.ts"

describe("each attempt", () => {
  it.effect("records its provider, cause, times and outcome", () =>
    Effect.gen(function* () {
      const [first, second] = [scripted("provider1"), scripted("provider2")]
      first.script(
        [wait(100), fails("unavailable", { usage: tokens(7, 0) })],
        [wait(200), role, wait(50), text("par"), usage(7, 3), wait(20), fails("truncated")],
        [fails("timeout")],
      )
      second.script([wait(30), text("whole"), finish(), usage(8, 1)])
      const upstream = yield* upstreamOf([first, second], { retry: { times: 2 } })
      const told: Array<Attempt> = []
      const onAttempt = (attempt: Attempt) => void told.push(attempt)
      const last = (yield* passingTime(Stream.runCollect(streamOf(upstream, ask({ onAttempt }))))).at(-1)
      const attempts = last?._tag === "Finished" ? last.attempts : []
      assert.deepStrictEqual(told, [...attempts])
      const one = { provider: "provider1", model: "provider1-model" } as const
      const two = { provider: "provider2", model: "provider2-model" } as const
      assert.deepStrictEqual(
        // From 0 on. Jittered pauses leave fractions of milliseconds on the virtual clock.
        attempts.map(({ finishedAt, startedAt, timeToFirstTokenMs, ...attempt }) => ({
          ...attempt,
          timeToFirstTokenMs: timeToFirstTokenMs && rounded(timeToFirstTokenMs),
          startedAt: 0,
          finishedAt: rounded(finishedAt - startedAt),
        })),
        [
          attempt(one, { outcome: "unavailable", usage: tokens(7, 0), finishedAt: 100 }),
          attempt(one, {
            cause: "retry",
            servedModel: one.model,
            outcome: "truncated",
            timeToFirstTokenMs: 250,
            usage: tokens(7, 3),
            finishedAt: 270,
          }),
          attempt(one, { cause: "retry", outcome: "timeout" }),
          attempt(two, {
            cause: "failover",
            servedModel: two.model,
            timeToFirstTokenMs: 30,
            usage: tokens(8, 1),
            finishedAt: 30,
          }),
        ],
      )
      assert.deepStrictEqual(
        attempts.map(({ startedAt }) => startedAt),
        [...first.calls, ...second.calls].map(({ at }) => at),
      )
    }),
  )

  it.effect("that broke off costs the tokens that the provider had reported by then", () =>
    Effect.gen(function* () {
      const [first, second] = [scripted("provider1"), scripted("provider2")]
      first.script([spends(5, 1), role, spends(5, 2), hang])
      second.script([text("a"), spends(6, 3), hang])
      const upstream = yield* upstreamOf([first, second])
      const told: Array<Attempt> = []
      const request = ask({ onAttempt: (attempt) => void told.push(attempt) })
      yield* passingTime(Stream.runDrain(Stream.take(streamOf(upstream, request), 1)))
      assert.deepStrictEqual(
        told.map(({ outcome, usage }) => [outcome, usage]),
        [
          ["slow", tokens(5, 2)],
          ["interrupted", tokens(6, 3)],
        ],
      )
    }),
  )

  it.effect("that finished without a final count has no usage, because an earlier count is partial", () =>
    Effect.gen(function* () {
      const { provider, upstream } = yield* oneProvider()
      provider.script([spends(5, 1), text("a"), finish()], [spends(5, 1), text("a"), finish(), usage(5, 9)])
      for (const expected of [null, tokens(5, 9)]) {
        const last = (yield* Stream.runCollect(streamOf(upstream, ask()))).at(-1)
        assert.deepStrictEqual(last?._tag === "Finished" && last.served.usage, expected)
        assert.deepStrictEqual(last?._tag === "Finished" && last.attempts[0]?.usage, expected)
      }
    }),
  )

  it.effect("is reported to `onAttempt` as it ends, also when the caller goes away", () =>
    Effect.gen(function* () {
      const [first, second] = [scripted("provider1"), scripted("provider2")]
      first.script([fails("timeout")])
      second.script([hang])
      const upstream = yield* upstreamOf([first, second])
      const told: Array<string> = []
      const onAttempt = ({ outcome, provider }: Attempt) => void told.push(`${provider} ${outcome}`)
      const caller = yield* Effect.forkChild(upstream.complete(ask({ onAttempt })), { startImmediately: true })
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(told, ["provider1 timeout"])
      yield* Fiber.interrupt(caller)
      assert.deepStrictEqual(told, ["provider1 timeout", "provider2 interrupted"])
    }),
  )
})

/** Runs with a registry and a tracer of its own, and returns what they held in the end. */
const observed = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.gen(function* () {
    const { spans, tracer } = keepingTracer()
    const registry: Metric.MetricRegistry = new Map()
    yield* effect.pipe(Effect.provideService(Metric.MetricRegistry, registry), Effect.withTracer(tracer))
    const metrics = yield* Effect.provideService(Metric.snapshot, Metric.MetricRegistry, registry)
    const series = new Map(
      metrics.map((metric) => {
        const labels = Object.entries(metric.attributes ?? {}).map(([name, value]) => `${name}=${value}`)
        const value =
          metric.type === "Counter" || metric.type === "Histogram"
            ? metric.state.count
            : metric.type === "Gauge"
              ? metric.state.value
              : undefined
        return [`${metric.id}{${labels.sort().join()}}`, value] as const
      }),
    )
    const sums = new Map(
      metrics.flatMap((metric) => (metric.type === "Histogram" ? [[metric.id, metric.state.sum] as const] : [])),
    )
    return { spans, series, sums }
  })

describe("metrics", () => {
  it.effect("count calls, errors, retries, failovers, tokens and times", () =>
    Effect.gen(function* () {
      const [first, second] = [scripted("provider1"), scripted("provider2")]
      first.always([fails("unavailable")])
      second.always([wait(300), text("a"), finish(), usage(8, 2)])
      const { series } = yield* observed(
        Effect.gen(function* () {
          const upstream = yield* upstreamOf([first, second])
          yield* passingTime(Stream.runDrain(streamOf(upstream, ask())))
        }),
      )
      assert.deepStrictEqual(Object.fromEntries(series), {
        "sealgate_upstream_call_duration_seconds{model=provider1-model,provider=provider1}": 3,
        "sealgate_upstream_call_duration_seconds{model=provider2-model,provider=provider2}": 1,
        "sealgate_upstream_calls_in_flight{provider=provider1}": 0,
        "sealgate_upstream_calls_in_flight{provider=provider2}": 0,
        "sealgate_upstream_calls_total{model=provider1-model,outcome=unavailable,provider=provider1}": 3,
        "sealgate_upstream_calls_total{model=provider2-model,outcome=success,provider=provider2}": 1,
        "sealgate_upstream_circuit_state{provider=provider1}": 0,
        "sealgate_upstream_circuit_state{provider=provider2}": 0,
        "sealgate_upstream_errors_total{kind=unavailable,provider=provider1}": 3,
        "sealgate_upstream_failovers_total{provider=provider2}": 1,
        "sealgate_upstream_retries_total{provider=provider1}": 2,
        "sealgate_upstream_time_to_first_token_seconds{model=provider2-model,provider=provider2}": 1,
        "sealgate_upstream_tokens_total{model=provider2-model,provider=provider2,type=cached}": 0,
        "sealgate_upstream_tokens_total{model=provider2-model,provider=provider2,type=input}": 8,
        "sealgate_upstream_tokens_total{model=provider2-model,provider=provider2,type=output}": 2,
      })
    }),
  )

  it.effect("show circuits, skipped targets and unserved requests", () =>
    Effect.gen(function* () {
      const provider = scripted("provider1")
      provider.script([hang])
      provider.always([fails("timeout")])
      const { series } = yield* observed(
        Effect.gen(function* () {
          const upstream = yield* upstreamOf([provider], {
            circuit: { failures: 2 },
            bulkhead: { calls: 1, waiting: 0 },
          })
          const caller = yield* Effect.forkChild(upstream.complete(ask()), { startImmediately: true })
          yield* Effect.flip(upstream.complete(ask()))
          yield* Fiber.interrupt(caller)
          yield* Effect.repeat(Effect.flip(upstream.complete(ask())), { times: 4 })
          yield* TestClock.adjust("1 millis")
        }),
      )
      assert.strictEqual(series.get("sealgate_upstream_skips_total{provider=provider1,reason=bulkhead}"), 1)
      assert.strictEqual(series.get("sealgate_upstream_circuit_state{provider=provider1}"), 2)
      assert.strictEqual(series.get("sealgate_upstream_skips_total{provider=provider1,reason=circuit}"), 3)
      assert.strictEqual(series.get("sealgate_upstream_requests_failed_total{code=upstream-timeout}"), 2)
      assert.strictEqual(series.get("sealgate_upstream_requests_failed_total{code=upstream-unavailable}"), 3)
    }),
  )

  it.effect("count conversation turns that left the order of providers, and where they went", () =>
    Effect.gen(function* () {
      const [first, second] = [scripted("provider1"), scripted("provider2")]
      first.script([fails("unauthorized")])
      const { series } = yield* observed(
        Effect.gen(function* () {
          const upstream = yield* upstreamOf([first, second], { retry: { times: 0 } })
          const turn = upstream.complete(ask({ caller: "alice" }))
          yield* Effect.exit(turn)
          second.script(says("ok"), [fails("unauthorized")])
          yield* Effect.repeat(turn, { times: 2 })
        }),
      )
      const turns = [...series].filter(([name]) => name.startsWith("sealgate_upstream_turns_total"))
      assert.deepStrictEqual(Object.fromEntries(turns), {
        "sealgate_upstream_turns_total{affinity=moved,provider=provider2}": 1,
        "sealgate_upstream_turns_total{affinity=followed,provider=provider2}": 1,
        "sealgate_upstream_turns_total{affinity=moved,provider=provider1}": 1,
      })
    }),
  )

  it.effect("measure calls in seconds, and count no abandoned call as an error", () =>
    Effect.gen(function* () {
      const provider = scripted("provider1")
      provider.script([wait(2_000), text("a"), wait(1_000), finish()], [hang])
      const { series, sums } = yield* observed(
        Effect.gen(function* () {
          const upstream = yield* upstreamOf([provider])
          yield* passingTime(Stream.runDrain(streamOf(upstream, ask())), "3 seconds")
          const caller = yield* Effect.forkChild(upstream.complete(ask()), { startImmediately: true })
          yield* Fiber.interrupt(caller)
        }),
      )
      assert.strictEqual(sums.get("sealgate_upstream_time_to_first_token_seconds"), 2)
      assert.strictEqual(sums.get("sealgate_upstream_call_duration_seconds"), 3)
      assert.isFalse([...series.keys()].some((name) => name.startsWith("sealgate_upstream_errors_total")))
    }),
  )

  it.effect("show a circuit whose open time is over as half-open without a call", () =>
    Effect.gen(function* () {
      const provider = scripted("provider1")
      provider.always([fails("unavailable")])
      const { series } = yield* observed(
        Effect.gen(function* () {
          const upstream = yield* upstreamOf([provider], { circuit: { failures: 1 }, retry: { times: 0 } })
          yield* Effect.flip(upstream.complete(ask()))
          yield* TestClock.adjust("1 minute")
          yield* measureAll
        }),
      )
      assert.strictEqual(series.get("sealgate_upstream_circuit_state{provider=provider1}"), 1)
    }),
  )

  it.effect("name configured or published models, never one that a caller invented, even if it served", () =>
    Effect.gen(function* () {
      const provider = scripted("provider1")
      provider.always([fails("invalid-request")])
      const { series, spans } = yield* observed(
        Effect.gen(function* () {
          const upstream = yield* upstreamOf([provider])
          yield* Effect.flip(upstream.complete(ask({ model: "secret-that-fails" })))
          provider.always(says("ok"))
          yield* upstream.complete(ask({ model: "secret-that-serves" }))
          yield* upstream.complete(ask({ model: "secret-that-serves" }))
          yield* upstream.complete(ask({ model: "secret that is no name" }))
          yield* upstream.complete(ask())
          yield* upstream.complete(ask({ model: "gpt-5-mini" }))
          yield* upstream.complete(ask({ targets: [{ provider: "provider1", model: "chosen" }] }))
        }),
      )
      const calls = [...series].filter(([name]) => name.startsWith("sealgate_upstream_calls_total"))
      const call = (model: string, outcome: string) =>
        `sealgate_upstream_calls_total{model=${model},outcome=${outcome},provider=provider1}` as const
      assert.sameDeepMembers(calls, [
        [call("other", "invalid-request"), 1],
        [call("other", "success"), 3],
        [call("provider1-model", "success"), 1],
        [call("gpt-5-mini", "success"), 1],
        [call("chosen", "success"), 1],
      ])
      const told = [...series.keys(), ...spans.map(({ attributes, name }) => name + JSON.stringify([...attributes]))]
      assert.notInclude(told.join(), "secret")
    }),
  )
})

describe("a span", () => {
  it.effect("names the provider's server, and leaves out finish reasons that are prose", () =>
    Effect.gen(function* () {
      const provider = { ...scripted("provider1"), server: { address: "api.example.com", port: 443 } }
      provider.script([text("a"), finish("because somebody wrote so")])
      const { spans } = yield* observed(
        Effect.gen(function* () {
          yield* Stream.runDrain(streamOf(yield* upstreamOf([provider]), ask()))
        }),
      )
      const attributes = spans[0]?.attributes
      assert.deepStrictEqual(
        ["server.address", "server.port", "gen_ai.response.finish_reasons"].map((name) => attributes?.get(name)),
        ["api.example.com", 443, ["other"]],
      )
    }),
  )
})

type LogLine = readonly [level: string, message: unknown, annotations: Readonly<Record<string, unknown>>]

/** Runs `effect` and gives what it logged: level, message and annotations of each line. */
const loggedBy = Effect.fnUntraced(function* (effect: Effect.Effect<unknown>) {
  const lines: Array<LogLine> = []
  const logger = Logger.make((options) => {
    const { annotations, level, message } = Logger.formatStructured.log(options)
    lines.push([level, message, annotations])
  })
  yield* effect.pipe(Effect.provide(Logger.layer([logger])), Effect.provideService(References.MinimumLogLevel, "All"))
  return lines
})

describe("the log", () => {
  it.effect.each([
    ["unauthorized", "WARN", "check PROVIDER1_API_KEY, and the account that it belongs to"],
    ["redirected", "WARN", "check PROVIDER1_BASE_URL"],
    ["unknown-model", "WARN", "check PROVIDER1_MODEL, or the targets of the routing"],
    ["garbage", "INFO", "check PROVIDER1_BASE_URL, and the provider's status page"],
    ["unavailable", "INFO", "check the provider's status page"],
    ["rate-limited", "INFO", "lower the load, or raise the limit of the account"],
    ["unreachable", "INFO", "check PROVIDER1_BASE_URL, DNS, the certificate and the firewall"],
    ["slow", "INFO", "check the provider's status page"],
    ["invalid-request", "DEBUG", undefined],
  ] as const)("names the remedy for a call that ended %s with %s", ([kind, level, fix]) =>
    Effect.gen(function* () {
      const { upstream } = yield* upstreamSaying([fails(kind, { detail: Redacted.make("quoted prompt") })], {
        retry: { times: 0 },
      })
      const [first] = yield* loggedBy(Effect.exit(upstream.complete(ask())))
      const about = {
        provider: "provider1",
        model: "provider1-model",
        outcome: kind,
        cause: "first",
        ...(fix === undefined ? {} : { fix }),
      }
      assert.deepStrictEqual(first, [level, "Provider call failed", about])
    }),
  )

  it.effect(
    "has one line for unserved requests in 10 minutes, with the outcome of each call and the skipped targets",
    () =>
      Effect.gen(function* () {
        const [first, second, third] = [scripted("provider1"), scripted("provider2"), scripted("provider3")]
        first.always([fails("unavailable", { detail: Redacted.make("quoted prompt") })])
        second.always([fails("unreachable")])
        third.script([fails("unknown-model")], says("x"))
        const settings = { retry: { times: 0 }, circuit: { failures: 1 } }
        const upstream = yield* upstreamOf([first, second, third], settings)
        const unserved = Effect.fnUntraced(function* () {
          const lines = yield* loggedBy(Effect.exit(upstream.complete(ask())))
          return lines.filter(([, message]) => message === "no provider served a request")
        })
        const line = (level: string, calls: number, ...why: ReadonlyArray<string>): LogLine => [
          level,
          "no provider served a request",
          { code: "upstream-unavailable", provider: "provider1", calls, why: why.join("; ") },
        ]
        const [one, two] = ["provider1 provider1-model: unavailable", "provider2 provider2-model: unreachable"]
        assert.deepStrictEqual(yield* unserved(), [
          line("WARN", 3, one, two, "provider3 provider3-model: unknown-model"),
        ])
        assert.deepStrictEqual(yield* unserved(), [])
        third.always([fails("unavailable")])
        const passedOver = ["provider1: not called, circuit open", "provider2: not called, circuit open"]
        const failing = ["provider3 provider3-model: unavailable", ...passedOver]
        assert.deepStrictEqual(yield* unserved(), [line("DEBUG", 1, ...failing)])
        const open = [...passedOver, "provider3: not called, circuit open"]
        assert.deepStrictEqual(yield* unserved(), [line("DEBUG", 0, ...open)])
        yield* TestClock.adjust(REPEAT)
        assert.strictEqual((yield* unserved())[0]?.[0], "WARN")
        assert.strictEqual((yield* unserved())[0]?.[0], "DEBUG")
      }),
  )
})

describe("spans", () => {
  it.effect("follow the conventions for generative AI, one per call", () =>
    Effect.gen(function* () {
      const provider = scripted("provider3")
      provider.script([fails("unavailable", { detail: Redacted.make("quoted prompt") })], [...says("x"), usage(8, 2)])
      const { spans } = yield* observed(
        Effect.gen(function* () {
          const upstream = yield* upstreamOf([provider])
          yield* passingTime(Stream.runDrain(streamOf(upstream, ask())))
        }),
      )
      const request = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "anthropic",
        "gen_ai.request.model": "provider3-model",
        "sealgate.provider": "provider3",
      }
      assert.deepStrictEqual(
        spans.map(({ attributes, kind, name }): Record<string, unknown> => ({
          name,
          kind,
          ...Object.fromEntries(attributes),
        })),
        [
          {
            name: "chat provider3-model",
            kind: "client",
            ...request,
            "sealgate.attempt.cause": "first",
            "error.type": "unavailable",
          },
          {
            name: "chat provider3-model",
            kind: "client",
            ...request,
            "sealgate.attempt.cause": "retry",
            "gen_ai.response.model": "provider3-model",
            "gen_ai.response.finish_reasons": ["stop"],
            "gen_ai.usage.input_tokens": 8,
            "gen_ai.usage.output_tokens": 2,
          },
        ],
      )
    }),
  )
})
