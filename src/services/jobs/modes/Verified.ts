/**
 * The verified mode: draft → samples → questions → answers → reconcile → final answer. Agreement with independent
 * samples is self-consistency (Wang et al. 2022, arXiv:2203.11171), used here as a measure and not as a vote; the
 * questions are factored chain of verification (Dhuliawala et al. 2023, arXiv:2309.11495): whoever answers them has not
 * seen the draft and cannot repeat its errors.
 */
import { createHash } from "node:crypto"
import { Effect } from "effect"
import { Comparison, Questions, Reconciliation } from "../../../domain/modes.ts"
import type { Check, Sample, VerifiedResult } from "../../../domain/verdict.ts"
import type { JobContext } from "../JobProgram.ts"
import { type Asking, isEcho, type Said } from "./Asking.ts"
import { atTier, escalated, notesOf } from "./Cascade.ts"
import { fill, numbered, persona, prompts } from "./prompts.ts"

const DEFAULT_SAMPLES = 3
/** The part of the samples that has to agree with a draft for it to count as verified. */
const MAJORITY = 0.5

export const verified = Effect.fn("modes.verified")(function* (context: JobContext, asking: Asking) {
  const system = persona(context.agent)
  const { agreement, draft, samples, tier } = (yield* escalated((tier) => drafted(context, asking, tier))).result
  const judges = { independentOf: [draft.target] }

  const questions = yield* asking.decide("questions", Questions, {
    role: "critic",
    system: prompts.questioner,
    instruction: fill(prompts.questions, { draft: draft.text }),
    ...judges,
  })
  const asked = questions.value?.questions ?? []
  const answers = yield* Effect.forEach(
    asked,
    (question, i) =>
      asking.say(`answer-${i + 1}`, {
        role: "critic",
        system: prompts.verifier,
        instruction: fill(prompts.verification, { question }),
        optional: true,
        ...judges,
      }),
    { concurrency: "unbounded" },
  )

  const reconciled =
    asked.length === 0
      ? undefined
      : yield* asking.decide("reconcile", Reconciliation, {
          role: "judge",
          system: prompts.judge,
          instruction: fill(prompts.reconciliation, {
            draft: draft.text,
            answers: numbered(asked.map((question, i) => `${question}\n   ${answers[i]?.text ?? ""}`)),
          }),
          ...judges,
        })
  const checks = asked.map((question, i): Check => {
    const found = reconciled?.value?.checks.find((check) => check.question === i + 1)
    return {
      question,
      independent_answer: answers[i]?.text ?? "",
      consistent: found?.consistent ?? null,
      note: found?.note ?? "Not decided.",
    }
  })

  const verdict = verdictOf(checks, samples, agreement)
  const corrected =
    verdict === "refuted"
      ? yield* asking.say("correct", {
          role: "proposer",
          system,
          instruction: fill(prompts.correction, { draft: draft.text, findings: findingsOf(checks) }),
          tier,
          // What was found out is worth more than a failed job.
          optional: true,
        })
      : undefined

  const correction = corrected === undefined || saysNothing(corrected) ? undefined : corrected
  const final = correction ?? draft
  const others = [questions.said, ...answers, ...(reconciled === undefined ? [] : [reconciled.said])]
  const result: VerifiedResult = {
    answer: final.text,
    verdict,
    agreement,
    checks,
    samples,
    ...notesOf({
      tier,
      cut: final.cut,
      echo: others.some(isEcho),
      ...(verdict === "refuted" && { refuted: correction === undefined ? "draft" : "correction" }),
    }),
  }
  return result
})

/** A draft, and how far independent answers to the same task agree with it. */
const drafted = Effect.fnUntraced(function* (context: JobContext, asking: Asking, tier: number) {
  const question = { role: "proposer", system: persona(context.agent), tier, extra: tier > 0 } as const
  const draft = yield* asking.say(atTier(tier, "draft"), question)
  const said = yield* Effect.forEach(
    Array.from({ length: context.options.samples ?? DEFAULT_SAMPLES }),
    (_, i) => asking.say(atTier(tier, `sample-${i + 1}`), { ...question, optional: true }),
    { concurrency: "unbounded" },
  )
  const agrees = yield* compared(asking, draft, said, tier)
  const samples = said.map((sample, i): Sample => ({
    answer_digest: createHash("sha256").update(sample.text).digest("hex"),
    agrees: agrees[i] ?? null,
  }))
  const agreement = samples.filter((sample) => sample.agrees === true).length / samples.length
  return { result: { draft, samples, agreement, tier }, measure: agreement, escalateBelow: draft.escalateBelow }
})

/** Whether each sample agrees with the draft. The same words agree without asking; a refusal and an echo say nothing. */
const compared = Effect.fnUntraced(function* (asking: Asking, draft: Said, said: ReadonlyArray<Said>, tier: number) {
  const certain = said.map((sample) => {
    if (saysNothing(sample) || isEcho(sample)) return null
    return plain(sample.text) === plain(draft.text) ? true : undefined
  })
  const open = said.flatMap((_, i) => (certain[i] === undefined ? [i] : []))
  if (open.length === 0) return certain
  const comparison = yield* asking.decide(atTier(tier, "compare"), Comparison, {
    role: "judge",
    system: prompts.judge,
    instruction: fill(prompts.comparison, {
      draft: draft.text,
      samples: numbered(open.map((i) => said[i]?.text ?? "")),
    }),
    independentOf: [draft.target],
    extra: tier > 0,
  })
  return certain.map((known, i) => {
    if (known !== undefined) return known
    return comparison.value?.samples.find(({ sample }) => sample === open.indexOf(i) + 1)?.agrees ?? null
  })
})

/** A refusal, or nothing at all. */
const saysNothing = ({ refused, text }: Said): boolean => refused || text.trim() === ""

/** White space and case do not make another answer. */
const plain = (text: string): string => text.trim().replaceAll(/\s+/g, " ").toLowerCase()

/** One inconsistency refutes; to verify takes every check, every sample decided, and a majority that agrees. */
const verdictOf = (
  checks: ReadonlyArray<Check>,
  samples: ReadonlyArray<Sample>,
  agreement: number,
): VerifiedResult["verdict"] => {
  if (checks.some(({ consistent }) => consistent === false)) return "refuted"
  const decided =
    checks.length > 0 &&
    checks.every(({ consistent }) => consistent === true) &&
    samples.every(({ agrees }) => agrees !== null)
  return decided && agreement >= MAJORITY ? "verified" : "inconclusive"
}

const findingsOf = (checks: ReadonlyArray<Check>): string =>
  numbered(
    checks.flatMap((check) =>
      check.consistent === false
        ? [`${check.question}\n   Independent answer: ${check.independent_answer}\n   ${check.note}`]
        : [],
    ),
  )
