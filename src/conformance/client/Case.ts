/** A test case for clients: how a proxy lies, and how the client must react. */
import type { Form } from "../../domain/protocol/transcript.ts"
import { withoutUndefined } from "../../domain/json/withoutUndefined.ts"
import type { SuiteName } from "../../domain/protocol/suites.ts"
import type { Lie } from "../lyingProxy/Lie.ts"

/** How the client must react. */
export type Verdict =
  /** Accepts the answer. */
  | "answer"
  /** Reports a failure that is sealed and signed. */
  | "failure"
  /** Reports tampering. */
  | "attack"
  /** Reports an unsealed refusal, which anybody on the path can forge. */
  | "refusal"
  /** Reports that its request may have been served. */
  | "break"

/** The most that a client may send next: the request sealed again under its id, the same bytes, or nothing. */
export type Next = "seal-anew" | "same-bytes" | "nothing"

export interface Case {
  /** Name and path of the proxy. */
  readonly name: string
  /** Id of the rule on the protocol's page. */
  readonly must: string
  /** The proxy's behaviour, in words that follow "the proxy". */
  readonly says: string
  readonly expect: Verdict
  /** Default: nothing. */
  readonly next?: Next
  /** Required form of the request; default: any. */
  readonly form?: Form
  /** Suite that the client must have offered. */
  readonly suite?: SuiteName
  /** Required `restart` of the request. */
  readonly restart?: boolean
  readonly lie: Lie
}

const OF_OFFERS = new Set(["session", "offer", "otherSuite"])

/** Whether a lie is part of the answer to `POST /v1/init`. */
export const isOfOffers = (lie: Lie): boolean => Object.keys(lie).some((hook) => OF_OFFERS.has(hook))

/** Whether a lie is part of the answer to a sealed request. */
export const isOfAnswers = (lie: Lie): boolean => Object.keys(lie).some((hook) => !OF_OFFERS.has(hook))

/** The only form whose answers a lie changes, if it cannot change both. */
const formOf = ({ body, events }: Lie): Pick<Case, "form"> => {
  if ((body === undefined) === (events === undefined)) return {}
  return { form: body === undefined ? "stream" : "complete" }
}

/** A lie, and the members of its case that are not the default. */
export type CaseOptions = Lie & Partial<Pick<Case, "expect" | "next" | "form" | "suite" | "restart">>

export const refused = (must: string, name: string, says: string, options: CaseOptions): Case => {
  const { expect = "attack", form, next, restart, suite, ...lie } = options
  const needs = withoutUndefined({ form, next, restart, suite })
  return { name, must, says, expect, lie, ...formOf(lie), ...needs }
}

export const believed = (must: string, name: string, says: string, options: CaseOptions): Case =>
  refused(must, name, says, { expect: "answer", ...options })
