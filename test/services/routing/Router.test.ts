import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Logger, Record, Redacted } from "effect"
import { TestClock } from "effect/testing"
import type { RoutingSettingsInput } from "../../../src/domain/routing/routing.ts"
import { RawObject } from "../../../src/domain/json/rawObject.ts"
import { CHAT_COMPLETIONS } from "../../../src/domain/upstream/apis.ts"
import { UNLIMITED } from "../../../src/services/routing/Spending.ts"
import { UpstreamError } from "../../../src/domain/upstream/upstream.ts"
import { Router } from "../../../src/services/routing/Router.ts"
import type { ApiCall } from "../../../src/services/routing/askApi.ts"
import { call, completion, drawing, prices, routing, settings, target } from "./RouterFixture.ts"
import { attempt, ScriptedUpstream, status } from "./ScriptedUpstream.ts"

const everyone = [status("provider1"), status("provider2"), status("provider3"), status("provider4")]

const test = (
  name: string,
  input: Partial<RoutingSettingsInput>,
  body: (upstream: ScriptedUpstream) => Effect.Effect<void, unknown, Router>,
) =>
  it.effect(name, () => {
    const upstream = new ScriptedUpstream(everyone)
    return Effect.provide(body(upstream), routing(upstream, settings(input)))
  })

