import { assert, describe, it } from "@effect/vitest"
import { Effect, Logger, Redacted } from "effect"
import {
  failureCodes,
  type FailureKind,
  failureRules,
  type UpstreamCode,
} from "../../../src/domain/upstream/failures.ts"
import { ask, fails, passingTime, says, scripted, upstreamOf } from "./ScriptedProvider.ts"

const kinds = Object.keys(failureRules) as Array<FailureKind> // Keys of a closed record.

describe("the order of targets", () => {
  it.effect("goes down the configured order", () =>
    Effect.gen(function* () {
      const providers = [scripted("provider3"), scripted("provider1"), scripted("provider2")]
      providers[0]?.always([fails("timeout")])
      providers[1]?.always([fails("unauthorized")])
      const upstream = yield* upstreamOf(providers)
      const { attempts, served } = yield* passingTime(upstream.complete(ask()))
      assert.strictEqual(served.provider, "provider2")
      assert.deepStrictEqual(
        attempts.map(({ cause, provider }) => [provider, cause]),
        [
          ["provider3", "first"],
          ["provider1", "failover"],
          ["provider2", "failover"],
        ],
      )
    }),
  )

  it.effect("a named provider serves or nobody does", () =>
    Effect.gen(function* () {
      const [first, second] = [scripted("provider1"), scripted("provider2")]
      second.always([fails("timeout")])
      const upstream = yield* upstreamOf([first, second])
      const error = yield* passingTime(Effect.flip(upstream.complete(ask({ provider: "provider2" }))))
      assert.strictEqual(error.code, "upstream-timeout")
      assert.strictEqual(error.provider, "provider2")
      assert.strictEqual(first.calls.length, 0)
    }),
  )

  it.effect("a named provider that is not configured is an error", () =>
    Effect.gen(function* () {
      const provider = scripted("provider1")
      const upstream = yield* upstreamOf([provider])
      const error = yield* Effect.flip(upstream.complete(ask({ provider: "provider4" })))
      assert.strictEqual(error.code, "provider-not-configured")
      assert.strictEqual(error.status, 422)
      assert.strictEqual(error.provider, "provider4")
      assert.strictEqual(provider.calls.length, 0)
    }),
  )

  it.effect("targets are tried in the order given, and nothing else is", () =>
    Effect.gen(function* () {
      const [first, second] = [scripted("provider1"), scripted("provider2")]
      first.always([fails("timeout")])
      second.script([fails("timeout")])
      const upstream = yield* upstreamOf([first, second])
      const targets = [
        { provider: "provider2", model: "b" },
        { provider: "provider4", model: "not configured" },
        { provider: "provider1", model: "a" },
        { provider: "provider2", model: "c" },
      ] as const
      const { served } = yield* passingTime(upstream.complete(ask({ targets, model: "ignored" })))
      assert.strictEqual(served.model, "c")
      assert.deepStrictEqual(
        [...first.calls, ...second.calls].map(({ model }) => model),
        ["a", "b", "c"],
      )
    }),
  )

  it.effect("targets of which none is configured are an error", () =>
    Effect.gen(function* () {
      const upstream = yield* upstreamOf([scripted("provider1")])
      const error = yield* Effect.flip(upstream.complete(ask({ targets: [{ provider: "provider4", model: "m" }] })))
      assert.strictEqual(error.code, "provider-not-configured")
    }),
  )
})

