/** What a run of the kit comes to, for both of its halves. */

export type Outcome = "pass" | "fail" | "skipped"

export interface Result {
  /** Of what the page asks, by the id that it has there. */
  readonly must: string
  /** Stable name of the check or case. */
  readonly name: string
  /** What is checked, in a sentence. */
  readonly says: string
  readonly outcome: Outcome
  /** What was seen, or why nothing was. */
  readonly saw: string
}

export interface Report {
  readonly subject: string
  /** Nothing failed, and something was checked. */
  readonly ok: boolean
  readonly passed: number
  readonly failed: number
  readonly skipped: number
  readonly results: ReadonlyArray<Result>
}

export const reportOf = (subject: string, results: ReadonlyArray<Result>): Report => {
  const count = (outcome: Outcome) => results.filter((result) => result.outcome === outcome).length
  const [passed, failed, skipped] = [count("pass"), count("fail"), count("skipped")]
  return { subject, ok: failed === 0 && passed > 0, passed, failed, skipped, results }
}

/** Whether one is meant by `only`: by its name, by the id of what it checks, or by the beginning of either up to a mark. */
export const isMeant = ({ must, name }: Pick<Result, "must" | "name">, only: ReadonlyArray<string>): boolean =>
  only.length === 0 ||
  only.some((id) => [must, name].some((own) => own === id || own.startsWith(`${id}-`) || own.startsWith(`${id}.`)))
