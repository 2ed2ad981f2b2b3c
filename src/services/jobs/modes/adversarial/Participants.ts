/** The participants of a debate, each once. */
import type { Participant } from "../../../../domain/jobs/modes/adversarial.ts"
import type { ModelRole } from "../../../../domain/routing/routing.ts"
import { sameModel, type TargetName } from "../../../../domain/upstream/targets.ts"
import { isEcho, type ModelAnswer } from "../engine/ModelAnswer.ts"

export class Participants {
  private readonly said = new Map<string, readonly [ModelRole, ModelAnswer]>()

  add(role: ModelRole, said: ModelAnswer): void {
    const key = `${role} ${said.target.provider}/${said.target.model}`
    if (!this.said.has(key)) this.said.set(key, [role, said])
  }

  of(role: ModelRole): ReadonlyArray<TargetName> {
    return [...this.said.values()].filter(([as]) => as === role).map(([, { target }]) => target)
  }

  get all(): ReadonlyArray<Participant> {
    return [...this.said.values()].map(([role, { independent, model, target }]) => ({
      role,
      provider: target.provider,
      model,
      // Proposers are never independent. Critics and judges are if the router found other targets for them.
      independent: role !== "proposer" && independent,
    }))
  }

  /** Whether other models than the author's judged: every judge, or every critic if critic and author agree. */
  isIndependent(contested: boolean): boolean {
    const authors = this.of("proposer")
    const areOthers = (role: ModelRole) => {
      const targets = this.of(role)
      return targets.length > 0 && !targets.some((target) => authors.some((author) => sameModel(author, target)))
    }
    return areOthers("judge") || (!contested && areOthers("critic"))
  }

  get echo(): boolean {
    return [...this.said.values()].some(([role, said]) => role !== "proposer" && isEcho(said))
  }
}
