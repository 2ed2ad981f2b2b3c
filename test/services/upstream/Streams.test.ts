import { assert, describe, it } from "@effect/vitest"
import { Clock, Duration, Effect, Exit, Fiber, Stream } from "effect"
import { TestClock } from "effect/testing"
import type { ChatChunk } from "../../../src/domain/chat/chat.ts"
import type { UpstreamRequest } from "../../../src/domain/upstream/upstream.ts"
import type { Upstream } from "../../../src/services/upstream/Upstream.ts"
import {
  ask,
  chunkOf,
  dies,
  fails,
  finish,
  hang,
  passingTime,
  pings,
  role,
  says,
  type Script,
  type Step,
  scripted,
  text,
  thinks,
  timed,
  oneProvider,
  upstreamOf,
  upstreamSaying,
  usage,
  wait,
} from "./ScriptedProvider.ts"
import { settableClock } from "../../support/settableClock.ts"
import { type StreamedEvent, streamOf } from "../../support/streamed.ts"

/** An event as a reader sees it. */
const show = (event: StreamedEvent): string => {
  switch (event._tag) {
    case "Delta": {
      const [choice] = event.chunk.choices
      return choice?.finish_reason ?? choice?.delta.content ?? (event.chunk.usage == null ? "" : "usage")
    }
    case "Restarted":
      return `restarted by ${event.provider} ${event.model}: ${event.reason}`
    case "Finished":
      return `finished by ${event.served.provider}`
  }
}

/** Everything that came, how it ended, and how long it took. */
const read = (upstream: Upstream["Service"], request: UpstreamRequest = ask()) =>
  Effect.gen(function* () {
    const seen: Array<string> = []
    const { exit, ms } = yield* timed(
      Stream.runForEach(streamOf(upstream, request), (event) => Effect.sync(() => seen.push(show(event)))),
    )
    const error = Exit.isFailure(exit) ? yield* Effect.flip(exit) : undefined
    return { seen, code: error?.code, error, ms }
  })

const two = (first: Script, second: Script = says("from", "second")) =>
  Effect.gen(function* () {
    const providers = [scripted("provider1"), scripted("provider2")] as const
    providers[0].always(first)
    providers[1].always(second)
    return { providers, upstream: yield* upstreamOf(providers) }
  })

