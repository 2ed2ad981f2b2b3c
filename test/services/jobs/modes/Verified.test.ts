import { createHash } from "node:crypto"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { prices, target } from "../../routing/RouterFixture.ts"
import { ScriptedUpstream, status } from "../../routing/ScriptedUpstream.ts"
import { kindOf, verifying } from "./ModeFixture.ts"

const digest = (text: string) => createHash("sha256").update(text).digest("hex")
const reconcile = (...consistent: ReadonlyArray<boolean | null>) => ({
  checks: consistent.map((consistent, i) => ({ question: i + 1, consistent, note: `note ${i + 1}` })),
})
const compare = (...agrees: ReadonlyArray<boolean>) => ({
  samples: agrees.map((agrees, i) => ({ sample: i + 1, agrees })),
})
/** The first is the draft, the others are samples. */
const proposals =
  (...texts: ReadonlyArray<string>) =>
  (_: unknown, index: number) =>
    texts[Math.min(index, texts.length - 1)] ?? ""

const good = {
  propose: "42",
  questions: { questions: ["What is 6 × 6?", "What is 36 + 6?"] },
  answer: proposals("36", "42"),
  reconcile: reconcile(true, true),
}

describe("verdicts", () => {
  it.effect("verified: samples agree and every independent answer fits", () =>
    Effect.gen(function* () {
      const { result, steps } = yield* verifying({
        ...good,
        propose: proposals("It is 42.", "it  is 42.", "It is 42."),
      })
      assert.deepStrictEqual(result, {
        answer: "It is 42.",
        verdict: "verified",
        agreement: 1,
        checks: [
          { question: "What is 6 × 6?", independent_answer: "36", consistent: true, note: "note 1" },
          { question: "What is 36 + 6?", independent_answer: "42", consistent: true, note: "note 2" },
        ],
        samples: ["it  is 42.", "It is 42.", "It is 42."].map((text) => ({
          answer_digest: digest(text),
          agrees: true,
        })),
      })
      assert.deepStrictEqual([...steps.keys()].sort(), [
        "answer-1",
        "answer-2",
        "draft",
        "questions",
        "reconcile",
        "sample-1",
        "sample-2",
        "sample-3",
      ])
    }),
  )

  it.effect("refuted: an independent answer contradicts, and the answer is corrected", () =>
    Effect.gen(function* () {
      const { result, upstream } = yield* verifying({
        ...good,
        propose: "41",
        reconcile: reconcile(true, false),
        correct: "42",
      })
      assert.deepInclude(result, { verdict: "refuted", answer: "42", agreement: 1 })
      assert.include(result.note, "not verified again")
      const correction = JSON.stringify(upstream.requests.at(-1)?.completion.messages)
      assert.include(correction, "note 2")
      assert.notInclude(correction, "note 1")
    }),
  )

  it.effect.each<readonly [string, unknown]>([
    ["is refused", { refusal: "I will not." }],
    ["is empty", " \n"],
  ])("refuted: the draft stays when its correction %s, and the result says so", ([, correct]) =>
    Effect.gen(function* () {
      const { result } = yield* verifying({ ...good, propose: "41", reconcile: reconcile(true, false), correct })
      assert.deepInclude(result, { verdict: "refuted", answer: "41", agreement: 1 })
      assert.strictEqual(
        result.note,
        "The draft was refuted and its model gave no correction; the answer is the draft.",
      )
    }),
  )

  it.effect("inconclusive: a check that nobody can decide, or none at all", () =>
    Effect.gen(function* () {
      const undecided = yield* verifying({ ...good, reconcile: reconcile(true, null) })
      assert.strictEqual(undecided.result.verdict, "inconclusive")
      const forgotten = yield* verifying({ ...good, reconcile: reconcile(true) })
      assert.strictEqual(forgotten.result.verdict, "inconclusive")
      assert.isNull(forgotten.result.checks[1]?.consistent)
    }),
  )

  it.effect("inconclusive: checks fit, but most samples say something else", () =>
    Effect.gen(function* () {
      const { result } = yield* verifying({
        ...good,
        propose: proposals("42", "42", "41", "40"),
        compare: compare(false, false),
      })
      assert.strictEqual(result.verdict, "inconclusive")
      assert.closeTo(result.agreement, 1 / 3, 1e-9)
    }),
  )
})

