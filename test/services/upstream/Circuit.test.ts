import { assert, describe, it } from "@effect/vitest"
import { Clock, Context, Duration, Effect, Fiber, Layer, Option, Stream } from "effect"
import { CircuitBreaker } from "effect/persistence"
import { TestClock } from "effect/testing"
import type { FailureKind } from "../../../src/domain/upstream.ts"
import { failureRules } from "../../../src/services/upstream/FailureRules.ts"
import { MAX_NAMED_MODELS, OTHER } from "../../../src/services/upstream/TargetBook.ts"
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
  upstreamOf,
  wait,
} from "./ScriptedProvider.ts"

const { failures, maxOpen, open } = defaultUpstreamSettings.circuit
const kinds = Object.keys(failureRules) as Array<FailureKind> // Keys of a closed record.

/** Retries make no difference to circuits, so most of these tests go without. */
const plain = { retry: { times: 0 } }

const fail = (upstream: Effect.Success<ReturnType<typeof upstreamOf>>, times: number) =>
  Effect.repeat(Effect.flip(upstream.complete(ask())), { times: times - 1 })

const circuitOf = (upstream: Effect.Success<ReturnType<typeof upstreamOf>>, index = 0) =>
  Effect.map(upstream.status, (providers) => providers[index]?.circuit)