describe("a stream", () => {
  it.effect("is measured by the monotonic clock: setting the time of day changes no duration", () =>
    Effect.gen(function* () {
      const { clock, set } = yield* settableClock
      const { provider, upstream } = yield* Effect.provideService(oneProvider(), Clock.Clock, clock)
      const setBack: Step = () => Stream.drain(Stream.sync(() => (set.forward = -Duration.toMillis("1 hour"))))
      provider.always([wait(2000), setBack, text("a"), wait(3000), finish()])
      const events = yield* passingTime(Stream.runCollect(streamOf(upstream, ask())))
      const [attempt] = events.flatMap((event) => (event._tag === "Finished" ? event.attempts : []))
      assert.strictEqual(attempt?.timeToFirstTokenMs, 2000)
      assert.strictEqual((attempt?.finishedAt ?? 0) - (attempt?.startedAt ?? 0), 5000)
    }),
  )

  it.effect("ends with who served it and all attempts", () =>
    Effect.gen(function* () {
      const { provider, upstream } = yield* oneProvider()
      provider.script([fails("unavailable")], [role, text("a"), text("b"), finish(), usage(3, 2)])
      const events = yield* passingTime(Stream.runCollect(streamOf(upstream, ask())))
      assert.deepStrictEqual(events.map(show), ["", "a", "b", "stop", "usage", "finished by provider1"])
      const last = events.at(-1)
      assert.deepStrictEqual(last?._tag === "Finished" && last.served, {
        provider: "provider1",
        model: "provider1-model",
        finishReasons: ["stop"],
        usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 },
      })
      assert.deepStrictEqual(last?._tag === "Finished" && last.attempts.map(({ cause, outcome }) => [cause, outcome]), [
        ["first", "unavailable"],
        ["retry", "success"],
      ])
    }),
  )

  it.effect("passes its events to `streamTo` as they are read, and is interrupted with it", () =>
    Effect.gen(function* () {
      const { providers, upstream } = yield* two([role, text("a"), fails("timeout")])
      const seen: Array<string> = []
      const hear = (events: ReadonlyArray<StreamedEvent>) => Effect.sync(() => seen.push(...events.map(show)))
      const finished = yield* passingTime(upstream.streamTo(ask(), hear))
      assert.deepStrictEqual(
        [...seen, show({ _tag: "Finished", ...finished })],
        (yield* passingTime(Effect.flatMap(two([role, text("a"), fails("timeout")]), (other) => read(other.upstream))))
          .seen,
      )
      assert.deepInclude(seen, "restarted by provider2 provider2-model: timeout")
      assert.strictEqual(finished.attempts.at(-1)?.outcome, "success")

      providers[0].always([role, text("b"), hang])
      const attempts: Array<string> = []
      const request = ask({ onAttempt: ({ outcome }) => void attempts.push(outcome) })
      const fiber = yield* Effect.forkChild(upstream.streamTo(request, hear), { startImmediately: true })
      yield* TestClock.adjust(1)
      assert.strictEqual(seen.at(-1), "b")
      yield* Fiber.interrupt(fiber)
      assert.deepStrictEqual(attempts, ["interrupted"])
    }),
  )

  it.effect("that ends without a finish reason is never a success", () =>
    Effect.gen(function* () {
      for (const script of [[role, text("a")], [role], [], [usage(1, 1)]]) {
        const { provider, upstream } = yield* upstreamSaying(script)
        const { code, seen } = yield* read(upstream)
        assert.strictEqual(code, "upstream-truncated")
        assert.notInclude(seen.join(), "finished")
        assert.strictEqual(provider.calls.length, 3)
      }
    }),
  )

  it.effect("of several choices is finished only when each of them is", () =>
    Effect.gen(function* () {
      const choice = (index: number, more: Record<string, string>) =>
        chunkOf([{ index, delta: { content: "x" }, ...more }])
      const { provider, upstream } = yield* oneProvider()
      provider.script([choice(1, {}), choice(0, {}), choice(1, { finish_reason: "length" }), choice(0, finished)])
      const last = (yield* Stream.runCollect(streamOf(upstream, ask()))).at(-1)
      assert.deepStrictEqual(last?._tag === "Finished" && last.served.finishReasons, ["stop", "length"])
      provider.always([choice(1, {}), choice(0, finished)])
      assert.strictEqual((yield* read(upstream)).code, "upstream-truncated")
    }),
  )
})

const finished = { finish_reason: "stop" }

/** A chunk of the first choice. */
const chunk = (delta: ChatChunk["choices"][number]["delta"], model?: string) =>
  chunkOf([{ index: 0, delta, finish_reason: null }], model === undefined ? {} : { model })

describe("a stream that is finished", () => {
  it.effect("stays finished, whatever later chunks say about its choices", () =>
    Effect.gen(function* () {
      const { provider, upstream } = yield* oneProvider()
      provider.script([text("a"), finish(), chunk({}), usage(1, 1)])
      assert.include((yield* read(upstream)).seen, "finished by provider1")
      assert.strictEqual(provider.calls.length, 1)
    }),
  )
})

describe("a stream that fails before its first output", () => {
  it.effect.each(["truncated", "unavailable"] as const)("%s: is retried silently", (kind) =>
    Effect.gen(function* () {
      const { providers, upstream } = yield* two([role, fails(kind)])
      const { seen } = yield* read(upstream)
      assert.deepStrictEqual(seen, ["", "from", "second", "stop", "finished by provider2"])
      assert.strictEqual(providers[0].calls.length, 3)
    }),
  )

  it.effect("does not count empty members as output", () =>
    Effect.gen(function* () {
      for (const delta of [{ content: null }, { content: "" }, { tool_calls: [] }, { role: "assistant" }, {}]) {
        const { provider, upstream } = yield* oneProvider()
        provider.script([chunk(delta), fails("truncated")])
        const { seen } = yield* read(upstream)
        assert.deepStrictEqual(seen, ["", "ok", "stop", "finished by provider1"], JSON.stringify(delta))
      }
    }),
  )

  it.effect("holds sixteen chunks without output back, and emits all of them with the seventeenth", () =>
    Effect.gen(function* () {
      for (const [count, shown] of [
        [16, 0],
        [17, 17],
      ] as const) {
        const { upstream } = yield* two([...Array.from({ length: count }, () => role), hang], [fails("unauthorized")])
        const { code, seen } = yield* read(upstream)
        assert.strictEqual(seen.length, shown)
        assert.strictEqual(code, "upstream-timeout")
      }
    }),
  )

  it.effect("counts chunks without output as output once there are too many to hold", () =>
    Effect.gen(function* () {
      const { upstream } = yield* two([...Array.from({ length: 100 }, () => role), hang])
      const { seen } = yield* read(upstream)
      assert.include(seen, "restarted by provider2 provider2-model: timeout")
    }),
  )
})