describe("samples", () => {
  it.effect("are three by default, as many as asked for, and see what the draft saw", () =>
    Effect.gen(function* () {
      const { result, upstream } = yield* verifying(good, { options: { samples: 5 }, instructions: "Be exact." })
      assert.strictEqual(result.samples.length, 5)
      const proposed = upstream.requests.filter((request) => kindOf(request) === "propose")
      assert.strictEqual(proposed.length, 6)
      for (const { completion } of proposed) {
        assert.deepStrictEqual(completion.messages, [
          { role: "system", content: "Be exact." },
          { role: "user", content: "What is 6 × 7?" },
        ])
      }
    }),
  )

  it.effect("are compared by a judge only where their words differ", () =>
    Effect.gen(function* () {
      const { result, upstream } = yield* verifying({
        ...good,
        propose: proposals("42", "42", "forty-two", "41"),
        compare: compare(true, false),
      })
      assert.deepStrictEqual(
        result.samples.map(({ agrees }) => agrees),
        [true, true, false],
      )
      const compared = upstream.requests.find((request) => kindOf(request) === "compare")
      const asked = JSON.stringify(compared?.completion.messages.at(-1))
      assert.include(asked, "1. forty-two\\n2. 41")
      assert.deepInclude(compared?.targets?.[0], { provider: "provider2" })
      assert.strictEqual(result.verdict, "verified")
    }),
  )

  it.effect("that were refused, or that nobody could compare, are no agreement", () =>
    Effect.gen(function* () {
      const refused = yield* verifying({
        ...good,
        propose: (_: unknown, index: number) => (index === 2 ? { refusal: "no" } : { text: "42" }),
      })
      assert.deepStrictEqual(
        refused.result.samples.map(({ agrees }) => agrees),
        [true, null, true],
      )
      assert.strictEqual(refused.result.verdict, "inconclusive")
      const uncompared = yield* verifying({
        ...good,
        propose: proposals("42", "41"),
        compare: "They agree.",
        "compare-repair": "They do.",
      })
      assert.deepInclude(uncompared.result, { agreement: 0, verdict: "inconclusive" })
    }),
  )
})

describe("independent answers", () => {
  it.effect("are given by someone else where possible, one question each, without a word of the draft", () =>
    Effect.gen(function* () {
      const { upstream } = yield* verifying({ ...good, propose: "SECRET-DRAFT" })
      const answering = upstream.requests.filter((request) => kindOf(request) === "answer")
      assert.strictEqual(answering.length, 2)
      for (const { completion, targets } of answering) {
        assert.notInclude(JSON.stringify(completion.messages), "SECRET-DRAFT")
        assert.strictEqual(targets?.[0]?.provider, "provider2")
      }
      const texts = answering.map(({ completion }) => JSON.stringify(completion.messages))
      assert.include(texts[0], "What is 6 × 6?")
      assert.notInclude(texts[0], "What is 36 + 6?")
    }),
  )
})

describe("what cannot be decoded", () => {
  it.effect("ends the verification where it is, inconclusive", () =>
    Effect.gen(function* () {
      const silent = yield* verifying({ ...good, questions: "None.", "questions-repair": { questions: [] } })
      assert.deepInclude(silent.result, { verdict: "inconclusive", answer: "42", checks: [] })
      assert.isFalse(silent.steps.has("reconcile"))
      const unreconciled = yield* verifying({ ...good, reconcile: "All fine.", "reconcile-repair": "All fine!" })
      assert.strictEqual(unreconciled.result.verdict, "inconclusive")
      assert.deepStrictEqual(
        unreconciled.result.checks.map(({ consistent }) => consistent),
        [null, null],
      )
    }),
  )

  it.effect("runs on echo alone, which agrees with nothing, and says so", () =>
    Effect.gen(function* () {
      const upstream = new ScriptedUpstream([status("echo", "echo-1")])
      const { result } = yield* verifying(
        { propose: "What is 6 × 7?", questions: JSON.stringify(good.questions) },
        { upstream },
        { targets: [target("echo/echo-1")], baseline: { provider: "echo", model: "echo-1" } },
      )
      assert.deepInclude(result, { verdict: "inconclusive", agreement: 0, answer: "What is 6 × 7?" })
      assert.include(result.note, "echo")
    }),
  )
})

describe("cascade", () => {
  const cascade = {
    strategy: "cascade" as const,
    cascade: { escalate_below: 0.6 },
    targets: [
      target("provider1/large", { prices: prices(10, 40) }),
      target("provider2/small", { prices: prices(1, 4) }),
    ],
  }

  it.effect("drafts again one target up when samples disagree, and asks questions once", () =>
    Effect.gen(function* () {
      const { result, steps, upstream } = yield* verifying(
        { ...good, propose: proposals("40", "41", "43", "44", "42"), compare: compare(false, false, false) },
        {},
        cascade,
      )
      assert.deepInclude(result, { answer: "42", verdict: "verified", agreement: 1 })
      assert.include(result.note, "from target 2")
      const drafts = upstream.requests.flatMap((request) =>
        kindOf(request) === "propose" ? [request.targets?.[0]?.model] : [],
      )
      assert.deepStrictEqual(drafts, [...Array(4).fill("small"), ...Array(4).fill("large")])
      assert.isTrue(steps.has("draft-tier-2"))
      assert.strictEqual(upstream.requests.filter((request) => kindOf(request) === "questions").length, 1)
    }),
  )

  it.effect("stays where samples agree", () =>
    Effect.gen(function* () {
      const { steps } = yield* verifying(good, {}, cascade)
      assert.isFalse(steps.has("draft-tier-2"))
    }),
  )
})
