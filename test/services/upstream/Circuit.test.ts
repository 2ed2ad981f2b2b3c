import { assert, describe, it } from "@effect/vitest"
import { Clock, Context, Duration, Effect, Fiber, Layer, Logger, Option, Stream } from "effect"
import { CircuitBreaker } from "effect/persistence"
import { TestClock } from "effect/testing"
import { type FailureKind, failureRules } from "../../../src/domain/upstream/failures.ts"
import { MAX_NAMED_MODELS } from "../../../src/services/upstream/TargetRegistry.ts"
import { defaultUpstreamSettings } from "../../../src/services/upstream/UpstreamSettings.ts"
import { Upstream } from "../../../src/services/upstream/Upstream.ts"
import {
  ask,
  fails,
  finish,
  hang,
  passingTime,
  role,
  rounded,
  says,
  type Script,
  scripted,
  settingsWith,
  text,
  thinks,
  oneProvider,
  upstreamOf,
  upstreamSaying,
  wait,
} from "./ScriptedProvider.ts"
import { streamOf } from "../../support/streamed.ts"
import { status } from "../routing/ScriptedUpstream.ts"

const { failures, maxOpen, open, slow } = defaultUpstreamSettings.circuit
const { answer, firstToken } = defaultUpstreamSettings.timeouts
const kinds = Object.keys(failureRules) as Array<FailureKind> // Keys of a closed record.

/** Retries make no difference to circuits, so most of these tests go without. */
const plain = { retry: { times: 0 } }

const fail = (upstream: Effect.Success<ReturnType<typeof upstreamOf>>, times: number) =>
  Effect.repeat(Effect.flip(upstream.complete(ask())), { times: times - 1 })

const circuitOf = (upstream: Effect.Success<ReturnType<typeof upstreamOf>>, index = 0) =>
  Effect.map(upstream.status, (providers) => providers[index]?.circuit)