describe("a stream that fails after output began", () => {
  it.effect.each(["truncated", "unavailable", "rate-limited"] as const)(
    "%s: restarts, and its reader is notified before any new output",
    (kind) =>
      Effect.gen(function* () {
        const { provider, upstream } = yield* oneProvider()
        provider.script([role, text("par"), fails(kind)], says("whole"))
        const { seen } = yield* read(upstream)
        const restarted = `restarted by provider1 provider1-model: ${kind}`
        assert.deepStrictEqual(seen, ["", "par", restarted, "", "whole", "stop", "finished by provider1"])
      }),
  )

  it.effect("restarts elsewhere after a defect, and is never spliced with what follows", () =>
    Effect.gen(function* () {
      const { upstream } = yield* two([role, text("par"), dies])
      const { seen } = yield* read(upstream)
      const restarted = "restarted by provider2 provider2-model: garbage"
      assert.deepStrictEqual(seen, ["", "par", restarted, "", "from", "second", "stop", "finished by provider2"])
    }),
  )

  it.effect("names the target that took over, once, however many others failed in between", () =>
    Effect.gen(function* () {
      const providers = [scripted("provider1"), scripted("provider2"), scripted("provider3")] as const
      providers[0].always([text("par"), hang])
      providers[1].always([role, fails("unauthorized")])
      const upstream = yield* upstreamOf(providers)
      const { seen } = yield* read(upstream)
      assert.deepStrictEqual(seen, [
        "par",
        "restarted by provider3 provider3-model: timeout",
        "",
        "ok",
        "stop",
        "finished by provider3",
      ])
    }),
  )

  it.effect("names the model that took over as it names itself", () =>
    Effect.gen(function* () {
      const { upstream } = yield* two([text("par"), hang], [chunk({ content: "whole" }, "m-2026"), finish()])
      assert.include((yield* read(upstream)).seen, "restarted by provider2 m-2026: timeout")
    }),
  )

  it.effect("ends with the partial answer intact and an error if no target can take over", () =>
    Effect.gen(function* () {
      const { upstream } = yield* two([text("partial"), hang], [fails("unavailable")])
      const { code, error, seen } = yield* read(upstream)
      assert.deepStrictEqual(seen, ["partial"])
      assert.strictEqual(code, "upstream-timeout")
      assert.deepStrictEqual(
        error?.attempts?.map(({ outcome }) => outcome),
        ["timeout", "unavailable", "unavailable", "unavailable"],
      )
    }),
  )

  it.effect.each([
    ["truncated", "upstream-interrupted"],
    ["garbage", "upstream-interrupted"],
    ["unavailable", "upstream-interrupted"],
    ["rate-limited", "upstream-interrupted"],
    ["timeout", "upstream-interrupted"],
    ["context-too-long", "upstream-interrupted"],
    ["content-filtered", "content-filtered"],
  ] as const)("%s: is the error %s to a caller who cannot take a restart, at once", ([kind, code]) =>
    Effect.gen(function* () {
      const { providers, upstream } = yield* two([text("partial"), fails(kind)])
      const result = yield* read(upstream, ask({ restart: false }))
      assert.deepStrictEqual(result.seen, ["partial"])
      assert.strictEqual(result.code, code)
      assert.strictEqual(result.ms, 0)
      assert.strictEqual(result.error?.retryable, code === "upstream-interrupted")
      assert.strictEqual(result.error?.provider, "provider1")
      assert.strictEqual(providers[0].calls.length, 1)
      assert.strictEqual(providers[1].calls.length, 0)
    }),
  )

  it.effect("reports the break, not earlier failures, to a caller that cannot take a restart", () =>
    Effect.gen(function* () {
      const { upstream } = yield* two([fails("rate-limited", { retryAfterMs: 60_000 })], [text("a"), fails("garbage")])
      const { code, error } = yield* read(upstream, ask({ restart: false }))
      assert.strictEqual(code, "upstream-interrupted")
      assert.strictEqual(error?.provider, "provider2")
      assert.isUndefined(error?.retryAfterMs)
    }),
  )
})