describe("the model", () => {
  const failing = () => {
    const providers = [scripted("provider1"), scripted("provider2"), scripted("provider3")] as const
    for (const provider of providers) provider.always([fails("timeout")])
    return providers
  }

  it.effect("without one, everybody is asked for its default", () =>
    Effect.gen(function* () {
      const providers = failing()
      const upstream = yield* upstreamOf(providers)
      const error = yield* passingTime(Effect.flip(upstream.complete(ask())))
      assert.deepStrictEqual(
        error.attempts?.map(({ model }) => model),
        ["provider1-model", "provider2-model", "provider3-model"],
      )
    }),
  )

  it.effect("one that is nobody's default is asked of the first provider alone", () =>
    Effect.gen(function* () {
      const providers = failing()
      const upstream = yield* upstreamOf(providers)
      const error = yield* passingTime(Effect.flip(upstream.complete(ask({ model: "special" }))))
      assert.deepStrictEqual(
        error.attempts?.map(({ model }) => model),
        ["special", "provider2-model", "provider3-model"],
      )
    }),
  )

  it.effect("one that is a provider's default leads there first", () =>
    Effect.gen(function* () {
      const providers = failing()
      const upstream = yield* upstreamOf(providers)
      const error = yield* passingTime(Effect.flip(upstream.complete(ask({ model: "provider2-model" }))))
      assert.deepStrictEqual(
        error.attempts?.map(({ model }) => model),
        ["provider2-model", "provider1-model", "provider3-model"],
      )
    }),
  )

  it.effect("one that its caller made up is refused, and nobody else is asked", () =>
    Effect.gen(function* () {
      const providers = [scripted("provider1"), scripted("provider2")] as const
      providers[0].always([fails("unknown-model")])
      const upstream = yield* upstreamOf(providers)
      const error = yield* Effect.flip(upstream.complete(ask({ model: "gpt-5-typo" })))
      assert.deepStrictEqual([error.code, error.status, error.provider], ["unknown-model", 422, "provider1"])
      assert.strictEqual(error.detail && Redacted.value(error.detail), "gpt-5-typo")
      assert.strictEqual(providers[1].calls.length, 0)
    }),
  )

  it.effect("one that a setting names is asked elsewhere if its provider does not have it", () =>
    Effect.gen(function* () {
      const providers = [scripted("provider1"), scripted("provider2")] as const
      providers[0].always([fails("unknown-model")])
      const upstream = yield* upstreamOf(providers)
      for (const model of [undefined, "provider1-model"]) {
        const { served } = yield* upstream.complete(ask(model === undefined ? {} : { model }))
        assert.strictEqual(served.provider, "provider2")
      }
      const targets = [
        { provider: "provider1", model: "a" },
        { provider: "provider2", model: "b" },
      ] as const
      assert.strictEqual((yield* upstream.complete(ask({ targets }))).served.model, "b")
    }),
  )

  it.effect("with a named provider it is passed as given", () =>
    Effect.gen(function* () {
      const [first, second] = failing()
      const upstream = yield* upstreamOf([first, second])
      yield* passingTime(Effect.flip(upstream.complete(ask({ provider: "provider2", model: "special" }))))
      assert.deepStrictEqual(
        second.calls.map(({ model }) => model),
        ["special"],
      )
    }),
  )

  it.effect("the answer names the one that served, whatever was asked for", () =>
    Effect.gen(function* () {
      const provider = scripted("provider1")
      const upstream = yield* upstreamOf([provider])
      provider.script(
        says("x").map((step) => (step.do === "chunk" ? { ...step, chunk: { ...step.chunk, model: "m-2026" } } : step)),
      )
      const { attempts, served } = yield* upstream.complete(ask({ model: "m" }))
      assert.strictEqual(served.model, "m-2026")
      assert.deepStrictEqual(
        attempts.map(({ model, servedModel }) => [model, servedModel]),
        [["m", "m-2026"]],
      )
    }),
  )

  it.effect("a model that answers under what is no name is not believed to have one", () =>
    Effect.gen(function* () {
      for (const lie of ["m\u0000", "A whole sentence.", "m".repeat(1e6)]) {
        const provider = scripted("provider1")
        const upstream = yield* upstreamOf([provider])
        provider.script(
          says("x").map((step) => (step.do === "chunk" ? { ...step, chunk: { ...step.chunk, model: lie } } : step)),
        )
        const { attempts } = yield* upstream.complete(ask({ model: "m" }))
        assert.deepStrictEqual(
          attempts.map(({ model, servedModel }) => [model, servedModel]),
          [["m", null]],
        )
      }
    }),
  )
})