describe("a circuit", () => {
  it.effect("opens after its number of consecutive failures, and then spares the target", () =>
    Effect.gen(function* () {
      const { provider, upstream } = yield* upstreamSaying([fails("unavailable")], plain)
      yield* fail(upstream, failures - 1)
      assert.strictEqual(yield* circuitOf(upstream), "closed")
      yield* fail(upstream, 1)
      assert.strictEqual(yield* circuitOf(upstream), "open")
      const error = yield* Effect.flip(upstream.complete(ask()))
      assert.strictEqual(provider.calls.length, failures)
      assert.strictEqual(error.code, "upstream-unavailable")
      assert.isUndefined(error.attempts)
      assert.isAtLeast(rounded(error.retryAfterMs ?? 0), Duration.toMillis(open) * 0.8)
      assert.isAtMost(rounded(error.retryAfterMs ?? Infinity), Duration.toMillis(open) * 1.2)
    }),
  )

  const UNWELL: ReadonlySet<FailureKind> = new Set([
    "rate-limited",
    "unavailable",
    "timeout",
    "truncated",
    "unfinished",
    "garbage",
    "redirected",
  ])
  const UNREACHABLE: ReadonlySet<FailureKind> = new Set(["unreachable", "connect-timeout"])

  it.effect.each(kinds)("counts %s against the part at fault", (kind) =>
    Effect.gen(function* () {
      const counts = UNWELL.has(kind) || UNREACHABLE.has(kind)
      const { provider, upstream } = yield* upstreamSaying([fails(kind)], plain)
      yield* fail(upstream, failures + 1)
      assert.strictEqual(yield* circuitOf(upstream), counts ? "open" : "closed")
      assert.strictEqual(provider.calls.length, counts ? failures : failures + 1)
      const sibling = yield* Effect.flip(upstream.complete(ask({ model: "gpt-5" })))
      assert.strictEqual(sibling.attempts === undefined, UNREACHABLE.has(kind))
    }),
  )

  it.effect("opens for the whole provider after failures to connect, and closes for all with one call", () =>
    Effect.gen(function* () {
      const [first, second] = [scripted("provider1"), scripted("provider2")]
      const upstream = yield* upstreamOf([first, second], plain)
      const servedBy = (model: string) => Effect.map(upstream.complete(ask({ model })), ({ served }) => served.provider)
      first.always([fails("unreachable")])
      for (const model of ["gpt-5", "gpt-4o", "invented"]) yield* servedBy(model)
      assert.strictEqual(yield* servedBy("gpt-5-mini"), "provider2")
      assert.strictEqual(first.calls.length, failures)
      assert.strictEqual(yield* circuitOf(upstream), "open")
      first.always(says("back"))
      yield* TestClock.adjust(Duration.times(open, 1.3))
      for (const model of ["gpt-5-nano", "gpt-5", "gpt-4o", "invented"]) {
        assert.strictEqual(yield* servedBy(model), "provider1")
      }
    }),
  )

  it.effect("of a provider is shown as open even if only invented models were asked for", () =>
    Effect.gen(function* () {
      const { upstream } = yield* upstreamSaying([fails("connect-timeout")], plain)
      for (let i = 0; i < failures; i++) yield* Effect.flip(upstream.complete(ask({ model: `invented-${i}` })))
      const [status] = yield* upstream.status
      assert.deepInclude(status, { circuit: "open", targets: [] })
    }),
  )

  it.effect("of a provider stays closed while any response arrives in between", () =>
    Effect.gen(function* () {
      for (const said of ["invalid-request", "unavailable", "unauthorized"] satisfies Array<FailureKind>) {
        const { provider, upstream } = yield* oneProvider(plain)
        for (let round = 0; round < failures; round++) {
          provider.script([fails("unreachable")], [fails(said)])
          yield* Effect.flip(upstream.complete(ask({ model: `one-${round}` })))
          yield* Effect.flip(upstream.complete(ask({ model: `other-${round}` })))
        }
        assert.strictEqual(provider.calls.length, 2 * failures, said)
      }
    }),
  )

  it.effect("of a provider does not count unsent or unanswered calls as responses", () =>
    Effect.gen(function* () {
      for (const unheard of ["unsupported", "slow"] satisfies Array<FailureKind>) {
        const { provider, upstream } = yield* oneProvider(plain)
        for (let round = 0; round < failures; round++) {
          provider.script([fails(unheard)], [fails("unreachable")])
          yield* fail(upstream, 2)
        }
        assert.strictEqual(yield* circuitOf(upstream), "open", unheard)
      }
    }),
  )

  it.effect("tolerates more slow calls than failures, and counts them separately", () =>
    Effect.gen(function* () {
      const { provider, upstream } = yield* oneProvider(plain)
      const slowness = (times: number) => {
        provider.script(...Array.from({ length: times }, () => [hang]))
        const once = passingTime(Effect.flip(Stream.runDrain(streamOf(upstream, ask()))), firstToken)
        return Effect.repeat(once, { times: times - 1 })
      }
      const failure = Effect.suspend(() => {
        provider.script([fails("unavailable")])
        return fail(upstream, 1)
      })
      yield* slowness(slow - 1)
      yield* upstream.complete(ask())
      yield* Effect.repeat(failure, { times: failures - 2 })
      yield* slowness(slow - 1)
      assert.strictEqual(yield* circuitOf(upstream), "closed")
      yield* slowness(1)
      assert.strictEqual(yield* circuitOf(upstream), "open")
      const calls = provider.calls.length
      assert.strictEqual((yield* Effect.flip(upstream.complete(ask()))).code, "upstream-unavailable")
      assert.strictEqual(provider.calls.length, calls)
      yield* upstream.complete(ask({ model: "gpt-5" }))
    }),
  )

  it.effect("counts a late answer, or a late first output of a stream, as slow", () =>
    Effect.gen(function* () {
      const { upstream } = yield* upstreamSaying([hang], { ...plain, circuit: { slow: 2, failures: 1 } })
      yield* passingTime(fail(upstream, 1), answer)
      assert.strictEqual(yield* circuitOf(upstream), "closed")
      yield* passingTime(Effect.flip(Stream.runDrain(streamOf(upstream, ask()))), firstToken)
      assert.strictEqual(yield* circuitOf(upstream), "open")
    }),
  )

  it.effect("counts silence in the middle of an answer as a failure", () =>
    Effect.gen(function* () {
      const { upstream } = yield* upstreamSaying([text("a"), hang], { ...plain, circuit: { failures: 1 } })
      yield* passingTime(Effect.flip(Stream.runDrain(streamOf(upstream, ask()))), "5 minutes")
      assert.strictEqual(yield* circuitOf(upstream), "half-open")
    }),
  )

  it.effect("counts one failure per request, however many retries it had", () =>
    Effect.gen(function* () {
      const { provider, upstream } = yield* upstreamSaying([fails("unavailable")])
      yield* passingTime(fail(upstream, failures - 1), "1 minute")
      assert.strictEqual(provider.calls.length, 3 * (failures - 1))
      assert.strictEqual(yield* circuitOf(upstream), "closed")
    }),
  )

  it.effect("restarts its count after a success, but not after a refused request", () =>
    Effect.gen(function* () {
      const { provider, upstream } = yield* upstreamSaying([fails("unavailable")], plain)
      yield* fail(upstream, failures - 1)
      provider.script(says("ok"))
      yield* upstream.complete(ask())
      yield* fail(upstream, failures - 1)
      provider.script([fails("invalid-request")])
      yield* fail(upstream, 1)
      assert.strictEqual(yield* circuitOf(upstream), "closed")
      yield* fail(upstream, 1)
      assert.strictEqual(yield* circuitOf(upstream), "open")
    }),
  )

  it.effect("lets one probe through at a time, and closes if it succeeds", () =>
    Effect.gen(function* () {
      const [first, second] = [scripted("provider1"), scripted("provider2")]
      first.always([fails("unavailable")])
      const upstream = yield* upstreamOf([first, second], plain)
      for (let i = 0; i < failures; i++) yield* upstream.complete(ask())
      first.always(says("ok"))
      first.script([wait(3_000), ...says("back")])
      yield* TestClock.adjust(Duration.times(open, 1.3))
      const crowd = yield* Effect.forkChild(
        Effect.all(
          Array.from({ length: 20 }, () => upstream.complete(ask())),
          { concurrency: "unbounded" },
        ),
      )
      yield* TestClock.adjust("1 second")
      assert.strictEqual(first.calls.length, failures + 1)
      assert.strictEqual(yield* circuitOf(upstream), "half-open")
      yield* TestClock.adjust("5 seconds")
      const answers = yield* Fiber.join(crowd)
      assert.strictEqual(answers.filter(({ served }) => served.provider === "provider1").length, 1)
      assert.strictEqual(yield* circuitOf(upstream), "closed")
      assert.strictEqual((yield* upstream.complete(ask())).served.provider, "provider1")
    }),
  )

  it.effect("does not retry a probe", () =>
    Effect.gen(function* () {
      const { provider, upstream } = yield* upstreamSaying([fails("unavailable")])
      yield* passingTime(fail(upstream, failures), "20 seconds")
      const before = provider.calls.length
      yield* TestClock.adjust(Duration.times(maxOpen, 1.3))
      yield* passingTime(fail(upstream, 1), "20 seconds")
      assert.strictEqual(provider.calls.length, before + 1)
    }),
  )

  it.effect("retries a successful probe that breaks off later, like any call", () =>
    Effect.gen(function* () {
      const { provider, upstream } = yield* upstreamSaying([fails("unavailable")])
      yield* passingTime(fail(upstream, failures), "20 seconds")
      yield* TestClock.adjust(Duration.times(maxOpen, 1.3))
      provider.script([text("a"), fails("truncated")], says("whole"))
      const events = yield* passingTime(Stream.runCollect(streamOf(upstream, ask())), "20 seconds")
      assert.deepInclude(events.at(-1), { _tag: "Finished" })
    }),
  )

  it.effect("opens for longer, up to its cap, after a failed probe", () =>
    Effect.gen(function* () {
      const { provider, upstream } = yield* upstreamSaying([fails("unavailable")], plain)
      yield* fail(upstream, failures)
      const openings: Array<number> = []
      for (let i = 0; i < 7; i++) {
        const { retryAfterMs = 0 } = yield* Effect.flip(upstream.complete(ask()))
        openings.push(rounded(retryAfterMs))
        yield* TestClock.adjust(retryAfterMs + 1)
        yield* fail(upstream, 1)
      }
      assert.strictEqual(provider.calls.length, failures + 7)
      openings.forEach((opening, index) => {
        const expected = Math.min(Duration.toMillis(open) * 2 ** index, Duration.toMillis(maxOpen))
        assert.isAtLeast(opening, expected * 0.8)
        assert.isAtMost(opening, expected * 1.2)
      })
      // Jittered, so that callers do not all return at once.
      assert.isAbove(new Set(openings.slice(-3)).size, 1)
    }),
  )

  it.effect("logs when it opens and closes, without names that callers invented", () =>
    Effect.gen(function* () {
      const lines: Array<unknown> = []
      const logger = Logger.make((options) => {
        const { annotations, level, message } = Logger.formatStructured.log(options)
        const { openForMs, ...about } = annotations
        if (String(message).startsWith("Circuit")) lines.push([level, message, about, openForMs !== undefined])
      })
      const provider = scripted("provider1")
      const settings = { ...plain, circuit: { failures: 1, slow: 1 } }
      yield* Effect.gen(function* () {
        const upstream = yield* upstreamOf([provider], settings)
        for (const [model, kind] of [
          ["gpt-5", "unavailable"],
          ["gpt-5-mini", "slow"],
          ["made-up", "unavailable"],
          ["made-up-too", "slow"],
          ["gpt-5-nano", "unreachable"],
        ] as const) {
          provider.script([fails(kind)])
          yield* Effect.flip(upstream.complete(ask({ model })))
        }
        yield* TestClock.adjust("1 minute")
        yield* upstream.complete(ask({ model: "gpt-5-nano" }))
        yield* TestClock.adjust("1 millis")
      }).pipe(Effect.provide(Logger.layer([logger])))
      const opened = (about: object) => ["WARN", "Circuit opened", { provider: "provider1", ...about }, true]
      assert.deepStrictEqual(lines, [
        opened({ model: "gpt-5", suspect: "target" }),
        opened({ model: "gpt-5-mini", suspect: "pace" }),
        opened({ model: "other", suspect: "target" }),
        opened({ model: "other", suspect: "pace" }),
        opened({ suspect: "provider" }),
        ["INFO", "Circuit probed", { provider: "provider1", suspect: "provider" }, false],
        ["INFO", "Circuit closed", { provider: "provider1", suspect: "provider" }, false],
      ])
    }),
  )

  it.effect("lets calls run while its store is unreachable", () =>
    Effect.gen(function* () {
      const gone = Effect.fail(
        new CircuitBreaker.CircuitBreakerError({
          reason: new CircuitBreaker.CircuitBreakerStoreError({ message: "gone" }),
        }),
      )
      const store = { admit: () => gone, record: () => gone, state: () => gone }
      const provider = scripted("provider1")
      const services = yield* Layer.build(
        Upstream.layerNoDeps({ providers: [provider], settings: settingsWith(plain) }).pipe(
          Layer.provide(Layer.succeed(CircuitBreaker.CircuitBreakerStore, store)),
        ),
      )
      const upstream = Context.get(services, Upstream)
      provider.script(...Array.from({ length: failures }, () => [fails("unavailable")]))
      yield* fail(upstream, failures)
      assert.strictEqual(yield* circuitOf(upstream), "closed")
      assert.strictEqual((yield* upstream.complete(ask())).served.provider, "provider1")
    }),
  )

  it.effect("stays open for as long as the provider asks, up to its cap", () =>
    Effect.gen(function* () {
      const { upstream } = yield* upstreamSaying([fails("rate-limited", { retryAfterMs: 3_600_000 })], plain)
      yield* fail(upstream, failures)
      const { retryAfterMs } = yield* Effect.flip(upstream.complete(ask()))
      assert.strictEqual(retryAfterMs, Duration.toMillis(maxOpen))
    }),
  )

  it.effect("frees the probe's slot and counts nothing if the caller goes away", () =>
    Effect.gen(function* () {
      const { provider, upstream } = yield* upstreamSaying([fails("unavailable")], plain)
      yield* fail(upstream, failures)
      yield* TestClock.adjust(Duration.times(open, 1.3))
      provider.script([hang])
      const probe = yield* Effect.forkChild(upstream.complete(ask()))
      yield* TestClock.adjust("1 second")
      assert.strictEqual(yield* circuitOf(upstream), "half-open")
      yield* Fiber.interrupt(probe)
      assert.strictEqual(provider.calls.at(-1)?.ended, "interrupted")
      provider.always(says("back"))
      yield* upstream.complete(ask())
      assert.strictEqual(yield* circuitOf(upstream), "closed")
    }),
  )

  /** A provider whose circuit is ripe for a probe, in two processes that share their circuits. */
  const ripe = Effect.fnUntraced(function* (probe: Script) {
    const provider = scripted("provider1")
    provider.always([fails("unavailable")])
    const store = yield* Layer.build(CircuitBreaker.layerStoreMemory())
    const process = Effect.map(
      Layer.build(Upstream.layerNoDeps({ providers: [provider], settings: settingsWith(plain) })),
      (services) => Context.get(services, Upstream),
    ).pipe(Effect.provideContext(store))
    const upstream = yield* process
    yield* fail(upstream, failures)
    yield* TestClock.adjust(Duration.times(open, 1.3))
    provider.always(says("back"))
    provider.script(probe)
    return { provider, upstream, other: yield* process }
  })

  it.effect.each([
    ["an answer", [role, wait(1_000), text("a"), wait(1_000), text("b"), hang]],
    ["its thoughts", [role, wait(1_000), thinks, wait(1_000), thinks, hang]],
  ] as const)("a probe that streams %s lets the others in at once, in every process", ([, probe]) =>
    Effect.gen(function* () {
      const { other, provider, upstream } = yield* ripe(probe)
      const reader = yield* Effect.forkChild(Stream.runDrain(streamOf(upstream, ask())), { startImmediately: true })
      yield* TestClock.adjust("999 millis")
      assert.strictEqual(yield* circuitOf(upstream), "half-open")
      assert.strictEqual((yield* Effect.flip(other.complete(ask()))).code, "upstream-unavailable")
      yield* TestClock.adjust("1 millis")
      assert.isUndefined(provider.calls.at(-1)?.ended)
      for (const process of [upstream, other]) {
        assert.strictEqual(yield* circuitOf(process), "closed")
        assert.strictEqual((yield* process.complete(ask())).served.provider, "provider1")
      }
      yield* Fiber.interrupt(reader)
    }),
  )

  it.effect("lets others in when the reader of a probe stops reading", () =>
    Effect.gen(function* () {
      const { provider, upstream } = yield* ripe([...Array.from({ length: 100 }, () => text("a")), finish()])
      const reader = yield* Effect.forkChild(
        Stream.runForEach(streamOf(upstream, ask()), () => Effect.never),
        { startImmediately: true },
      )
      yield* TestClock.adjust("1 second")
      assert.isUndefined(provider.calls.at(-1)?.ended)
      yield* upstream.complete(ask())
      yield* Fiber.interrupt(reader)
      assert.strictEqual(yield* circuitOf(upstream), "closed")
    }),
  )

  it.effect("stays closed when a probe breaks off after output", () =>
    Effect.gen(function* () {
      const { upstream } = yield* ripe([text("a"), wait(1_000), fails("truncated")])
      yield* passingTime(Effect.flip(Stream.runDrain(streamOf(upstream, ask()))), "1 minute")
      assert.strictEqual(yield* circuitOf(upstream), "closed")
    }),
  )

  it.effect("opens for a target whose every answer breaks off after output", () =>
    Effect.gen(function* () {
      const broken: Script = [text("a"), fails("truncated")]
      const { provider, upstream } = yield* ripe(broken)
      provider.always(broken)
      const ask1 = Effect.flip(Stream.runDrain(streamOf(upstream, ask())))
      yield* Effect.repeat(ask1, { times: failures })
      assert.strictEqual(yield* circuitOf(upstream), "open")
    }),
  )

  it.effect("of one model does not affect the provider's other models", () =>
    Effect.gen(function* () {
      const { provider, upstream } = yield* oneProvider(plain)
      const good = ask({ targets: [{ provider: "provider1", model: "good" }] })
      const bad = ask({ targets: [{ provider: "provider1", model: "bad" }] })
      provider.always([fails("unavailable")])
      yield* Effect.repeat(Effect.flip(upstream.complete(bad)), { times: failures })
      provider.always(says("ok"))
      yield* upstream.complete(good)
      const [status] = yield* upstream.status
      assert.strictEqual(status?.circuit, "closed")
      assert.deepStrictEqual(
        status?.targets.map(({ circuit, model }) => [model, circuit]),
        [
          ["bad", "open"],
          ["good", "closed"],
        ],
      )
    }),
  )

  it.effect("exists for a model that never served, from its first call", () =>
    Effect.gen(function* () {
      const [first, second] = [scripted("provider1"), scripted("provider2")]
      const upstream = yield* upstreamOf([first, second], plain)
      first.always([fails("unavailable")])
      for (const model of ["new", "not a name"]) {
        for (let i = 0; i < failures; i++) yield* upstream.complete(ask({ model }))
        const calls = first.calls.length
        assert.strictEqual((yield* upstream.complete(ask({ model }))).served.provider, "provider2")
        assert.strictEqual(first.calls.length, calls)
      }
      first.always(says("ok"))
      for (const model of ["newer", "no name either", "gpt-5"]) {
        assert.strictEqual((yield* upstream.complete(ask({ model }))).served.provider, "provider1")
      }
    }),
  )

  it.effect("does not affect the provider and is not listed if its model is invented", () =>
    Effect.gen(function* () {
      const { provider, upstream } = yield* upstreamSaying([fails("unavailable")], plain)
      for (let i = 0; i < 200; i++) yield* Effect.flip(upstream.complete(ask({ model: `invented-${i % 20}` })))
      assert.strictEqual(provider.calls.length, 20 * failures)
      const [status] = yield* upstream.status
      assert.deepInclude(status, { circuit: "closed", targets: [] })
      provider.always(says("any name will do"))
      yield* TestClock.adjust("1 minute")
      for (let i = 0; i < 200; i++) yield* upstream.complete(ask({ model: `invented-${i}` }))
      const [after] = yield* upstream.status
      assert.strictEqual(after?.targets.length, MAX_NAMED_MODELS - 1)
    }),
  )
})

