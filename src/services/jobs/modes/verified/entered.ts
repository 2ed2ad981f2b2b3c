/** Puts answers on a ballot. */
import { Effect } from "effect"
import { atTier } from "../../../../domain/jobs/step.ts"
import type { Asking } from "../engine/Asking.ts"
import type { ModelAnswer } from "../engine/ModelAnswer.ts"
import type { Ballot } from "./Ballot.ts"
import { prompts } from "./prompts.ts"
import { Comparison } from "./schemas.ts"

/**
 * Adds an answer to the group of equal ones. Equal words are equal. Plain differences are different. A judge decides
 * the rest.
 */
export const entered = Effect.fnUntraced(function* (
  asking: Asking,
  ballot: Ballot,
  said: ModelAnswer,
  tier: number,
  usable: boolean,
  sample?: number,
) {
  if (!usable) return void ballot.abstain(said)
  const { candidates, group } = ballot.find(said.text)
  if (group !== undefined) return ballot.add(said, group)
  if (candidates.length === 0) return ballot.add(said)
  const comparison = yield* asking.decide(
    atTier(tier, { kind: "compare", ...(sample !== undefined && { sample }) }),
    Comparison,
    {
      role: "judge",
      instruction: prompts.compare,
      sections: [
        ...candidates.map((group, i) => ({ title: `answer ${i + 1}`, text: ballot.texts[group] ?? "" })),
        { title: "new answer", text: said.text },
      ],
      independentOf: [said.target],
      extra: tier > 0,
    },
  )
  // An answer that could not be compared joins no group.
  if (comparison.value === undefined) return void ballot.abstain(said)
  const same = comparison.value.same_as
  return ballot.add(said, same === null ? undefined : candidates[same - 1])
})