describe("what each failure leads to", () => {
  const followed: Record<FailureKind, boolean> = {
    "rate-limited": true,
    unavailable: true,
    unreachable: true,
    "connect-timeout": true,
    slow: true,
    timeout: true,
    truncated: true,
    unfinished: true,
    garbage: true,
    redirected: true,
    "context-too-long": true,
    misconfigured: true,
    unauthorized: true,
    "unknown-model": true,
    unsupported: true,
    "content-filtered": false,
    "invalid-request": false,
    malformed: false,
  }
  const told: Record<FailureKind, UpstreamCode> = {
    "rate-limited": "rate-limited",
    unavailable: "upstream-unavailable",
    unreachable: "upstream-unavailable",
    "connect-timeout": "upstream-timeout",
    slow: "upstream-timeout",
    timeout: "upstream-timeout",
    truncated: "upstream-truncated",
    unfinished: "upstream-truncated",
    garbage: "upstream-protocol",
    redirected: "upstream-protocol",
    "context-too-long": "context-too-long",
    unauthorized: "upstream-unauthorized",
    misconfigured: "upstream-misconfigured",
    "unknown-model": "unknown-model",
    unsupported: "unsupported",
    "content-filtered": "content-filtered",
    "invalid-request": "invalid-request",
    malformed: "invalid-request",
  }

  it.effect.each(kinds)("%s: the next target", (kind) =>
    Effect.gen(function* () {
      const [first, second] = [scripted("provider1"), scripted("provider2")]
      first.always([fails(kind)])
      const upstream = yield* upstreamOf([first, second])
      const exit = yield* passingTime(Effect.exit(upstream.complete(ask())))
      assert.strictEqual(exit._tag === "Success", followed[kind])
      assert.strictEqual(second.calls.length, followed[kind] ? 1 : 0)
    }),
  )

  it.effect.each(kinds)("%s: what the caller is told", (kind) =>
    Effect.gen(function* () {
      const provider = scripted("provider1")
      provider.always([fails(kind, { detail: Redacted.make("the provider's own words") })])
      const upstream = yield* upstreamOf([provider])
      const error = yield* passingTime(Effect.flip(upstream.complete(ask())))
      assert.strictEqual(error.code, told[kind])
      assert.strictEqual(error.status, failureCodes[told[kind]].status)
      assert.strictEqual(error.provider, "provider1")
      const detail = error.detail && Redacted.value(error.detail)
      assert.strictEqual(detail, `${kind === "unknown-model" ? "provider1-model: " : ""}the provider's own words`)
      assert.notInclude(error.message, "own words")
    }),
  )

  it.effect("a defect in a translation is garbage, and its message, which may quote the answer, is nowhere", () =>
    Effect.gen(function* () {
      const broken = {
        ...scripted("provider1"),
        complete: () => Effect.sync(() => JSON.parse("the model's answer")),
      }
      const second = scripted("provider2")
      const lines: Array<string> = []
      const logger = Logger.make((options) => void lines.push(Logger.formatJson.log(options)))
      const upstream = yield* upstreamOf([broken, second])
      const { attempts, served } = yield* passingTime(Effect.provide(upstream.complete(ask()), Logger.layer([logger])))
      assert.strictEqual(served.provider, "provider2")
      assert.deepStrictEqual(
        attempts.map(({ outcome }) => outcome),
        ["garbage", "success"],
      )
      assert.include(lines[0], "SyntaxError")
      assert.include(lines[0], "Failover.test.ts")
      assert.notInclude(lines.join(), "answer")
    }),
  )

  it.effect("nothing that a provider says about this product's credentials is a 401 to the caller", () =>
    Effect.gen(function* () {
      const provider = scripted("provider1")
      provider.always([fails("unauthorized")])
      const upstream = yield* upstreamOf([provider])
      const error = yield* Effect.flip(upstream.complete(ask()))
      assert.strictEqual(error.status, 502)
    }),
  )
})

describe("a model that a provider does not know", () => {
  it.effect("says nothing about the request, so others are asked, and the target is not unwell", () =>
    Effect.gen(function* () {
      const [first, second] = [scripted("provider1"), scripted("provider2")]
      first.always([fails("unknown-model")])
      const upstream = yield* upstreamOf([first, second], { circuit: { failures: 1 } })
      for (let i = 0; i < 3; i++) assert.strictEqual((yield* upstream.complete(ask())).served.provider, "provider2")
      assert.strictEqual(first.calls.length, 3)
    }),
  )

  it.effect("is named to a caller whom nobody serves, with what to do about it", () =>
    Effect.gen(function* () {
      const provider = scripted("provider1")
      provider.always([fails("unknown-model")])
      const upstream = yield* upstreamOf([provider])
      const error = yield* Effect.flip(upstream.complete(ask({ model: "gpt-typo" })))
      assert.deepInclude(error, { code: "unknown-model", status: 422, retryable: false })
      assert.strictEqual(error.detail && Redacted.value(error.detail), "gpt-typo")
      assert.include(error.message, "ask for another")
      assert.notInclude(error.message, "gpt-typo")
    }),
  )
})

