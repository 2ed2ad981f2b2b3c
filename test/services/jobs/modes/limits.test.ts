import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Redacted } from "effect"
import type { AgentLimits } from "../../../../src/domain/jobs/agent.ts"
import type { RoutingSettings } from "../../../../src/domain/routing/routing.ts"
import { JobProgram } from "../../../../src/services/jobs/JobProgram.ts"
import * as Modes from "../../../../src/services/jobs/modes/ModePrograms.ts"
import { Ledger } from "../../../../src/services/routing/Ledger.ts"
import { Upstream } from "../../../../src/services/upstream/Upstream.ts"
import { sqlite } from "../../../support/databases.ts"
import { prices, settings, stack, target } from "../../routing/RouterFixture.ts"
import { ScriptedUpstream, status } from "../../routing/ScriptedUpstream.ts"
import {
  fails,
  passingTime,
  role,
  says,
  scripted,
  type Scripted,
  text,
  usage,
} from "../../upstream/ScriptedProvider.ts"
import { contextOf, kindOf, type StoredStep, verifying } from "./ModeFixture.ts"

const retry = { max_retries: 5, base_delay_ms: 1, max_delay_ms: 1 }
const targets = [target("provider1/large", { prices: prices(10, 40) })]

/** Runs a job as often as a worker would: until it ends, or fails for good. */
const runJob = (provider: Scripted, limits: Partial<AgentLimits>, more: Partial<RoutingSettings> = {}) =>
  Effect.gen(function* () {
    const program = yield* JobProgram
    const job = contextOf({ mode: "adversarial", limits }, new Map())
    const run = Effect.suspend(() => program.run({ ...job, step: contextOf({ mode: "adversarial" }, new Map()).step }))
    const failure = yield* passingTime(
      Effect.flip(Effect.retry(run, { while: ({ problem }) => problem.retryable, times: 50 })),
    )
    const spent = (yield* (yield* Ledger).spent([job.jobId]))(job.jobId)
    return { problem: failure.problem, spent }
  }).pipe(
    Effect.provide(
      Modes.layer.pipe(
        Layer.provideMerge(stack(settings({ targets, retry, ...more }))),
        Layer.provideMerge(Layer.merge(Upstream.layer({ providers: [provider] }), sqlite.layer)),
      ),
    ),
  )

describe("the limits of a job", () => {
  it.effect("allow no call with one token or one micro-dollar", () =>
    Effect.gen(function* () {
      const provider = scripted("provider1")
      for (const limits of [{ max_tokens: 1, max_cost_micro_usd: 1 }, { max_tokens: 9 }]) {
        const { problem, spent } = yield* runJob(provider, limits)
        assert.deepInclude(problem, { code: "token-limit-reached", retryable: false })
        assert.strictEqual(spent.calls, 0)
      }
      const { problem } = yield* runJob(provider, { max_cost_micro_usd: 129 })
      assert.strictEqual(problem.code, "cost-limit-reached")
      assert.strictEqual(provider.calls.length, 0)
    }),
  )

  it.effect.each<readonly [string, Partial<AgentLimits>, string]>([
    ["tokens", { max_tokens: 1500 }, "token-limit-reached"],
    ["cost", { max_cost_micro_usd: 45_000 }, "cost-limit-reached"],
  ])("of %s hold where a provider does not say what it used", ([, limits, code]) =>
    Effect.gen(function* () {
      const provider = scripted("provider1")
      const { problem, spent } = yield* runJob(provider, limits)
      assert.strictEqual(problem.code, code)
      assert.include(problem.detail, "estimated")
      assert.strictEqual(provider.calls.length, 1)
      assert.deepInclude(spent, { calls: 1, unpriced: 1, input_tokens: 0, cost: 0 })
      assert.isAtLeast(spent.charged_tokens, 1000)
      assert.isAtMost(spent.charged_cost, 45_000)
    }),
  )

  it.effect("charge the received part of a broken stream, even if the provider reported less", () =>
    Effect.gen(function* () {
      const provider = scripted("provider1")
      provider.always([role, usage(10, 1), text("x".repeat(3000)), fails("truncated")])
      const { problem, spent } = yield* runJob(provider, { max_tokens: 2500 })
      assert.strictEqual(problem.code, "token-limit-reached")
      assert.strictEqual(provider.calls.length, 3)
      assert.isAtLeast(spent.charged_tokens, 3 * 1000)
    }),
  )

  it.effect("end a job whose streams break and whose provider reports nothing", () =>
    Effect.gen(function* () {
      const provider = scripted("provider1")
      provider.always([role, text("x"), fails("truncated")])
      const { problem, spent } = yield* runJob(provider, { max_tokens: 2500 })
      assert.strictEqual(problem.code, "token-limit-reached")
      assert.strictEqual(spent.calls, 3)
      assert.isAtMost(spent.charged_tokens, 2500)
    }),
  )

  it.effect("count every retry as a call, over all attempts of the job", () =>
    Effect.gen(function* () {
      const provider = scripted("provider1")
      provider.always([fails("unavailable")])
      for (const max_calls of [1, 2, 9]) {
        const before = provider.calls.length
        const { problem, spent } = yield* runJob(provider, { max_calls })
        assert.deepInclude(problem, { code: "call-limit-reached", retryable: false })
        assert.include(problem.detail, `limits.max_calls is ${max_calls}.`)
        assert.strictEqual(spent.calls, max_calls)
        assert.strictEqual(provider.calls.length - before, max_calls)
      }
    }),
  )

  it.effect("count the calls of concurrent questions, too", () =>
    Effect.gen(function* () {
      const upstream = new ScriptedUpstream([status("provider1"), status("provider2")])
      const answers = {
        propose: (_: unknown, index: number) => `${index}`,
        questions: { questions: ["a?", "b?", "c?"] },
        answer: "1",
      }
      const job = { upstream, options: { samples: 1 }, limits: { max_calls: 4 } }
      const { problem } = yield* Effect.flip(verifying(answers, job))
      assert.strictEqual(problem.code, "call-limit-reached")
      assert.strictEqual(upstream.requests.length, 4)
    }),
  )

  it.effect("refuse one concurrent question alone: the next attempt finds the answers to the others", () =>
    Effect.gen(function* () {
      const upstream = new ScriptedUpstream([status("provider1"), status("provider2")])
      const answers = {
        propose: (_: unknown, index: number) => `${index % 2}`,
        questions: { questions: ["a?", "b?", "c?"] },
        answer: "1",
        reconcile: { checks: [], right: 1 },
      }
      const owner = { kind: "key" as const, id: "key" }
      // The worst case of a call is a little more than 8,192 tokens.
      const budgeted = [{ owner, budgets: [{ per: "total" as const, max_tokens: 20_000 }] }]
      const steps = new Map<string, StoredStep>()
      const job = { upstream, steps, budgeted, options: { samples: 1 } }
      const { problem } = yield* Effect.flip(verifying(answers, job))
      assert.deepInclude(problem, { code: "budget-reserved", retryable: true })
      const isStored = (question: number) => steps.get(`answer-${question}`)?.value != null
      assert.deepStrictEqual([1, 2, 3].map(isStored), [true, true, false])
      const { result } = yield* verifying(answers, job)
      assert.strictEqual(result.checks.length, 3)
      assert.strictEqual(upstream.requests.filter((request) => kindOf(request) === "answer").length, 3)
    }),
  )
})