describe("status", () => {
  it.effect("shows every provider in order without a call", () =>
    Effect.gen(function* () {
      const [first, second] = [scripted("provider2"), scripted("provider1")]
      const upstream = yield* upstreamOf([first, second])
      assert.deepStrictEqual(yield* upstream.status, [status("provider2"), status("provider1")])
      assert.strictEqual(first.calls.length + second.calls.length, 0)
    }),
  )

  it.effect("knows when a provider last served", () =>
    Effect.gen(function* () {
      const { provider, upstream } = yield* oneProvider()
      yield* TestClock.adjust("5 seconds")
      yield* upstream.complete(ask())
      const servedAt = yield* Clock.currentTimeMillis
      yield* TestClock.adjust("5 seconds")
      provider.script([fails("invalid-request")])
      yield* Effect.flip(upstream.complete(ask()))
      const [status] = yield* upstream.status
      assert.deepStrictEqual(status?.lastSuccess, Option.some(servedAt))
      assert.deepStrictEqual(status?.targets[0]?.lastSuccess, Option.some(servedAt))
      yield* upstream.complete(ask({ model: "gpt-5" }))
      const [after] = yield* upstream.status
      assert.deepStrictEqual(after?.lastSuccess, Option.some(servedAt + 5_000))
      assert.deepStrictEqual(after?.targets[0]?.lastSuccess, Option.some(servedAt))
    }),
  )

  it.effect("leaves out served models whose name has no valid form", () =>
    Effect.gen(function* () {
      const { upstream } = yield* oneProvider()
      for (const model of ["any text", "a-name"]) {
        yield* Effect.repeat(upstream.complete(ask({ model })), { times: 1 })
      }
      const [status] = yield* upstream.status
      assert.deepStrictEqual(
        status?.targets.map(({ model }) => model),
        ["a-name"],
      )
    }),
  )
})

describe("new settings", () => {
  it.effect("apply to the next request and keep the state of circuits", () =>
    Effect.gen(function* () {
      const { provider, upstream } = yield* upstreamSaying([fails("unavailable")], plain)
      yield* fail(upstream, failures - 1)
      yield* upstream.configure({
        ...defaultUpstreamSettings,
        retry: { ...defaultUpstreamSettings.retry, times: 1 },
      })
      yield* passingTime(fail(upstream, 1), "2 seconds")
      assert.strictEqual(provider.calls.length, failures - 1 + 2)
      assert.strictEqual(yield* circuitOf(upstream), "open")
    }),
  )
})
