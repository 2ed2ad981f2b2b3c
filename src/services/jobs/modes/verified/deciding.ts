/**
 * Decides between differing answers. Models that have not seen the answers answer questions that distinguish them, and
 * a judge says which answers fit. If models executed tools for this, the only answer that fits is chosen; otherwise the
 * judge chooses. Both results must be the same with the answers in reverse order.
 */
import { Effect } from "effect"
import type { AnswerCheck } from "../../../../domain/jobs/modes/verified.ts"
import { atTier } from "../../../../domain/jobs/step.ts"
import type { TargetName } from "../../../../domain/upstream/targets.ts"
import type { Asking } from "../engine/Asking.ts"
import type { ConversationAnswer, Kit } from "../engine/conversation.ts"
import { counts, isEcho, type ModelAnswer } from "../engine/ModelAnswer.ts"
import type { Section } from "../engine/quoted.ts"
import type { Ballot } from "./Ballot.ts"
import { entered } from "./entered.ts"
import { prompts } from "./prompts.ts"
import { Questions, Reconciliation } from "./schemas.ts"

/** The tier of a cascade, and the tools that models may call. */
export interface Means {
  readonly tier: number
  readonly kit: Kit | undefined
}

interface Finding extends Omit<AnswerCheck, "consistent"> {
  /** Whether each compared answer fits; `null` if the judge did not say the same in both orders. */
  readonly fits: ReadonlyArray<boolean | null>
}

/** Result if nothing had to be decided. */
export const NOTHING: Decision = { checks: [], refuted: false, others: [] }

/** The group that leads for a reason other than its votes, and the models that chose it or found the others wrong. */
interface Chosen {
  readonly group: number
  readonly by: ReadonlyArray<TargetName>
}

interface Decision {
  readonly checks: ReadonlyArray<Finding>
  /** Whether the judge found all answers wrong. */
  readonly refuted: boolean
  readonly correction?: Chosen | undefined
  /** The only answer that fits the executed checks. */
  readonly executed?: Chosen | undefined
  readonly others: ReadonlyArray<ModelAnswer>
}

export const decided = Effect.fnUntraced(function* (asking: Asking, ballot: Ballot, { kit, tier }: Means) {
  const answers = ballot.texts.map((text, i) => ({ title: `answer ${i + 1}`, text }))
  const { asked, found, others } = yield* questioned(asking, ballot, answers, kit)
  const findings = asked.map((question, i) => ({
    title: `question ${i + 1}`,
    text: `${question}\n${isExecuted(found[i]) ? "Answer, found with a tool" : "Answer"}: ${found[i]?.text ?? ""}`,
  }))

  const judgements: Array<{ readonly value: Reconciliation; readonly said: ModelAnswer }> = []
  for (const order of asked.length === 0 ? [] : [1, 2]) {
    const { said, value } = yield* asking.decide({ kind: "reconcile", ...(order > 1 && { order }) }, Reconciliation, {
      role: "judge",
      instruction: prompts.judge,
      sections: [...(order === 1 ? answers : answers.toReversed()), ...findings],
      independentOf: ballot.mostAsked,
    })
    others.push(said)
    if (value === undefined) break
    judgements.push({ value, said })
  }
  const [first, second] = judgements
  const checks = asked.map((question, i): Finding => {
    const [check, again] = [first, second].map((judged) => judged?.value.checks.find((each) => each.question === i + 1))
    return {
      question,
      independent_answer: found[i]?.text ?? "",
      fits: answers.map((_, group) => {
        const fits = check?.fits?.includes(group + 1) ?? null
        return fits === again?.fits?.includes(group + 1) ? fits : null
      }),
      note: check?.note ?? "Not decided.",
      ...(isExecuted(found[i]) && { executed: true as const }),
    }
  })
  const settled: Decision = { checks, refuted: false, others }
  if (first === undefined || second === undefined) return settled
  const right = first.value.right === second.value.right ? first.value.right : undefined
  const [fitting, again] = [first, second].map(({ value }) => onlyFitting(value, checks, answers.length))
  const executed =
    fitting !== undefined && fitting === again
      ? { group: fitting - 1, by: found.filter(isExecuted).map(({ target }) => target) }
      : undefined
  // If the verdict changes with the order, or tool results contradict it, the judge decided nothing.
  if (right === undefined || (executed !== undefined && right !== fitting)) return { ...settled, executed }
  if (right !== null) {
    if (right <= answers.length) ballot.choose(first.said, right - 1)
    return { ...settled, executed }
  }

  const correction = yield* asking.propose(atTier(tier, { kind: "correct" }), {
    about: { instruction: prompts.correct, sections: [...answers, ...findings] },
    tier,
    independentOf: [first.said.target],
    kit,
    // Without a correction the job still has findings, so it must not fail.
    optional: true,
  })
  const group = yield* entered(asking, ballot, correction, tier, counts(correction) && !isEcho(correction))
  // A correction that repeats an answer does not count.
  const isNew = group !== undefined && group >= answers.length
  return { ...settled, refuted: true, correction: isNew ? { group, by: [first.said.target] } : undefined }
})

/** Asks for questions that distinguish the answers, then asks each of a model that has seen no answer. */
const questioned = Effect.fnUntraced(function* (
  asking: Asking,
  ballot: Ballot,
  answers: ReadonlyArray<Section>,
  kit: Kit | undefined,
) {
  const manner = { role: "critic" as const, independentOf: ballot.mostAsked }
  const questions = yield* asking.decide({ kind: "questions" }, Questions, {
    ...manner,
    instruction: prompts.questioner,
    sections: answers,
  })
  const asked = questions.value?.questions ?? []
  const exits = yield* Effect.forEach(
    asked,
    (question, i) =>
      // If one fails, the others continue. Interrupted calls would be billed, and their answers lost for the next
      // attempt.
      Effect.exit(
        asking.examine(
          { kind: "answer", question: i + 1 },
          { ...manner, instruction: prompts.verifier, sections: [{ title: "question", text: question }], kit },
        ),
      ),
    { concurrency: "unbounded" },
  )
  const found = yield* Effect.all(exits)
  return { asked, found, others: [questions.said, ...found] }
})

/** Whether an answer rests on a tool call that succeeded. */
const isExecuted = (found: ConversationAnswer | undefined): boolean =>
  found !== undefined && found.course.succeeded > 0 && counts(found)

/** The number of the only answer that fits all executed checks; `undefined` if there is none. */
const onlyFitting = (
  { checks }: Reconciliation,
  findings: ReadonlyArray<Finding>,
  answers: number,
): number | undefined => {
  const executed = checks.flatMap(({ fits, question }) =>
    fits !== null && findings[question - 1]?.executed === true ? [fits] : [],
  )
  const left = executed.reduce(
    (left, fits) => left.filter((answer) => fits.includes(answer)),
    Array.from({ length: answers }, (_, i) => i + 1),
  )
  return executed.length > 0 && left.length === 1 ? left[0] : undefined
}
