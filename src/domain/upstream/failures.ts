/** The fault table: how calls to providers fail, and what follows from each failure. */
import { Record, Schema } from "effect"

/** A table with literal keys and rows of one shape. */
const table =
  <Row>() =>
  <Name extends string>(rows: Readonly<Record<Name, Row>>): Readonly<Record<Name, Row>> =>
    rows

interface CodeRule {
  /** HTTP status for the caller. */
  readonly status: number
  /** Safe to show anywhere: quotes neither a prompt nor a provider. */
  readonly title: string
  /** Whether the client may read the provider's message: it is about the request, not the operator's account. */
  readonly aboutRequest?: boolean
  /** Only the operator can solve this; waiting does not help, although the status suggests it. */
  readonly lasting?: boolean
}

/**
 * Error codes for callers, in order of precedence. If targets failed in different ways, the caller gets the first of their
 * codes in this table: failures that may pass, specific before vague; then those that the caller can solve; then those
 * that only the operator can solve. The rest are never compared, because they end the search or come before it.
 */
export const failureCodes = table<CodeRule>()({
  "rate-limited": { status: 429, title: "The provider's rate limit is exhausted; try again later." },
  overloaded: { status: 503, title: "No provider has capacity right now; try again later." },
  "upstream-timeout": { status: 504, title: "The provider did not answer in time." },
  "upstream-truncated": { status: 502, title: "The provider's answer broke off before its end." },
  "upstream-protocol": { status: 502, title: "The provider's answer could not be understood." },
  "upstream-unavailable": { status: 502, title: "The provider could not be reached or failed." },
  "context-too-long": {
    status: 400,
    title: "The request is longer than the model's context.",
    aboutRequest: true,
  },
  unsupported: { status: 422, title: "The provider cannot express this request.", aboutRequest: true },
  "invalid-request": { status: 400, title: "The request was refused as invalid.", aboutRequest: true },
  "unknown-model": {
    status: 422,
    title: "The provider does not have this model; ask for another, or tell the operator if you named none.",
  },
  "tenant-key-refused": {
    status: 422,
    title: "The provider refused your tenant's own key or its account; set another (PUT /api/v1/secrets/{name}).",
  },
  "upstream-unauthorized": {
    status: 502,
    title: "The provider refused the operator's key or account; tell the operator.",
    lasting: true,
  },
  "upstream-misconfigured": {
    status: 502,
    title: "Another server, perhaps this one, is at the provider's address; tell the operator.",
    lasting: true,
  },
  "content-filtered": {
    status: 422,
    title: "The provider's content filter refused the request.",
    aboutRequest: true,
  },
  "unsupported-api": { status: 400, title: "The request is for an API that is not served here.", aboutRequest: true },
  "upstream-interrupted": { status: 502, title: "The provider failed in the middle of its answer; ask again." },
  "provider-not-configured": { status: 422, title: "The requested provider is not configured here." },
})

export type UpstreamCode = keyof typeof failureCodes
export const UpstreamCode = Schema.Literals(Record.keys(failureCodes))

/**
 * The part at fault. Each has a separate circuit:
 * - `provider`: it cannot be reached, so none of its targets can be called
 * - `target`: one of its models fails
 * - `pace`: that model is slow. A model may be slow by nature, so this circuit tolerates more failures
 */
export type Suspect = "provider" | "target" | "pace"

interface FailureRule {
  /** The caller's code if no other target serves the request. */
  readonly code: UpstreamCode
  /** Whether the same target is tried again: not a silent one, for which the caller would wait twice. */
  readonly retry: boolean
  /** Whether another target may be tried. A request that is wrong or forbidden would be refused everywhere. */
  readonly failover: boolean
  /** The circuit that this failure counts against; `undefined` if it says nothing about health. */
  readonly against: Suspect | undefined
  /** Whether the provider answered at all, so it can be reached. */
  readonly answered: boolean
  /** Whether a model may have run: the cost is then unknown, and otherwise 0, unless the provider reported it. */
  readonly billed: boolean
  /** Whether the answer must have the provider's form: an HTML page with this status comes from a server in between. */
  readonly verdict: boolean
  /** Whether only the operator can solve this: logged as a warning, and shown in `/ready` until solved. */
  readonly operator: boolean
}

const usual = { answered: true, billed: false, verdict: false, operator: false } as const
const transient = { ...usual, retry: true, failover: true, against: "target" } as const
const unanswered = { ...transient, against: "provider", answered: false } as const
const elsewhere = { ...usual, retry: false, failover: true, against: undefined } as const
const final = { ...elsewhere, failover: false, verdict: true } as const

