import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Redacted } from "effect"
import { UpstreamError } from "../../../../src/domain/upstream/upstream.ts"
import { type JobFailure, JobProgram } from "../../../../src/services/jobs/JobProgram.ts"
import * as Modes from "../../../../src/services/jobs/modes/ModePrograms.ts"
import { Ledger } from "../../../../src/services/routing/Ledger.ts"
import { Router } from "../../../../src/services/routing/Router.ts"
import { RoutingConfig } from "../../../../src/services/routing/RoutingConfig.ts"
import { Upstream } from "../../../../src/services/upstream/Upstream.ts"
import { sqlite } from "../../../support/databases.ts"
import { prices, target } from "../../routing/RouterFixture.ts"
import { ScriptedUpstream, status } from "../../routing/ScriptedUpstream.ts"
import { contextOf, debating, type StoredStep, verifying } from "./ModeFixture.ts"

const critique = { resolved: [], objections: [] }
const judge = { verdict: "sound", confidence: 0.9, resolved: [] }
const debate = { propose: "42", critique, judge }

const problemOf = <A, R>(effect: Effect.Effect<A, JobFailure, R>) =>
  Effect.map(Effect.flip(effect), ({ problem }) => problem)

describe("limits", () => {
  it.effect("end a job with its spent cost once its budget is used up", () =>
    Effect.gen(function* () {
      const upstream = new ScriptedUpstream([status("provider1"), status("provider2")])
      // 10 × 10 + 5 × 40 = 300 micro-USD for the proposal.
      const problem = yield* problemOf(debating(debate, { upstream, limits: { max_cost_micro_usd: 300 } }))
      assert.deepInclude(problem, { code: "cost-limit-reached", retryable: false })
      assert.strictEqual(
        problem.detail,
        "limits.max_cost_micro_usd is 300. Spent so far: 15 tokens in 1 calls, 300 micro-USD.",
      )
      assert.strictEqual(upstream.requests.length, 1)
      yield* debating(debate, { limits: { max_cost_micro_usd: 10_000 } })
    }),
  )
})

describe("failures", () => {
  const failing = (error: UpstreamError) => problemOf(debating({ ...debate, propose: () => error }))

  it.effect("of the upstream keep their code, and are retried if they are retryable", () =>
    Effect.gen(function* () {
      const limited = debating({
        ...debate,
        propose: () => new UpstreamError({ code: "rate-limited", retryAfterMs: 5000 }),
      })
      const failure = yield* Effect.flip(limited)
      assert.deepInclude(failure.problem, { code: "rate-limited", status: 429, retryable: true })
      assert.strictEqual(failure.retryAfterMs, 5000)
      assert.isFalse((yield* failing(new UpstreamError({ code: "upstream-unauthorized" }))).retryable)
      assert.isFalse((yield* failing(new UpstreamError({ code: "content-filtered" }))).retryable)
    }),
  )

  it.effect("quote a provider on the task, but not on this product's account", () =>
    Effect.gen(function* () {
      const detail = Redacted.make("key sk-123 is wrong")
      const told = yield* failing(new UpstreamError({ code: "invalid-request", detail }))
      assert.strictEqual(told.detail, "key sk-123 is wrong")
      const hidden = yield* failing(new UpstreamError({ code: "upstream-unauthorized", detail }))
      assert.notInclude(JSON.stringify(hidden), "sk-123")
    }),
  )

  it.effect("include a refused task, an empty answer and a policy without targets", () =>
    Effect.gen(function* () {
      const refused = yield* problemOf(debating({ ...debate, propose: () => ({ refusal: "I will not." }) }))
      assert.deepInclude(refused, { code: "content-filtered", detail: "I will not.", retryable: false })
      const empty = yield* problemOf(debating({ ...debate, propose: "  \n" }))
      assert.deepInclude(empty, { code: "upstream-protocol", retryable: true })
      const denied = yield* problemOf(debating(debate, { policy: { deny: ["*"] } }))
      assert.deepInclude(denied, { code: "no-target", retryable: false })
    }),
  )
})

describe("steps", () => {
  it.effect("are not repeated after they finished when the job resumes", () =>
    Effect.gen(function* () {
      const steps = new Map<string, StoredStep>()
      const broken = { ...debate, judge: () => new UpstreamError({ code: "overloaded" }) }
      yield* Effect.flip(debating(broken, { steps }))
      assert.deepStrictEqual(
        [...steps].map(([name, { value }]) => [name, value !== null]),
        [
          ["propose", true],
          ["critique-1", true],
          ["judge", false],
        ],
      )
      const { result, upstream } = yield* debating(debate, { steps })
      assert.strictEqual(result.verdict, "upheld")
      assert.strictEqual(upstream.requests.length, 1)
    }),
  )
})

