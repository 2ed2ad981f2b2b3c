/** All answers to one task: groups of equal answers, their authors, and their probabilities. */
import { withoutUndefined } from "../../../../domain/json/withoutUndefined.ts"
import type { Candidate, Speaker } from "../../../../domain/jobs/modes/verified.ts"
import { sameModel, type TargetName } from "../../../../domain/upstream/targets.ts"
import type { ModelAnswer } from "../engine/ModelAnswer.ts"
import type { Measurements } from "../engine/errorModel.ts"
import { posterior, type Vote } from "../engine/posterior.ts"
import { differ, plain } from "../engine/sameAnswer.ts"

interface BallotAnswer {
  readonly said: ModelAnswer
  /** Every wording of the answer, the one of `said` first. */
  readonly wordings: Array<string>
  readonly by: Array<Speaker>
}

/** Probabilities that differ by no more than this count as equal. */
const EVEN = 0.02

interface Leader {
  readonly group: number
  readonly said: ModelAnswer
  readonly probability: number
}

export class Ballot {
  private readonly groups: Array<BallotAnswer> = []
  private readonly votes: Array<Vote> = []
  /** The targets that were asked, with or without an answer. */
  private readonly asked: Array<TargetName> = []
  private readonly measured: Measurements
  private preferred: number | undefined

  constructor(measured: Measurements) {
    this.measured = measured
  }

  /** Records a target that gave no usable answer. */
  abstain(said: ModelAnswer): void {
    this.asked.push(said.target)
  }

  /** Adds an answer to its group, or to a new one, and returns the group. */
  add(said: ModelAnswer, group = this.groups.length): number {
    this.asked.push(said.target)
    const known = (this.groups[group] ??= { said, wordings: [], by: [] })
    known.wordings.push(said.text)
    this.vote(said, group, "proposer", said.text === known.said.text ? undefined : said.text)
    return group
  }

  /**
   * Records that a judge chose this answer. The choice counts like one more answer of its model. If the model has
   * answered before, the choice only breaks ties, because it would repeat the first vote.
   */
  choose(said: ModelAnswer, group: number): void {
    if (this.asked.some((target) => sameModel(target, said.target))) this.preferred = group
    else this.vote(said, group, "judge")
  }

  private vote({ model, target }: ModelAnswer, group: number, role: Speaker["role"], answer?: string): void {
    this.groups[group]?.by.push({ role, provider: target.provider, model, ...withoutUndefined({ answer }) })
    this.votes.push({ target, group })
  }

  /** The group with the same words; `undefined` if a model must decide, among `candidates`. */
  find(text: string): { readonly group: number | undefined; readonly candidates: ReadonlyArray<number> } {
    const words = plain(text)
    const group = this.groups.findIndex(({ wordings }) => wordings.some((known) => plain(known) === words))
    return {
      group: group < 0 ? undefined : group,
      candidates: this.groups.flatMap(({ wordings }, i) => (wordings.some((known) => differ(known, text)) ? [] : [i])),
    }
  }

  get texts(): ReadonlyArray<string> {
    return this.groups.map(({ said }) => said.text)
  }

  /** The targets whose models answered most often. The next target should have the least in common with them. */
  get mostAsked(): ReadonlyArray<TargetName> {
    const times = (target: TargetName) => this.asked.filter((other) => sameModel(other, target)).length
    const most = Math.max(0, ...this.asked.map(times))
    return this.asked.filter((target) => times(target) === most)
  }

  /** The most probable answer, the earlier one of equals; `undefined` if there is none. */
  get leader(): Leader | undefined {
    return this.leaderOf(this.votes)
  }

  /** A group that leads regardless of its probability. */
  at(group: number): Leader | undefined {
    const said = this.groups[group]?.said
    return said === undefined
      ? undefined
      : { group, said, probability: posterior(this.measured, this.votes)[group] ?? 0 }
  }

  /** Targets that gave or chose this answer, one for each model. */
  behind(group: number): ReadonlyArray<TargetName> {
    const targets = this.votes.filter((vote) => vote.group === group).map(({ target }) => target)
    return targets.filter((target, i) => targets.findIndex((other) => sameModel(other, target)) === i)
  }

  private leaderOf(votes: ReadonlyArray<Vote>): Leader | undefined {
    const probabilities = posterior(this.measured, votes)
    const best = Math.max(...probabilities)
    const preferred = probabilities[this.preferred ?? -1] ?? 0
    const group = preferred >= best - EVEN ? (this.preferred ?? 0) : probabilities.indexOf(best)
    const probability = probabilities[group] ?? 0
    const said = this.groups[group]?.said
    return said === undefined ? undefined : { group, said, probability }
  }

  get isSplit(): boolean {
    return this.groups.length > 1
  }

  /** Whether at least two answers were given, so that there is a comparison. */
  get isCompared(): boolean {
    return this.votes.length > 1
  }

  /** The share of this answer among all requested answers and judges' choices. */
  agreement(group: number): number {
    const chosen = this.groups.flatMap(({ by }) => by).filter(({ role }) => role === "judge").length
    return this.votes.filter((vote) => vote.group === group).length / (this.asked.length + chosen)
  }

  /** Whether `more` equal answers could `settle` an answer, at the probability `sure`, or `change` the leader. */
  couldStill(more: number, sure: number): { readonly settle: boolean; readonly change: boolean } {
    const leader = this.leader
    const outcomes = this.groups.map((_, group) =>
      this.leaderOf([...this.votes, ...Array.from({ length: more }, (_, i) => ({ target: anybody(i), group }))]),
    )
    return {
      settle: outcomes.some((outcome) => outcome !== undefined && outcome.probability >= sure),
      change: outcomes.some((outcome) => outcome?.group !== leader?.group),
    }
  }

  get candidates(): ReadonlyArray<Candidate> {
    const probabilities = posterior(this.measured, this.votes)
    return this.groups.map(({ by, said }, group) => ({
      answer: said.text,
      probability: probabilities[group] ?? 0,
      said_by: by,
    }))
  }
}

/** Placeholders for unknown targets that may be asked next, each a different one. */
const anybody = (i: number): TargetName => ({ provider: "echo", model: `anybody-${i}` })
