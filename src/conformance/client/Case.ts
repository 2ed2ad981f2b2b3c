/** What a case is. */
import type { Form } from "../../domain/protocol/transcript.ts"
import type { SuiteName } from "../../domain/protocol/suites.ts"
import type { Lie } from "./Lie.ts"

export interface Case {
  /** Its path. */
  readonly name: string
  /** Of what the page asks of clients. */
  readonly must: string
  /** What the proxy does. */
  readonly says: string
  /** Whether the client has to believe it, or to refuse it. */
  readonly expect: "believed" | "refused"
  /** The form that has to be asked for; without it any. */
  readonly form?: Form
  /** The suite that the client has to have offered. */
  readonly suite?: SuiteName
  /** What the request has to say of restarts. */
  readonly restart?: boolean
  readonly lie: Lie
}

/** Cases of one kind. */
export interface CaseClass {
  readonly title: string
  readonly cases: ReadonlyArray<Case>
}

type Brief = Omit<Case, "name" | "must" | "says" | "expect" | "lie">

export const refused = (must: string, name: string, says: string, lie: Lie, more: Brief = {}): Case => ({
  name,
  must,
  says,
  expect: "refused",
  lie,
  ...more,
})

export const believed = (must: string, name: string, says: string, lie: Lie, more: Brief = {}): Case => ({
  ...refused(must, name, says, lie, more),
  expect: "believed",
})