describe("a circuit", () => {
  it.effect("opens after its number of failures in a row, and then spares the target", () =>
    Effect.gen(function* () {
      const provider = scripted("provider1")
      provider.always([fails("unavailable")])
      const upstream = yield* upstreamOf([provider], plain)
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

  it.effect.each(kinds)("counts %s if it says that the target is unwell", (kind) =>
    Effect.gen(function* () {
      const unwell = ["rate-limited", "unavailable", "timeout", "truncated", "garbage"].includes(kind)
      const provider = scripted("provider1")
      provider.always([fails(kind)])
      const upstream = yield* upstreamOf([provider], plain)
      yield* fail(upstream, failures + 1)
      assert.strictEqual(yield* circuitOf(upstream), unwell ? "open" : "closed")
      assert.strictEqual(provider.calls.length, unwell ? failures : failures + 1)
    }),
  )

  it.effect("sees one failure of a request, however often that was tried", () =>
    Effect.gen(function* () {
      const provider = scripted("provider1")
      provider.always([fails("unavailable")])
      const upstream = yield* upstreamOf([provider])
      yield* passingTime(fail(upstream, failures - 1), "1 minute")
      assert.strictEqual(provider.calls.length, 3 * (failures - 1))
      assert.strictEqual(yield* circuitOf(upstream), "closed")
    }),
  )

  it.effect("a success in between starts the count anew, a refused request does not", () =>
    Effect.gen(function* () {
      const provider = scripted("provider1")
      provider.always([fails("unavailable")])
      const upstream = yield* upstreamOf([provider], plain)
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

  it.effect("others serve while it is open, and traffic returns within one open period once the target works", () =>
    Effect.gen(function* () {
      const [first, second] = [scripted("provider1"), scripted("provider2")]
      first.always([fails("unavailable")])
      const upstream = yield* upstreamOf([first, second], plain)
      const serve = Effect.map(upstream.complete(ask()), ({ served }) => served.provider)
      // A request every second for two minutes; the target is down for the first of them.
      const servedBy: Array<string> = []
      for (let second = 0; second < 120; second++) {
        if (second === 60) first.always(says("back"))
        servedBy.push(yield* serve)
        yield* TestClock.adjust("1 second")
      }
      const back = servedBy.indexOf("provider1")
      assert.isAtLeast(back, 60)
      assert.isAtMost(back, 60 + Duration.toSeconds(maxOpen) * 1.2 + 1)
      assert.isTrue(servedBy.slice(back).every((provider) => provider === "provider1"))
      // Three to open it, then one probe per opening of 5, 10, 20, … seconds, where 60 requests came by.
      assert.isAtMost(first.calls.filter(({ at }) => at < 60_000).length, failures + 4)
      assert.strictEqual(second.calls.length, servedBy.filter((provider) => provider === "provider2").length)
    }),
  )

  it.effect("lets one probe through at a time, whose success closes it", () =>
    Effect.gen(function* () {
      const [first, second] = [scripted("provider1"), scripted("provider2")]
      first.always([fails("unavailable")])
      const upstream = yield* upstreamOf([first, second], plain)
      for (let i = 0; i < failures; i++) yield* upstream.complete(ask())
      first.always(says("ok"))
      first.script([{ do: "wait", ms: 3_000 }, ...says("back")])
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

  it.effect("a probe that fails opens it again for longer, up to its cap", () =>
    Effect.gen(function* () {
      const provider = scripted("provider1")
      provider.always([fails("unavailable")])
      const upstream = yield* upstreamOf([provider], plain)
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
    }),
  )

  it.effect("stays open as long as the provider asks, up to its cap", () =>
    Effect.gen(function* () {
      const provider = scripted("provider1")
      provider.always([fails("rate-limited", { retryAfterMs: 3_600_000 })])
      const upstream = yield* upstreamOf([provider], plain)
      yield* fail(upstream, failures)
      const { retryAfterMs } = yield* Effect.flip(upstream.complete(ask()))
      assert.strictEqual(retryAfterMs, Duration.toMillis(maxOpen))
    }),
  )

  it.effect("a caller that goes away frees the probe's slot and counts for nothing", () =>
    Effect.gen(function* () {
      const provider = scripted("provider1")
      provider.always([fails("unavailable")])
      const upstream = yield* upstreamOf([provider], plain)
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
      const reader = yield* Effect.forkChild(Stream.runDrain(upstream.stream(ask())), { startImmediately: true })
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

  it.effect("a probe whose reader stops reading lets the others in", () =>
    Effect.gen(function* () {
      const { provider, upstream } = yield* ripe([...Array.from({ length: 100 }, () => text("a")), finish()])
      const reader = yield* Effect.forkChild(
        Stream.runForEach(upstream.stream(ask()), () => Effect.never),
        { startImmediately: true },
      )
      yield* TestClock.adjust("1 second")
      assert.isUndefined(provider.calls.at(-1)?.ended)
      yield* upstream.complete(ask())
      yield* Fiber.interrupt(reader)
      assert.strictEqual(yield* circuitOf(upstream), "closed")
    }),
  )

  it.effect("a probe that breaks off after output is over as a probe, and does not open it again", () =>
    Effect.gen(function* () {
      const { upstream } = yield* ripe([text("a"), wait(1_000), fails("truncated")])
      yield* passingTime(Effect.flip(Stream.runDrain(upstream.stream(ask()))), "1 minute")
      assert.strictEqual(yield* circuitOf(upstream), "closed")
    }),
  )

  it.effect("a target whose every answer breaks off after output is spared all the same", () =>
    Effect.gen(function* () {
      const broken: Script = [text("a"), fails("truncated")]
      const { provider, upstream } = yield* ripe(broken)
      provider.always(broken)
      const ask1 = Effect.flip(Stream.runDrain(upstream.stream(ask())))
      yield* Effect.repeat(ask1, { times: failures })
      assert.strictEqual(yield* circuitOf(upstream), "open")
    }),
  )

  it.effect("one model's circuit leaves the other models of the provider alone", () =>
    Effect.gen(function* () {
      const provider = scripted("provider1")
      const upstream = yield* upstreamOf([provider], plain)
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

  it.effect("models that a caller invents share one circuit, so they take no memory", () =>
    Effect.gen(function* () {
      const provider = scripted("provider1")
      provider.always([fails("invalid-request")])
      const upstream = yield* upstreamOf([provider])
      for (let i = 0; i < 200; i++) yield* Effect.flip(upstream.complete(ask({ model: `invented-${i}` })))
      const [status] = yield* upstream.status
      assert.deepStrictEqual(
        status?.targets.map(({ model }) => model),
        [OTHER],
      )
      provider.always(says("any name will do"))
      for (let i = 0; i < 200; i++) yield* upstream.complete(ask({ model: `invented-${i}` }))
      const [after] = yield* upstream.status
      assert.isAtMost(after?.targets.length ?? Infinity, MAX_NAMED_MODELS + 1)
    }),
  )
})

describe("status", () => {
  it.effect("shows every provider in order without calling any", () =>
    Effect.gen(function* () {
      const [first, second] = [scripted("provider2"), scripted("provider1")]
      const upstream = yield* upstreamOf([first, second])
      assert.deepStrictEqual(yield* upstream.status, [
        {
          provider: "provider2",
          model: "provider2-model",
          circuit: "closed",
          lastSuccess: Option.none(),
          targets: [],
        },
        {
          provider: "provider1",
          model: "provider1-model",
          circuit: "closed",
          lastSuccess: Option.none(),
          targets: [],
        },
      ])
      assert.strictEqual(first.calls.length + second.calls.length, 0)
    }),
  )

  it.effect("shows a circuit whose time is over as the probe's turn, although nobody called yet", () =>
    Effect.gen(function* () {
      const provider = scripted("provider1")
      provider.always([fails("unavailable")])
      const upstream = yield* upstreamOf([provider], plain)
      yield* fail(upstream, failures)
      assert.strictEqual(yield* circuitOf(upstream), "open")
      yield* TestClock.adjust(Duration.times(open, 1.3))
      assert.strictEqual(yield* circuitOf(upstream), "half-open")
      assert.strictEqual(provider.calls.length, failures)
    }),
  )

  it.effect("knows when a provider last served", () =>
    Effect.gen(function* () {
      const provider = scripted("provider1")
      const upstream = yield* upstreamOf([provider])
      yield* TestClock.adjust("5 seconds")
      yield* upstream.complete(ask())
      const servedAt = yield* Clock.currentTimeMillis
      yield* TestClock.adjust("5 seconds")
      provider.script([fails("invalid-request")])
      yield* Effect.flip(upstream.complete(ask()))
      const [status] = yield* upstream.status
      assert.deepStrictEqual(status?.lastSuccess, Option.some(servedAt))
    }),
  )
})

describe("new settings", () => {
  it.effect("hold for the next request and keep what circuits know", () =>
    Effect.gen(function* () {
      const provider = scripted("provider1")
      provider.always([fails("unavailable")])
      const upstream = yield* upstreamOf([provider], plain)
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