describe("the unused part of a limit", () => {
  const sent = ({ calls }: Scripted) => calls.map(({ request }) => [request.max_tokens, request.max_completion_tokens])

  it.effect("limits the output of every call: tokens directly, a cost by the price of the model", () =>
    Effect.gen(function* () {
      const provider = scripted("provider1")
      provider.always([role, text("42"), usage(10, 20), ...says().slice(1)])
      // The task is estimated at 9 tokens.
      yield* runJob(provider, { max_tokens: 200 })
      yield* runJob(provider, { max_cost_micro_usd: 1000 })
      assert.deepStrictEqual(sent(provider), [
        [191, undefined],
        [Math.floor((1000 - 9 * 10) / 40), undefined],
      ])
    }),
  )

  it.effect("is not sent if the context of the model is shorter", () =>
    Effect.gen(function* () {
      const provider = scripted("provider1")
      provider.always([fails("content-filtered")])
      const small = { targets: targets.map((target) => ({ ...target, max_context_tokens: 2000 })) }
      for (const max_tokens of [1_000_000, 2000, 1999]) yield* runJob(provider, { max_tokens }, small)
      assert.deepStrictEqual(sent(provider), [
        [undefined, undefined],
        [undefined, undefined],
        [1990, undefined],
      ])
    }),
  )

  it.effect("shrinks with every retry", () =>
    Effect.gen(function* () {
      const provider = scripted("provider1")
      provider.always([role, text("x".repeat(300)), usage(10, 1), fails("truncated")])
      yield* runJob(provider, { max_tokens: 300 })
      assert.deepStrictEqual(sent(provider), [
        [291, undefined],
        [181, undefined],
        [71, undefined],
      ])
      const paid = scripted("provider1")
      paid.always([role, text("x".repeat(300)), usage(10, 1), fails("truncated")])
      yield* runJob(paid, { max_cost_micro_usd: 10_000 })
      // Each is charged for 10 tokens in and 100 out.
      assert.deepStrictEqual(
        sent(paid),
        [10_000, 5900, 1800].map((left) => [Math.floor((left - 90) / 40), undefined]),
      )
    }),
  )

  it.effect("is sent in the other member, or capped, to a target that refuses it, for 10 minutes", () =>
    Effect.gen(function* () {
      const provider = scripted("provider1")
      const refused = fails("invalid-request", { detail: Redacted.make("max_tokens: not supported") })
      provider.script([refused], [role, text("42"), ...says().slice(1)])
      provider.always([fails("content-filtered")])
      yield* runJob(provider, { max_tokens: 2500 })
      assert.deepStrictEqual(sent(provider).slice(0, 2), [
        [2491, undefined],
        [undefined, 2491],
      ])
      assert.isUndefined(sent(provider)[2]?.[0])
      const other = scripted("provider1")
      other.script([refused], [refused], says("42"))
      other.always([fails("content-filtered")])
      yield* runJob(other, { max_tokens: 50_000 })
      assert.deepStrictEqual(sent(other).slice(0, 4), [
        [49_991, undefined],
        [undefined, 49_991],
        [4096, undefined],
        [4096, undefined],
      ])
    }),
  )

  it.effect("is sent capped to a target whose context it exceeds with the prompt", () =>
    Effect.gen(function* () {
      const provider = scripted("provider1")
      const detail = Redacted.make("input length and `max_tokens` exceed context limit: 1000 + 49991 > 50000")
      provider.script([fails("context-too-long", { detail })], [role, text("42"), ...says().slice(1)])
      provider.always([fails("content-filtered")])
      yield* runJob(provider, { max_tokens: 50_000 })
      const [first, second, next] = sent(provider)
      assert.deepStrictEqual(first, [49_991, undefined])
      assert.deepStrictEqual(second, [4096, undefined])
      assert.isAbove(next?.[0] ?? 0, 4096, "other prompts may be shorter")
      const short = scripted("provider1")
      short.always([fails("context-too-long")])
      yield* runJob(short, { max_tokens: 4000 })
      assert.deepStrictEqual(sent(short), [[3991, undefined]], "a short limit is not to blame")
    }),
  )
})