describe("the choice of targets", () => {
  test(
    "all fitting targets are offered the request, in the order of the strategy",
    {
      strategy: "cost",
      targets: [
        target("provider1/large", { prices: prices(10, 1) }),
        target("provider2/dear-to-write", { prices: prices(1, 10) }),
      ],
    },
    (upstream) =>
      Effect.gen(function* () {
        const long = yield* call({ completion: { ...completion("x".repeat(30_000)), max_tokens: 10 } })
        yield* call({ completion: { ...completion("x"), max_tokens: 10_000 } })
        assert.deepStrictEqual(upstream.offered, [
          ["provider2/dear-to-write", "provider1/large"],
          ["provider1/large", "provider2/dear-to-write"],
        ])
        assert.deepStrictEqual(long.target, { provider: "provider2", model: "dear-to-write" })
        assert.strictEqual(upstream.requests[0]?.targets?.[0]?.contextTokens, 100_000)
      }),
  )

  test("deny is stronger than allow, and patterns match models, providers and both", {}, (upstream) =>
    Effect.gen(function* () {
      yield* call({ policy: { deny: ["provider1/*"] } })
      yield* call({ policy: { allow: ["small"] } })
      yield* call({ policy: { allow: ["provider1", "provider2/sm*l"] } })
      yield* call({ policy: { allow: ["*"], deny: ["lar*"] } })
      assert.deepStrictEqual(upstream.offered, [
        ["provider2/small"],
        ["provider2/small"],
        ["provider1/large", "provider2/small"],
        ["provider2/small"],
      ])
    }),
  )

  test("a policy without targets is an error, and no call is made", {}, (upstream) =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(call({ policy: { deny: ["*"] } }))
      assert.deepInclude(error, { _tag: "NoTarget", reason: "policy", code: "no-target", status: 422 })
      assert.strictEqual(upstream.requests.length, 0)
    }),
  )

  test("a role's filter holds for that role", { roles: { critic: { allow: ["provider2"] } } }, (upstream) =>
    Effect.gen(function* () {
      yield* call({ role: "critic" })
      yield* call({ role: "judge" })
      assert.deepStrictEqual(upstream.offered, [["provider2/small"], ["provider1/large", "provider2/small"]])
    }),
  )

  test(
    "a request that is too long for a target is not sent there",
    {
      targets: [
        target("provider1/large", { max_context_tokens: 2000, prices: prices(10, 40) }),
        target("provider2/long", { max_context_tokens: 20_000 }),
      ],
    },
    (upstream) =>
      Effect.gen(function* () {
        yield* call({ completion: { ...completion("x".repeat(9000)), max_tokens: 100 } })
        assert.deepStrictEqual(upstream.offered, [["provider2/long"]])
        const error = yield* Effect.flip(call({ completion: completion("x".repeat(90_000)) }))
        assert.deepInclude(error, { _tag: "NoTarget", reason: "context", code: "context-too-long" })
      }),
  )

  describe("a client's call", () => {
    const input = {
      names: { any: { allow: ["*"] } },
      targets: [
        target("provider1/large", { max_context_tokens: 2000, prices: prices(10, 40) }),
        target("provider2/long", { max_context_tokens: 20_000, prices: prices(10, 40) }),
        target("provider3/longest", { max_context_tokens: 25_000, prices: prices(10, 40) }),
      ],
    }
    const ask = (content: unknown, more: Partial<ApiCall> = {}) =>
      Router.use((router) => {
        const body = RawObject.of({ model: "any", messages: [{ role: "user", content }] })
        return router.answer({
          tenant: "acme",
          request: { api: CHAT_COMPLETIONS, headers: {}, model: "any", body },
          ...more,
        })
      })
    const within = (max_tokens: number) => ({
      budgeted: [{ owner: { kind: "key" as const, id: "k" }, budgets: [{ per: "total" as const, max_tokens }] }],
    })

    test("goes to the largest context if it is too long for all by its estimate", input, (upstream) =>
      Effect.gen(function* () {
        yield* ask("x".repeat(9000))
        yield* ask("x".repeat(90_000))
        assert.deepStrictEqual(upstream.offered, [["provider2/long", "provider3/longest"], ["provider3/longest"]])
      }),
    )

    const pdf = { type: "file", file: { file_data: `data:application/pdf;base64,${"A".repeat(90_000)}` } }
    for (const [title, content, max_context_tokens, limit] of [
      ["the expected answer, if its estimate leaves less", "x".repeat(22_400), 8192, 1000],
      ["the expected answer, if its estimate is longer than the context", "x".repeat(90_000), 25_000, 1000],
      ["the context without its estimate, if that leaves more", "x".repeat(22_400), 9192, 1706],
      ["the reservation, if a document leaves room for it", [pdf], 32_000, 8192],
    ] as const) {
      const alone = { ...input, targets: [target("provider1/large", { max_context_tokens, prices: prices(10, 40) })] }
      test(`has as its output limit under a budget ${title}`, alone, (upstream) =>
        Effect.gen(function* () {
          const limits: Array<unknown> = []
          upstream.script = ({ outputLimit }) => {
            limits.push(outputLimit?.({ provider: "provider1", model: "large" }))
            return {}
          }
          yield* ask(content, within(100_000))
          assert.deepStrictEqual(limits, [{ max_tokens: limit }])
        }),
      )
    }

    const data = "A".repeat(90_000)
    for (const part of [
      { type: "file", file: { file_data: `data:application/pdf;base64,${data}` } },
      { type: "input_file", file_data: data },
      { type: "input_audio", input_audio: { data, format: "wav" } },
      { type: "document", source: { type: "base64", media_type: "application/pdf", data } },
    ]) {
      test(`counts the ${part.type} in it as a picture for contexts, and by its bytes for budgets`, input, (upstream) =>
        Effect.gen(function* () {
          yield* ask([part])
          assert.deepStrictEqual(upstream.offered, [["provider2/long", "provider3/longest"]])
          const refused = yield* Effect.flip(ask([part], within(30_000)))
          assert.deepInclude(refused, { _tag: "BudgetExhausted" })
        }),
      )
    }
  })

  test(
    "a request and its answer together may fill a target's context, and no more",
    {
      targets: [
        target("provider1/large", { max_context_tokens: 100, prices: prices(10, 40) }),
        target("provider2/long", { max_context_tokens: 101 }),
      ],
    },
    (upstream) =>
      Effect.gen(function* () {
        // Estimated as 4 tokens for the message and one for its text.
        for (const max_tokens of [95, 96]) yield* call({ completion: { ...completion("abc"), max_tokens } })
        assert.deepStrictEqual(upstream.offered, [["provider1/large", "provider2/long"], ["provider2/long"]])
        const error = yield* Effect.flip(call({ completion: { ...completion("abc"), max_completion_tokens: 97 } }))
        assert.deepInclude(error, { _tag: "NoTarget", reason: "context" })
      }),
  )

  test(
    "a cost limit excludes targets without a price",
    { targets: [target("provider1/large", { prices: prices(10, 40) }), target("provider2/unpriced")] },
    (upstream) =>
      Effect.gen(function* () {
        yield* call({ allowance: { ...UNLIMITED, cost: 1_000_000 }, policy: { allow: ["*"] } })
        assert.deepStrictEqual(upstream.offered, [["provider1/large"]])
        const error = yield* Effect.flip(
          call({ allowance: { ...UNLIMITED, cost: 1_000_000 }, policy: { deny: ["provider1"] } }),
        )
        assert.deepInclude(error, { _tag: "NoTarget", reason: "price" })
      }),
  )

  test(
    "a target's own time for its first token is passed on, and no other's is",
    {
      targets: [target("provider1/large", { first_token_ms: 9000, prices: prices(10, 40) }), target("provider2/small")],
    },
    (upstream) =>
      Effect.gen(function* () {
        yield* call()
        assert.sameDeepMembers(
          upstream.requests[0]?.targets?.map(({ firstTokenMs, model }) => [model, firstTokenMs]) ?? [],
          [
            ["large", 9000],
            ["small", undefined],
          ],
        )
      }),
  )

  test("open circuits are skipped, of a target or of a whole provider", {}, (upstream) =>
    Effect.gen(function* () {
      const open = (model: string) => ({
        ...status("provider1"),
        targets: [{ model, circuit: "open" as const, lastSuccess: status("provider1").lastSuccess }],
      })
      upstream.statuses = [open("large"), status("provider2")]
      yield* call()
      upstream.statuses = [open("another"), status("provider2")]
      yield* call()
      upstream.statuses = [status("provider1", "default", "open"), status("provider2")]
      yield* call()
      upstream.statuses = [status("provider1", "default", "half-open"), status("provider2")]
      yield* call()
      upstream.statuses = [status("provider1", "default", "open"), status("provider2", "default", "open")]
      yield* call()
      assert.deepStrictEqual(upstream.offered, [
        ["provider2/small"],
        ["provider1/large", "provider2/small"],
        ["provider2/small"],
        ["provider1/large", "provider2/small"],
        ["provider1/large", "provider2/small"],
      ])
    }),
  )

  test("a provider that was removed after the configuration was stored is not asked", {}, (upstream) =>
    Effect.gen(function* () {
      upstream.statuses = [status("provider2")]
      yield* call()
      assert.deepStrictEqual(upstream.offered, [["provider2/small"]])
      upstream.statuses = [status("echo")]
      assert.deepInclude(yield* Effect.flip(call()), { _tag: "NoTarget", reason: "configured" })
    }),
  )
})