describe("a silent provider", () => {
  const from = (script: Script, timeouts = { firstToken: Duration.seconds(10), idle: Duration.seconds(15) }) =>
    Effect.gen(function* () {
      const providers = [scripted("provider1"), scripted("provider2")] as const
      providers[0].always(script)
      const upstream = yield* upstreamOf(providers, { timeouts })
      const { ms, seen } = yield* read(upstream)
      assert.include(seen, "finished by provider2")
      assert.strictEqual(providers[0].calls.length, 1)
      assert.strictEqual(providers[0].calls[0]?.ended, "interrupted")
      return ms
    })

  const PINGS = Array.from({ length: 5 }, () => [wait(3_000), pings]).flat()
  const endless = (sign: Step) => Array.from({ length: 200 }, () => [wait(10_000), sign]).flat()
  const thinkingFor = (ms: number) => endless(thinks).slice(0, (2 * ms) / 10_000)
  it.effect.each<readonly [string, Script, number]>([
    ["the first-token limit if it never answers", [hang], 10_000],
    ["the first-token limit if its first output is late", [wait(10_001), ...says("late")], 10_000],
    ["the first-token limit although chunks without output come", [wait(6_000), role, wait(3_000), role, hang], 10_000],
    ["the first-token limit although pings come", [...PINGS, text("late")], 10_000],
    ["the idle time since its last chunk", [wait(9_000), text("a"), wait(14_000), text("b"), hang], 38_000],
    ["the idle time since its last ping", [text("a"), ...PINGS, hang], 30_000],
    ["the idle time since its last thought", [role, wait(9_000), thinks, wait(14_000), thinks, hang], 38_000],
    ["the idle time since a thought behind output", [text("a"), wait(9_000), thinks, hang], 24_000],
    ["half of the request's time if only pings follow a thought", [wait(9_000), thinks, ...endless(pings)], 300_000],
    ["the idle time since a thought after half of that time", [...thinkingFor(310_000), ...endless(pings)], 325_000],
  ])("is left after %s", ([, script, ms]) => Effect.map(from(script), (taken) => assert.strictEqual(taken, ms)))

  it.effect("is noticed in time if the idle time is the shorter one", () =>
    Effect.gen(function* () {
      const timeouts = { firstToken: Duration.seconds(10), idle: Duration.seconds(2) }
      assert.strictEqual(yield* from([wait(1_000), text("a"), hang], timeouts), 3_000)
      assert.strictEqual(yield* from([wait(5_500), text("a"), wait(1_900), text("b"), hang], timeouts), 9_400)
    }),
  )

  it.effect("has the limit of its target, else of its provider, else the common one", () =>
    Effect.gen(function* () {
      const providers = [
        { ...scripted("provider1"), firstToken: Duration.seconds(20) },
        scripted("provider2"),
        scripted("provider3"),
      ] as const
      providers[0].always([hang])
      providers[1].always([hang])
      const upstream = yield* upstreamOf(providers, { timeouts: { firstToken: Duration.seconds(10) } })
      assert.strictEqual((yield* read(upstream)).ms, 20_000 + 10_000)
      const targets = [
        { provider: "provider1", model: "a", firstTokenMs: 5_000 },
        { provider: "provider2", model: "b", firstTokenMs: 7_000 },
        { provider: "provider3", model: "c" },
      ] as const
      assert.strictEqual((yield* read(upstream, ask({ targets }))).ms, 5_000 + 7_000)
    }),
  )

  it.effect("does not count as silent while it thinks, before or after its first output", () =>
    Effect.gen(function* () {
      const thinking = Array.from({ length: 5 }, () => [wait(9_000), thinks]).flat()
      const { provider, upstream } = yield* oneProvider({ timeouts: { firstToken: Duration.seconds(10) } })
      provider.script([role, ...thinking, wait(14_000), text("a"), ...thinking, wait(14_000), text("b"), finish()])
      const { ms, seen } = yield* read(upstream)
      assert.deepStrictEqual(seen, ["", "a", "b", "stop", "finished by provider1"])
      assert.strictEqual(ms, 2 * (5 * 9_000 + 14_000))
    }),
  )

  it.effect("does not count as silent while anything comes, even a ping or an empty chunk", () =>
    Effect.gen(function* () {
      for (const sign of [pings, role]) {
        const { upstream } = yield* two([
          text("a"),
          ...Array.from({ length: 5 }, () => [wait(39_999), sign]).flat(),
          wait(39_999),
          finish(),
        ])
        const { seen } = yield* read(upstream)
        assert.deepStrictEqual(
          seen.filter((event) => event !== ""),
          ["a", "stop", "finished by provider1"],
        )
      }
    }),
  )

  const PINGED: Script = [text("a"), wait(29_000), pings, wait(29_000), text("b"), finish()]
  const QUIET: Script = [text("a"), wait(100_000), chunk({ tool_calls: [{ index: 0, id: "1" }] }), finish()]

  it.effect.each([
    ["29 s around a ping", PINGED],
    ["100 s before the arguments of a tool", QUIET],
  ] as const)("is not cut by default if nothing can take over: %s", ([, script]) =>
    Effect.gen(function* () {
      const { providers, upstream } = yield* two(script)
      assert.include((yield* read(upstream, ask({ restart: false }))).seen, "finished by provider1")
      const alone = yield* upstreamOf([providers[0]])
      assert.include((yield* read(alone)).seen, "finished by provider1")
    }),
  )

  it.effect("is not cut by default if the request is too long for the other targets", () =>
    Effect.gen(function* () {
      const { upstream } = yield* two([fails("context-too-long")], QUIET)
      const targets = [
        { provider: "provider1", model: "a", contextTokens: 1000 },
        { provider: "provider2", model: "b", contextTokens: 2000 },
        { provider: "provider1", model: "c", contextTokens: 1000 },
      ] as const
      assert.include((yield* read(upstream, ask({ targets }))).seen, "finished by provider2")
    }),
  )

  it.effect("ends by default after 120 s without a byte if nothing can take over", () =>
    Effect.gen(function* () {
      const { providers, upstream } = yield* two([text("a"), hang])
      const fixed = yield* read(upstream, ask({ restart: false }))
      assert.deepStrictEqual([fixed.code, fixed.ms], ["upstream-interrupted", 120_000])
      const alone = yield* read(yield* upstreamOf([providers[0]]))
      assert.deepStrictEqual([alone.code, alone.ms], ["upstream-timeout", 120_000])
    }),
  )

  it.effect("is replaced by default after 40 s without a byte, but not between pings every 30 s", () =>
    Effect.gen(function* () {
      const { upstream } = yield* two([text("a"), wait(30_000), pings, hang])
      const { ms, seen } = yield* read(upstream)
      assert.include(seen, "restarted by provider2 provider2-model: timeout")
      assert.strictEqual(ms, 70_000)
    }),
  )

  it.effect("may think unseen after a visible thought, for as long as a model without visible thoughts", () =>
    Effect.gen(function* () {
      const timeouts = { firstToken: Duration.seconds(60), idle: Duration.seconds(15) }
      const { provider, upstream } = yield* oneProvider({ timeouts })
      provider.script([wait(1_000), thinks, wait(58_999), text("a"), finish()])
      assert.include((yield* read(upstream)).seen, "finished by provider1")
      assert.strictEqual(yield* from([wait(1_000), thinks, hang], timeouts), 60_000)
      assert.strictEqual(
        yield* from([wait(9_000), thinks, wait(50_000), thinks, wait(14_000), pings, hang], timeouts),
        88_000,
      )
    }),
  )

  it.effect("may ping after a thought for as long as the request may take if nothing can take over", () =>
    Effect.gen(function* () {
      const { provider, upstream } = yield* oneProvider()
      const pinging = Array.from({ length: 19 }, () => [wait(30_000), pings]).flat()
      provider.script([thinks, ...pinging, text("a"), finish()])
      const { ms, seen } = yield* read(upstream)
      assert.include(seen, "finished by provider1")
      assert.strictEqual(ms, 570_000)
    }),
  )

  it.effect("that never ends is cut off by the total", () =>
    Effect.gen(function* () {
      const { provider, upstream } = yield* upstreamSaying(
        Array.from({ length: 2_000 }, () => [text("x"), wait(1_000)]).flat(),
        { timeouts: { total: Duration.minutes(10) } },
      )
      const { code, error, ms } = yield* read(upstream)
      assert.strictEqual(code, "upstream-timeout")
      assert.strictEqual(ms, 600_000)
      assert.deepStrictEqual(
        error?.attempts?.map(({ outcome }) => outcome),
        ["timeout"],
      )
      assert.strictEqual(provider.calls[0]?.ended, "interrupted")
    }),
  )
})

