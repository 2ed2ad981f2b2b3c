/** The objections of a debate, each with its evidence, replies and status. */
import type { Objection, Reply, Round } from "../../../../domain/jobs/modes/adversarial.ts"
import type { Section } from "../engine/quoted.ts"
import type { DefenderResponse } from "./schemas.ts"

export const isMaterial = ({ severity }: Pick<Objection, "severity">): boolean => severity !== "minor"

/** Whether critic and author disagree about it, or disagreed until the critic withdrew it. */
export const isContested = (objection: Objection): boolean =>
  isMaterial(objection) && (objection.status === "open" || objection.replies.some(({ action }) => action === "rebut"))

export class Objections {
  private readonly byId = new Map<number, Objection>()

  get all(): ReadonlyArray<Objection> {
    return [...this.byId.values()]
  }

  get open(): ReadonlyArray<Objection> {
    return this.all.filter(({ status }) => status === "open")
  }

  raise(round: number, raised: Pick<Objection, "claim" | "evidence" | "severity">): void {
    const id = this.byId.size + 1
    this.byId.set(id, { id, round, ...raised, status: "open", replies: [] })
  }

  resolve(ids: ReadonlyArray<number>): void {
    for (const id of ids) this.change(id, () => ({ status: "resolved" }))
  }

  /** Records the author's replies to open objections, and summarizes them; `changed`: the answer changed. */
  reply(round: number, replies: DefenderResponse["replies"], changed: boolean): Round["response"] {
    const open = new Set(this.open.map(({ id }) => id))
    const actions = new Set<Reply["action"]>()
    for (const { action, objection, text } of replies) {
      if (!open.has(objection)) continue
      actions.add(action)
      this.change(objection, ({ replies }) => ({ replies: [...replies, { round, action, text }] }))
    }
    if (actions.size > 1) return "mixed"
    // An author who changes the answer but replies to no objection has revised it.
    return actions.has("revise") || (actions.size === 0 && changed) ? "revised" : "rebutted"
  }

  section(title: string, objections = this.all): Section {
    return { title, text: objections.map(written).join("\n\n") }
  }

  private change(id: number, change: (objection: Objection) => Partial<Objection>): void {
    const objection = this.byId.get(id)
    if (objection !== undefined) this.byId.set(id, { ...objection, ...change(objection) })
  }
}

const written = ({ claim, evidence, id, replies, round, severity, status }: Objection): string =>
  [
    `${id}. (${severity}, raised in round ${round}, ${status}) ${claim}`,
    ...(evidence === "" ? [] : [`   Evidence: ${evidence}`]),
    ...replies.map((reply) => `   The author ${SAYS[reply.action]} in round ${reply.round}: ${reply.text}`),
  ].join("\n")

const SAYS = { revise: "revised", rebut: "rebutted" } as const