describe("latency", () => {
  /** Measures provider1/large as the fastest. Nobody is known at first: each target comes first until it is measured. */
  const measured = (upstream: ScriptedUpstream) =>
    Effect.gen(function* () {
      upstream.script = ({ targets }) => ({ ttft: targets?.[0]?.provider === "provider1" ? 100 : 500 })
      for (let i = 0; i < 7; i++) yield* call()
      assert.strictEqual(upstream.offered.at(-1)?.[0], "provider1/large")
    })

  for (const outcome of ["timeout", "unauthorized"] as const) {
    test(`learns from the calls it makes, and from failures (${outcome})`, { strategy: "latency" }, (upstream) =>
      Effect.gen(function* () {
        upstream.script = (request) =>
          request.targets?.[0]?.provider === "provider1" ? { failing: [{ outcome }], ttft: 500 } : { ttft: 500 }
        // Without measurements, the first target of the configuration fails three times, and the other one serves.
        for (let i = 0; i < 3; i++) yield* call()
        for (let i = 0; i < 4; i++) yield* call()
        assert.deepStrictEqual(
          upstream.offered.map(([first]) => first),
          ["provider1/large", "provider1/large", "provider1/large", ...Array(4).fill("provider2/small")],
        )
      }).pipe(drawing(0.5)),
    )
  }

  const OF_REQUEST = {
    "invalid-request": "invalid-request",
    malformed: "invalid-request",
    oversized: "invalid-request",
    unsupported: "unsupported",
    "context-too-long": "context-too-long",
    "content-filtered": "content-filtered",
  } as const

  for (const [outcome, code] of Record.toEntries(OF_REQUEST)) {
    test(
      `16 requests at fault themselves (${outcome}) leave the order unchanged`,
      { strategy: "latency" },
      (upstream) =>
        Effect.gen(function* () {
          yield* measured(upstream)
          const attempts = [attempt({ provider: "provider1", model: "large" }, { outcome })]
          upstream.script = () => new UpstreamError({ code, attempts })
          for (let i = 0; i < 16; i++) yield* Effect.flip(call())
          upstream.script = () => ({})
          yield* call()
          assert.strictEqual(upstream.offered.at(-1)?.[0], "provider1/large")
        }).pipe(drawing(0.5)),
    )
  }

  test("3 failures among 100 whole answers leave the order unchanged", { strategy: "latency" }, (upstream) =>
    Effect.gen(function* () {
      const request = { api: CHAT_COMPLETIONS, headers: {}, model: undefined, body: RawObject.of({}) } as const
      const whole = Router.use((router) => router.answer({ tenant: "acme", request }))
      upstream.script = (_, index) => ({ failing: [20, 50, 80].includes(index) ? [{ outcome: "unavailable" }] : [] })
      for (let i = 0; i < 100; i++) yield* whole
      yield* call()
      assert.deepStrictEqual(new Set(upstream.offered.map(([first]) => first)), new Set(["provider1/large"]))
    }).pipe(drawing(0.5)),
  )
})