describe("the reader of a stream", () => {
  it.effect("is waited for when slow, and its slowness is not the provider's", () =>
    Effect.gen(function* () {
      const provider = scripted("provider1")
      const words = Array.from({ length: 60 }, (_, index) => `${index} `)
      provider.script(says(...words))
      const upstream = yield* upstreamOf([provider], {
        timeouts: { firstToken: Duration.seconds(1), idle: Duration.seconds(1) },
      })
      const seen: Array<string> = []
      yield* passingTime(
        Stream.runForEach(Stream.rechunk(streamOf(upstream, ask()), 1), (event) =>
          Effect.delay(
            Effect.sync(() => seen.push(show(event))),
            "4 seconds",
          ),
        ),
      )
      assert.strictEqual(seen.at(-1), "finished by provider1")
      assert.strictEqual(seen.filter((word) => words.includes(word)).length, words.length)
    }),
  )

  it.effect("pauses the provider by not reading, so that memory stays bounded", () =>
    Effect.gen(function* () {
      const provider = scripted("provider1")
      let produced = 0
      const endless = {
        ...provider,
        stream: (request: Parameters<typeof provider.stream>[0]) =>
          Stream.tap(Stream.forever(provider.stream(request)), () =>
            Effect.sync(() => {
              produced++
            }),
          ),
      }
      const upstream = yield* upstreamOf([endless])
      const reader = yield* Effect.forkChild(
        Stream.runForEach(streamOf(upstream, ask()), () => Effect.never),
        { startImmediately: true },
      )
      yield* TestClock.adjust("1 minute")
      assert.isAtMost(produced, 64)
      yield* Fiber.interrupt(reader)
    }),
  )

  it.effect("interrupts the call and frees its place by going away", () =>
    Effect.gen(function* () {
      const { provider, upstream } = yield* oneProvider({ bulkhead: { calls: 1, waiting: 0 } })
      provider.script([text("a"), hang])
      const first = yield* Stream.runCollect(Stream.take(streamOf(upstream, ask()), 1))
      assert.deepStrictEqual(first.map(show), ["a"])
      assert.strictEqual(provider.calls[0]?.ended, "interrupted")
      assert.strictEqual(provider.calls[0]?.endedAt, yield* Clock.currentTimeMillis)
      yield* upstream.complete(ask())
    }),
  )

  it.effect("ends a back-off by going away", () =>
    Effect.gen(function* () {
      const { provider, upstream } = yield* upstreamSaying([fails("unavailable")])
      const reader = yield* Effect.forkChild(Stream.runDrain(streamOf(upstream, ask())), { startImmediately: true })
      yield* TestClock.adjust("10 millis")
      yield* Fiber.interrupt(reader)
      yield* TestClock.adjust("1 minute")
      assert.strictEqual(provider.calls.length, 1)
    }),
  )
})