describe("a request to a model", () => {
  it.effect("has a schema that providers accept, and the whole conversation of the task", () =>
    Effect.gen(function* () {
      const image = { type: "image_url" as const, image_url: { url: "https://example.com/a.png" } }
      const task = [
        { role: "user" as const, content: [image] },
        { role: "assistant" as const, content: "A cat?" },
        { role: "user" as const, content: "What else?" },
      ]
      const { upstream } = yield* debating(debate, { task, instructions: "Be kind." })
      const [proposed, criticised] = upstream.requests
      assert.deepStrictEqual(proposed?.completion.messages, [{ role: "system", content: "Be kind." }, ...task])
      const [system, document] = criticised?.completion.messages ?? []
      assert.strictEqual(criticised?.completion.messages.length, 2)
      assert.strictEqual(document?.role, "user")
      const [text, ...pictures] = Array.isArray(document?.content) ? document.content : []
      assert.deepStrictEqual(pictures, [image])
      assert.match(
        JSON.stringify(text),
        /task: user.*a picture.*task: assistant.*A cat\?.*task: user.*What else\?.*answer/,
      )
      // A model that does not know `response_format` finds the shape in its instructions.
      assert.include(JSON.stringify(system), "critical: the answer is wrong")
      const format = criticised?.completion.response_format
      if (format?.type !== "json_schema") return assert.fail("no schema")
      assert.strictEqual(format.json_schema.strict, true)
      const schema = JSON.stringify(format.json_schema.schema)
      assert.notMatch(schema, /minimum|maximum|minLength|maxItems|\$ref/)
      assert.match(schema, /"additionalProperties":false/)
    }),
  )

  it.effect("keeps texts of users and models inside the quoted document", () =>
    Effect.gen(function* () {
      const task = [
        { role: "system" as const, content: "CANARY-SYSTEM" },
        { role: "user" as const, content: "CANARY-TASK" },
      ]
      const { upstream } = yield* debating(
        { ...debate, propose: "CANARY-ANSWER" },
        { task, instructions: "CANARY-ROLE" },
      )
      for (const { completion } of upstream.requests.slice(1)) {
        const [system, user, ...others] = completion.messages
        assert.deepStrictEqual([system?.role, user?.role, others.length], ["system", "user", 0])
        assert.notInclude(JSON.stringify(system), "CANARY")
        const text = String(user?.content)
        const fence = /BEGIN ([0-9a-f]{32})/.exec(text)?.[1] ?? assert.fail("no fence")
        const outside = [
          text.slice(0, text.indexOf(`\nBEGIN ${fence}\n`)),
          text.slice(text.lastIndexOf(`\nEND ${fence}`)),
        ].join()
        assert.notInclude(outside, "CANARY")
        assert.include(text, "CANARY-SYSTEM")
      }
    }),
  )
})

describe("the built-in echo", () => {
  const layers = Modes.layer.pipe(
    Layer.provideMerge(Router.layer),
    Layer.provideMerge(Layer.mergeAll(RoutingConfig.layer(), Ledger.layer)),
    Layer.provideMerge(Layer.merge(Upstream.layerEcho, sqlite.layer)),
  )
  it.effect("runs both modes without any configuration, with the verdict `inconclusive`", () =>
    Effect.gen(function* () {
      const program = yield* JobProgram
      const task = JSON.stringify({ ...judge, ...critique, questions: ["What?"], checks: [], why: "long ".repeat(200) })
      for (const mode of ["adversarial", "verified"] as const) {
        const limits = { max_cost_micro_usd: 1, max_tokens: 1_000_000 }
        const result = yield* program.run(contextOf({ mode, task, limits }, new Map()))
        assert.deepInclude(result, { verdict: "inconclusive", answer: task })
        assert.include(result.note, "echo")
      }
    }).pipe(Effect.provide(layers)),
  )
})

describe("the ledger", () => {
  it.effect("has every call of a job under its mode, and no baseline for calls that only a cascade made", () =>
    Effect.gen(function* () {
      const { rows } = yield* verifying(
        {
          propose: (_: unknown, index: number) => ["forty-one", "forty"][index] ?? "42",
          compare: { same_as: null },
        },
        { options: { samples: 1 } },
        {
          strategy: "cascade",
          cascade: { escalate_below: 0.5 },
          targets: [
            target("provider1/large", { prices: prices(10, 40) }),
            target("provider2/small", { prices: prices(1, 4) }),
          ],
        },
      )
      assert.isTrue(rows.every((row) => row["mode"] === "verified" && row["tenant"] === "acme"))
      const figures = rows.map((row) => [row["role"], row["model"], row["cost"], row["baseline"]])
      assert.deepStrictEqual(figures, [
        ["proposer", "small", 30, 300],
        ["proposer", "large", 300, 300],
        ["judge", "small", 30, 300],
        // Escalated: draft and sample again, and nothing more, because they say the same.
        ["proposer", "large", 300, 0],
        ["proposer", "small", 30, 0],
      ])
    }),
  )
})