describe("latency of a call that its caller gave up", () => {
  test("says nothing about the target", { strategy: "latency" }, (upstream) =>
    Effect.gen(function* () {
      upstream.script = () => ({ hangs: true })
      for (let i = 1; i <= 3; i++) {
        const fiber = yield* Effect.forkChild(call(), { startImmediately: true })
        while (upstream.requests.length < i) yield* Effect.yieldNow
        yield* Fiber.interrupt(fiber)
      }
      upstream.script = () => ({})
      yield* call()
      assert.strictEqual(upstream.offered.at(-1)?.[0], "provider1/large")
    }),
  )
})

describe("cascade", () => {
  const cascade: Partial<RoutingSettingsInput> = {
    strategy: "cascade",
    cascade: { escalate_below: 0.6 },
    targets: [
      target("provider1/large", { prices: prices(10, 40) }),
      target("provider2/small", { prices: prices(1, 4) }),
      target("provider3/middle", { prices: prices(3, 12) }),
    ],
  }

  test("begins with the cheapest and skips one more at every tier", cascade, (upstream) =>
    Effect.gen(function* () {
      const thresholds = []
      for (const tier of [0, 1, 2, 7]) thresholds.push((yield* call({ tier })).escalateBelow)
      assert.deepStrictEqual(upstream.offered, [
        ["provider2/small", "provider3/middle", "provider1/large"],
        ["provider3/middle", "provider1/large"],
        ["provider1/large"],
        ["provider1/large"],
      ])
      assert.deepStrictEqual(thresholds, [0.6, 0.6, null, null])
    }),
  )

  test("does not apply to other strategies", { cascade: { escalate_below: 0.6 } }, (upstream) =>
    Effect.gen(function* () {
      assert.isNull((yield* call({ tier: 1 })).escalateBelow)
      assert.deepStrictEqual(upstream.offered, [["provider1/large", "provider2/small"]])
    }),
  )
})

