/** One proxy that a client is tried with. */
import type { Form } from "../../domain/protocol/transcript.ts"
import type { SuiteName } from "../../domain/protocol/suites.ts"
import type { Lie } from "./Lie.ts"

export interface Case {
  /** Name and path of the proxy. */
  readonly name: string
  /** Id of the rule on the protocol's page. */
  readonly must: string
  /** The proxy's behaviour, in words that follow "the proxy". */
  readonly says: string
  /** Whether the client must believe the answer or refuse it. */
  readonly expect: "believed" | "refused"
  /** Required form of the request; default: any. */
  readonly form?: Form
  /** Suite that the client must have offered. */
  readonly suite?: SuiteName
  /** Required `restart` of the request. */
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