describe("a context that is too long", () => {
  const run = (windows: readonly [number | undefined, number | undefined]) =>
    Effect.gen(function* () {
      const [first, second] = [scripted("provider1"), scripted("provider2")]
      first.always([fails("context-too-long")])
      const upstream = yield* upstreamOf([first, second])
      const targets = [
        { provider: "provider1", model: "a", contextTokens: windows[0] },
        { provider: "provider2", model: "b", contextTokens: windows[1] },
      ] as const
      return yield* passingTime(Effect.result(upstream.complete(ask({ targets }))))
    })

  it.effect("goes to a larger window", () =>
    Effect.gen(function* () {
      assert.strictEqual((yield* run([8_000, 128_000]))._tag, "Success")
    }),
  )

  it.effect("does not go to a smaller or equal one", () =>
    Effect.gen(function* () {
      for (const window of [4_000, 8_000]) {
        const result = yield* run([8_000, window])
        assert.strictEqual(result._tag === "Failure" && result.failure.code, "context-too-long")
        assert.strictEqual(result._tag === "Failure" && result.failure.attempts?.length, 1)
      }
    }),
  )

  it.effect("goes to one that is not known, and from one that is not known", () =>
    Effect.gen(function* () {
      assert.strictEqual((yield* run([8_000, undefined]))._tag, "Success")
      assert.strictEqual((yield* run([undefined, 4_000]))._tag, "Success")
    }),
  )
})

describe("the error when everybody failed", () => {
  const cases: ReadonlyArray<readonly [told: UpstreamCode, ...failed: ReadonlyArray<FailureKind>]> = [
    ["rate-limited", "unavailable", "rate-limited", "timeout"],
    ["upstream-timeout", "unavailable", "timeout", "garbage"],
    ["upstream-truncated", "garbage", "truncated", "unavailable"],
    ["upstream-unavailable", "context-too-long", "unavailable", "unauthorized"],
    ["upstream-unavailable", "unsupported", "unauthorized", "unavailable"],
    ["context-too-long", "unauthorized", "unsupported", "context-too-long"],
    ["unsupported", "unauthorized", "unsupported", "unauthorized"],
    ["upstream-unauthorized", "unauthorized", "unauthorized", "unauthorized"],
    ["rate-limited", "unknown-model", "unknown-model", "rate-limited"],
    ["unsupported", "unknown-model", "unsupported", "unauthorized"],
    ["unknown-model", "unauthorized", "unknown-model", "unknown-model"],
    ["invalid-request", "rate-limited", "timeout", "invalid-request"],
    ["content-filtered", "rate-limited", "content-filtered", "timeout"],
  ]
  it.effect.each(cases)("%s, of %s, %s and %s", ([told, ...failed]) =>
    Effect.gen(function* () {
      const providers = [scripted("provider1"), scripted("provider2"), scripted("provider3")]
      providers.forEach((provider, index) => provider.always([fails(failed[index] ?? "unavailable")]))
      const upstream = yield* upstreamOf(providers)
      const error = yield* passingTime(Effect.flip(upstream.complete(ask())))
      assert.strictEqual(error.code, told)
      assert.strictEqual(
        failureRules[failed[providers.findIndex(({ id }) => id === error.provider)] ?? "garbage"].code,
        told,
      )
    }),
  )

  it.effect("names the soonest time at which any of them may work again", () =>
    Effect.gen(function* () {
      const [first, second] = [scripted("provider1"), scripted("provider2")]
      first.always([fails("rate-limited", { retryAfterMs: 60_000 })])
      second.always([fails("rate-limited", { retryAfterMs: 40_000 })])
      const upstream = yield* upstreamOf([first, second])
      const error = yield* passingTime(Effect.flip(upstream.complete(ask())))
      assert.strictEqual(error.retryAfterMs, 40_000)
      assert.strictEqual(error.provider, "provider1")
    }),
  )
})
