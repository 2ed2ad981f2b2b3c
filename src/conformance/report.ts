/** The report of a run, for servers and clients. */

export type TestOutcome = "pass" | "fail" | "skipped"

export interface Result {
  /** Id of the rule on the protocol's page. */
  readonly must: string
  /** Stable name of the check or case. */
  readonly name: string
  /** The checked fact, in a sentence. */
  readonly says: string
  readonly outcome: TestOutcome
  /** The observation, or why the check was skipped. */
  readonly saw: string
}

export interface TestReport {
  readonly subject: string
  /** Whether nothing failed and something was checked. */
  readonly ok: boolean
  readonly passed: number
  readonly failed: number
  readonly skipped: number
  readonly results: ReadonlyArray<Result>
}

export const reportOf = (subject: string, results: ReadonlyArray<Result>): TestReport => {
  const count = (outcome: TestOutcome) => results.filter((result) => result.outcome === outcome).length
  const [passed, failed, skipped] = [count("pass"), count("fail"), count("skipped")]
  return { subject, ok: failed === 0 && passed > 0, passed, failed, skipped, results }
}

/** Whether `only` selects a check: by its name, its rule's id, or a prefix of either that ends at a separator. */
export const isSelected = ({ must, name }: Pick<Result, "must" | "name">, only: ReadonlyArray<string>): boolean =>
  only.length === 0 ||
  only.some((id) => [must, name].some((own) => own === id || own.startsWith(`${id}-`) || own.startsWith(`${id}.`)))