/** The kinds of failure of one call. */
export const failureRules = table<FailureRule>()({
  /** Status 429, or 503 with `Retry-After`; but not when the account has no credit left. */
  "rate-limited": { ...transient, code: "rate-limited" },
  /** Another 5xx status, or a connection that broke before there was an answer. */
  unavailable: { ...transient, code: "upstream-unavailable" },
  /** No connection: refused, no such address, or a failure of DNS or TLS. */
  unreachable: { ...unanswered, code: "upstream-unavailable" },
  /** No connection within the time limit. */
  "connect-timeout": { ...unanswered, retry: false, code: "upstream-timeout" },
  /** No whole answer, or no first output, within the time limit: the model may be down, or may be thinking. */
  slow: { ...elsewhere, against: "pace", answered: false, billed: true, code: "upstream-timeout" },
  /** No further chunk within the time limit. */
  timeout: { ...transient, retry: false, billed: true, code: "upstream-timeout" },
  /** The answer was cut before the provider said that it was finished. */
  truncated: { ...transient, billed: true, code: "upstream-truncated" },
  /**
   * The model wrote a broken tool call or broken JSON, which its provider withholds: it may do better, but some requests make it
   * fail each time, which says nothing about its health. Free, unless the provider reports usage.
   */
  broken: { ...transient, against: undefined, code: "upstream-truncated" },
  /** The answer ended without a finish reason. Servers that omit it always do, and bill each time. */
  unfinished: { ...transient, retry: false, billed: true, code: "upstream-truncated" },
  /**
   * Not JSON, a wrong content type, malformed, or beyond the limits. It was billed, and another attempt would likely
   * fail alike.
   */
  garbage: { ...transient, retry: false, billed: true, code: "upstream-protocol" },
  /** Embeddings longer than the limit. The request asked for them, so any target would send as many. */
  oversized: { ...final, billed: true, verdict: false, code: "invalid-request" },
  /** A redirect, which is never followed: keys and prompts go only where the operator sends them. */
  redirected: { ...transient, retry: false, operator: true, code: "upstream-protocol" },
  "context-too-long": { ...elsewhere, code: "context-too-long" },
  /** Above a limit of the body or of tokens per minute, so a target with the same context may accept it. */
  "too-large": { ...elsewhere, code: "context-too-long" },
  "content-filtered": { ...final, billed: true, code: "content-filtered" },
  "invalid-request": { ...final, code: "invalid-request" },
  /**
   * The target lacks something that the request needs: an ability such as tools, the response to continue, or the key
   * of encrypted reasoning. Another target may have it.
   */
  incapable: { ...elsewhere, verdict: true, code: "invalid-request" },
  /** The request is invalid in its own API and cannot be translated; nothing was sent. */
  malformed: { ...final, answered: false, verdict: false, code: "invalid-request" },
  /** The provider refused this server's credentials, or its account has no credit. */
  unauthorized: { ...elsewhere, operator: true, code: "upstream-unauthorized" },
  /** The provider refused the tenant's own key, or the account that it belongs to. */
  "key-refused": { ...elsewhere, code: "tenant-key-refused" },
  /** The address of a sealed proxy or connector, which may loop requests, or the server there has no such path. */
  misconfigured: { ...elsewhere, operator: true, code: "upstream-misconfigured" },
  /**
   * The provider does not have the model, or this server's account cannot access it. If only the caller named the model, no
   * other target is tried, because another model would answer in its place.
   */
  "unknown-model": { ...elsewhere, verdict: true, code: "unknown-model" },
  /** The provider's format cannot express the request; nothing was sent. */
  unsupported: { ...elsewhere, answered: false, code: "unsupported" },
})

export type FailureKind = keyof typeof failureRules
export const FailureKind = Schema.Literals(Record.keys(failureRules))

/**
 * How a call ended. `interrupted`: the caller went away, so it may have cost more than the provider had reported.
 * `timeout` includes calls cut off by the time limit of their request.
 */
export const AttemptOutcome = Schema.Literals(["success", ...FailureKind.literals, "interrupted"])
export type AttemptOutcome = typeof AttemptOutcome.Type

/** The rule of a failed call; `undefined` if it did not fail. */
export const ruleOf = (outcome: AttemptOutcome): FailureRule | undefined =>
  outcome === "success" || outcome === "interrupted" ? undefined : failureRules[outcome]
