import { assert, describe, it } from "@effect/vitest"
import { Effect, Logger, Redacted } from "effect"
import {
  failureCodes,
  type FailureKind,
  failureRules,
  type UpstreamCode,
} from "../../../src/domain/upstream/failures.ts"
import { ask, chunkOf, fails, passingTime, scripted, oneProvider, upstreamOf } from "./ScriptedProvider.ts"

const kinds = Object.keys(failureRules) as Array<FailureKind> // Keys of a closed record.

describe("the order of targets", () => {
  it.effect("is the configured order", () =>
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

  it.effect("fails if the named provider is not configured", () =>
    Effect.gen(function* () {
      const { provider, upstream } = yield* oneProvider()
      const error = yield* Effect.flip(upstream.complete(ask({ provider: "provider4" })))
      assert.strictEqual(error.code, "provider-not-configured")
      assert.strictEqual(error.status, 422)
      assert.strictEqual(error.provider, "provider4")
      assert.strictEqual(provider.calls.length, 0)
    }),
  )

  it.effect("fails if none of the given targets is configured", () =>
    Effect.gen(function* () {
      const upstream = yield* upstreamOf([scripted("provider1")])
      const error = yield* Effect.flip(upstream.complete(ask({ targets: [{ provider: "provider4", model: "m" }] })))
      assert.strictEqual(error.code, "provider-not-configured")
    }),
  )

  it.effect("is the given list of targets, and nothing else", () =>
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
})

describe("the model", () => {
  const failing = () => {
    const providers = [scripted("provider1"), scripted("provider2"), scripted("provider3")] as const
    for (const provider of providers) provider.always([fails("timeout")])
    return providers
  }

  it.effect.each([
    ["none: each provider's default", undefined, ["provider1-model", "provider2-model", "provider3-model"]],
    ["no provider's default: the first alone", "special", ["special", "provider2-model", "provider3-model"]],
    ["a default: its provider first", "provider2-model", ["provider2-model", "provider1-model", "provider3-model"]],
  ] as const)("if the request names %s", ([, model, asked]) =>
    Effect.gen(function* () {
      const upstream = yield* upstreamOf(failing())
      const error = yield* passingTime(Effect.flip(upstream.complete(ask(model === undefined ? {} : { model }))))
      assert.deepStrictEqual(
        error.attempts?.map(({ model }) => model),
        [...asked],
      )
    }),
  )

  it.effect("is refused without failover if the caller invented it", () =>
    Effect.gen(function* () {
      const providers = [scripted("provider1"), scripted("provider2")] as const
      providers[0].always([fails("unknown-model")])
      const upstream = yield* upstreamOf(providers)
      const error = yield* Effect.flip(upstream.complete(ask({ model: "gpt-5-typo" })))
      assert.deepInclude(error, { code: "unknown-model", status: 422, provider: "provider1", retryable: false })
      assert.strictEqual(error.detail && Redacted.value(error.detail), "gpt-5-typo")
      assert.include(error.message, "ask for another")
      assert.notInclude(error.message, "gpt-5-typo")
      assert.strictEqual(providers[1].calls.length, 0)
    }),
  )

  it.effect("is not replaced for an ability that it lacks if the caller named it", () =>
    Effect.gen(function* () {
      const providers = [scripted("provider1"), scripted("provider2")] as const
      providers[0].always([fails("incapable")])
      const upstream = yield* upstreamOf(providers)
      const error = yield* Effect.flip(upstream.complete(ask({ model: "gpt-5-typo" })))
      assert.deepInclude(error, { code: "invalid-request", provider: "provider1" })
      assert.strictEqual(providers[1].calls.length, 0)
    }),
  )

  it.effect("fails over if a setting names it and its provider lacks it", () =>
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

  it.effect("is passed as given to a named provider", () =>
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

  it.effect("in the answer is the one that served, whatever was asked for", () =>
    Effect.gen(function* () {
      const { provider, upstream } = yield* oneProvider()
      provider.script([chunkOf([{ index: 0, delta: {}, finish_reason: "stop" }], { model: "m-2026" })])
      const { attempts, served } = yield* upstream.complete(ask({ model: "m" }))
      assert.strictEqual(served.model, "m-2026")
      assert.deepStrictEqual(
        attempts.map(({ model, servedModel }) => [model, servedModel]),
        [["m", "m-2026"]],
      )
    }),
  )

  it.effect("in the answer is not trusted if it has no valid form", () =>
    Effect.gen(function* () {
      for (const lie of ["m\u0000", "A whole sentence.", "m".repeat(1e6)]) {
        const { provider, upstream } = yield* oneProvider()
        provider.script([chunkOf([{ index: 0, delta: {}, finish_reason: "stop" }], { model: lie })])
        const { attempts } = yield* upstream.complete(ask({ model: "m" }))
        assert.deepStrictEqual(
          attempts.map(({ model, servedModel }) => [model, servedModel]),
          [["m", null]],
        )
      }
    }),
  )
})

describe("a failure", () => {
  /** The caller's code, and whether the next target is asked. */
  const consequences: Record<FailureKind, readonly [UpstreamCode, followed: boolean]> = {
    "rate-limited": ["rate-limited", true],
    unavailable: ["upstream-unavailable", true],
    unreachable: ["upstream-unavailable", true],
    "connect-timeout": ["upstream-timeout", true],
    slow: ["upstream-timeout", true],
    timeout: ["upstream-timeout", true],
    truncated: ["upstream-truncated", true],
    broken: ["upstream-truncated", true],
    unfinished: ["upstream-truncated", true],
    garbage: ["upstream-protocol", true],
    redirected: ["upstream-protocol", true],
    "context-too-long": ["context-too-long", true],
    "too-large": ["context-too-long", true],
    unauthorized: ["upstream-unauthorized", true],
    "key-refused": ["tenant-key-refused", true],
    misconfigured: ["upstream-misconfigured", true],
    "unknown-model": ["unknown-model", true],
    unsupported: ["unsupported", true],
    incapable: ["invalid-request", true],
    "content-filtered": ["content-filtered", false],
    "invalid-request": ["invalid-request", false],
    malformed: ["invalid-request", false],
    oversized: ["invalid-request", false],
  }

  it.effect.each(kinds)("%s leads to the next target if that may serve, and has a code for the caller", (kind) =>
    Effect.gen(function* () {
      const [code, followed] = consequences[kind]
      const [first, second] = [scripted("provider1"), scripted("provider2")]
      first.always([fails(kind, { detail: Redacted.make("the provider's own words") })])
      const upstream = yield* upstreamOf([first, second])
      const exit = yield* passingTime(Effect.exit(upstream.complete(ask())))
      assert.strictEqual(exit._tag === "Success", followed)
      assert.strictEqual(second.calls.length, followed ? 1 : 0)
      const error = yield* passingTime(Effect.flip(upstream.complete(ask({ provider: "provider1" }))))
      assert.deepInclude(error, { code, status: failureCodes[code].status, provider: "provider1" })
      const detail = error.detail && Redacted.value(error.detail)
      assert.strictEqual(detail, `${kind === "unknown-model" ? "provider1-model: " : ""}the provider's own words`)
      assert.notInclude(error.message, "own words")
    }),
  )

  it.effect("of a translation is garbage, and its message, which may quote the answer, is nowhere", () =>
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
})

it.effect("a request beyond a limit of one provider goes to another with the same context", () =>
  Effect.gen(function* () {
    const [first, second] = [scripted("provider1"), scripted("provider2")]
    first.always([fails("too-large")])
    const upstream = yield* upstreamOf([first, second])
    const targets = (["provider1", "provider2"] as const).map((provider) => ({
      provider,
      model: "a",
      contextTokens: 8000,
    }))
    const result = yield* passingTime(Effect.result(upstream.complete(ask({ targets }))))
    assert.strictEqual(result._tag, "Success")
  }),
)

describe("a context that is too long", () => {
  it.effect.each([
    [8_000, 128_000, true],
    [8_000, 8_000, false],
    [8_000, 4_000, false],
    [8_000, undefined, true],
    [undefined, 4_000, true],
  ] as const)("for a window of %s leads to one of %s: %s", ([from, to, leads]) =>
    Effect.gen(function* () {
      const [first, second] = [scripted("provider1"), scripted("provider2")]
      first.always([fails("context-too-long")])
      const upstream = yield* upstreamOf([first, second])
      const targets = [
        { provider: "provider1", model: "a", contextTokens: from },
        { provider: "provider2", model: "b", contextTokens: to },
      ] as const
      const result = yield* passingTime(Effect.result(upstream.complete(ask({ targets }))))
      if (leads) return assert.strictEqual(result._tag, "Success")
      assert.strictEqual(result._tag === "Failure" && result.failure.code, "context-too-long")
      assert.strictEqual(result._tag === "Failure" && result.failure.attempts?.length, 1)
    }),
  )
})

describe("the error when every target failed", () => {
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
    ["rate-limited", "rate-limited", "incapable", "unauthorized"],
    ["invalid-request", "unauthorized", "incapable", "unknown-model"],
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

  it.effect("names the soonest time at which any target may work again", () =>
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

describe("a request whose allowance a failed call used up", () => {
  const kinds = ["truncated", "garbage", "slow", "timeout"] as const
  it.effect.each(kinds)("makes no further call, and says how that one failed: %s", (kind) =>
    Effect.gen(function* () {
      for (const whole of [true, false]) {
        const [first, second] = [scripted("provider1"), scripted("provider2")]
        first.always([fails(kind)])
        const upstream = yield* upstreamOf([first, second])
        const request = ask({ mayCallAgain: Effect.succeed(false) })
        const call = whole ? upstream.complete(request) : upstream.streamTo(request, () => Effect.void)
        const error = yield* passingTime(Effect.flip(call))
        assert.strictEqual(error.code, failureRules[kind].code)
        assert.deepStrictEqual([first.calls.length, second.calls.length], [1, 0])
      }
    }),
  )
})