describe("independence", () => {
  const proposer = { provider: "provider1", model: "large" } as const

  test(
    "a judge differs in provider and model if possible, else in one of them",
    {
      targets: [
        target("provider1/large", { prices: prices(10, 40) }),
        target("provider2/large"),
        target("provider1/small"),
        target("provider3/other"),
      ],
    },
    (upstream) =>
      Effect.gen(function* () {
        const routed = yield* call({ independentOf: [proposer] })
        assert.deepStrictEqual(upstream.offered, [
          ["provider3/other", "provider1/small", "provider2/large", "provider1/large"],
        ])
        assert.isTrue(routed.independent)
      }),
  )

  test(
    "a judge differs from all authors of the judged answers",
    {
      targets: [
        target("provider1/large", { prices: prices(10, 40) }),
        target("provider2/small"),
        target("provider3/other"),
      ],
    },
    (upstream) =>
      Effect.gen(function* () {
        const others = [proposer, { provider: "provider2", model: "small" }] as const
        yield* call({ independentOf: others })
        yield* call({ independentOf: others.toReversed() })
        const order = ["provider3/other", "provider1/large", "provider2/small"]
        assert.deepStrictEqual(upstream.offered, [order, order])
        assert.isFalse((yield* call({ independentOf: others, policy: { deny: ["other"] } })).independent)
      }),
  )

  test("a judge of its own answer is not independent", {}, () =>
    Effect.gen(function* () {
      assert.isFalse((yield* call({ independentOf: [proposer], policy: { allow: ["provider1"] } })).independent)
      assert.isTrue((yield* call({ policy: { allow: ["provider1"] } })).independent)
    }),
  )
})

describe("a refused response_format", () => {
  const json = { ...completion(), response_format: { type: "json_object" } as const }
  const attempts = [attempt({ provider: "provider1", model: "large" }, { outcome: "invalid-request" })]

  /** Refuses a request with a `response_format`, in these words. */
  const refusing = (upstream: ScriptedUpstream, detail: string) => {
    upstream.script = ({ completion }) =>
      completion.response_format === undefined
        ? { text: "ok" }
        : new UpstreamError({ code: "invalid-request", attempts, detail: Redacted.make(detail) })
  }
  const formsOf = (upstream: ScriptedUpstream) =>
    upstream.requests.splice(0).map(({ completion }) => completion.response_format?.type ?? "text")

  test("is left out for 10 minutes if the error names it, with a log line", {}, (upstream) =>
    Effect.gen(function* () {
      const lines: Array<string> = []
      const logger = Logger.make((options) => void lines.push(Logger.formatJson.log(options)))
      refusing(upstream, "json_object is not supported here")
      yield* Effect.all([call({ completion: json }), call({ completion: json })]).pipe(
        Effect.provide(Logger.layer([logger])),
      )
      assert.deepStrictEqual(formsOf(upstream), ["json_object", "text", "text"])
      assert.lengthOf(lines, 1)
      for (const said of ["WARN", "provider1", "large", "response_format"]) assert.include(lines[0], said)
      yield* TestClock.adjust("10 minutes")
      yield* call({ completion: json })
      assert.deepStrictEqual(formsOf(upstream), ["json_object", "text"])
    }),
  )

  test("is left out once if the error does not name it", {}, (upstream) =>
    Effect.gen(function* () {
      refusing(upstream, "the picture cannot be read")
      yield* call({ completion: json })
      yield* call({ completion: json })
      assert.deepStrictEqual(formsOf(upstream), ["json_object", "text", "json_object", "text"])
    }),
  )
})

describe("an answer", () => {
  test("is recognized as text, refusal or cut-off answer", {}, (upstream) =>
    Effect.gen(function* () {
      upstream.script = (_, index) =>
        [
          { text: "fine" },
          { refusal: "I will not", finishReason: "stop" },
          { text: "half", finishReason: "content_filter" },
          { text: "too lo", finishReason: "length" },
        ][index] ?? {}
      const answers = yield* Effect.all([call(), call(), call(), call()])
      assert.deepStrictEqual(
        answers.map(({ cut, refused, text }) => [text, refused, cut]),
        [
          ["fine", false, false],
          ["I will not", true, false],
          ["half", true, false],
          ["too lo", false, true],
        ],
      )
    }),
  )
})
