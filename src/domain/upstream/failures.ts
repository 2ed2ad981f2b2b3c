/** How calls to providers fail, and all that follows from it: the fault table of the product as a value. */
import { Record, Schema } from "effect"

/** A table whose keys are known to the compiler, and whose rows all have one shape. */
const table =
  <Row>() =>
  <Name extends string>(rows: Readonly<Record<Name, Row>>): Readonly<Record<Name, Row>> =>
    rows

interface CodeRule {
  /** The HTTP status of the error as a caller gets it. */
  readonly status: number
  /** A sentence that is safe to show anywhere: it quotes neither a prompt nor a provider. */
  readonly title: string
  /**
   * The provider's message concerns the request, so its sender may read it. Other messages may concern the operator's
   * account.
   */
  readonly aboutRequest?: boolean
  /** Waiting does not help, although the status suggests it: only the operator can solve this. */
  readonly lasting?: boolean
}

/**
 * What a caller sees. When every target failed, each in its own way, the caller is told the failure whose row comes
 * first: failures that may pass by waiting come first, more specific ones before vaguer ones; then those that the
 * caller can solve by changing the request; then those that only the operator can solve. The rest are never compared,
 * because they end the search or come before it.
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
  "unknown-model": {
    status: 422,
    title: "The provider does not have this model; ask for another, or tell its operator if you named none.",
  },
  "upstream-unauthorized": {
    status: 502,
    title: "The provider refused this proxy's key or account; tell its operator.",
    lasting: true,
  },
  "upstream-misconfigured": {
    status: 502,
    title: "There is no provider at its address, but another server, maybe this one itself; tell its operator.",
    lasting: true,
  },
  "content-filtered": {
    status: 422,
    title: "The provider's content filter refused the request.",
    aboutRequest: true,
  },
  "invalid-request": { status: 400, title: "The request was refused as invalid.", aboutRequest: true },
  "unsupported-api": { status: 400, title: "The request is for an API that is not served here.", aboutRequest: true },
  "upstream-interrupted": { status: 502, title: "The provider failed in the middle of its answer; ask again." },
  "provider-not-configured": { status: 422, title: "The requested provider is not configured here." },
})

export type UpstreamCode = keyof typeof failureCodes
export const UpstreamCode = Schema.Literals(Record.keys(failureCodes))

/**
 * What may be at fault. Each has a circuit of its own:
 * - `provider`: no connection can be made to it, so none of its targets can be called
 * - `target`: one of its models fails
 * - `pace`: that model is slow. A model may be slow by nature, so this circuit tolerates more failures
 */
export type Suspect = "provider" | "target" | "pace"

interface FailureRule {
  /** The code that the caller sees when no other target serves the request. */
  readonly code: UpstreamCode
  /**
   * Whether the same target is tried again. A target that stayed silent is not, because the caller would wait for it
   * twice.
   */
  readonly retry: boolean
  /** Whether another target may be tried. A request that is wrong or forbidden would be refused everywhere. */
  readonly failover: boolean
  /** The circuit that this failure counts against; `undefined` if it says nothing about anybody's health. */
  readonly against: Suspect | undefined
  /** Whether the provider answered at all: then it can be reached, whatever its answer was. */
  readonly heard: boolean
  /**
   * Whether a model may have run. If not, providers do not charge, so the tokens count as 0 unless the provider
   * reported some. If so, the cost of the call is unknown unless the provider reported it.
   */
  readonly billed: boolean
  /**
   * Whether only a provider can give this verdict on a request: an HTML page with the same status comes from something
   * in between.
   */
  readonly verdict: boolean
  /**
   * Whether only the operator can solve this, so that it is a warning in the log and stands in `/ready` until it is solved.
   */
  readonly operator: boolean
}

const usual = { heard: true, billed: false, verdict: false, operator: false } as const
const transient = { ...usual, retry: true, failover: true, against: "target" } as const
const unheard = { ...transient, against: "provider", heard: false } as const
const elsewhere = { ...usual, retry: false, failover: true, against: undefined } as const
const final = { ...elsewhere, failover: false, verdict: true } as const

/** How one call to one provider failed, and what follows from it. */
export const failureRules = table<FailureRule>()({
  /** Status 429, or 503 with `Retry-After`; but not when the account has no credit left. */
  "rate-limited": { ...transient, code: "rate-limited" },
  /** Another 5xx status, or a connection that broke before there was an answer. */
  unavailable: { ...transient, code: "upstream-unavailable" },
  /** No connection: refused, no such address, or a failure of DNS or TLS. */
  unreachable: { ...unheard, code: "upstream-unavailable" },
  /** No connection within the time limit. */
  "connect-timeout": { ...unheard, retry: false, code: "upstream-timeout" },
  /**
   * No whole answer, or no first output of a stream, within the time limit: the model may be down, or may be thinking.
   */
  slow: { ...elsewhere, against: "pace", heard: false, billed: true, code: "upstream-timeout" },
  /** No further chunk within the time limit. */
  timeout: { ...transient, retry: false, billed: true, code: "upstream-timeout" },
  /** The answer was cut before the provider said that it was finished. */
  truncated: { ...transient, billed: true, code: "upstream-truncated" },
  /** The provider said that the answer has ended, and gave no finish reason. Servers that do so do it, and bill, each time. */
  unfinished: { ...transient, retry: false, billed: true, code: "upstream-truncated" },
  /**
   * Not JSON, a wrong content type, a shape that the format does not allow, or an answer beyond the limits. It was paid for,
   * and another one would most likely be the same.
   */
  garbage: { ...transient, retry: false, billed: true, code: "upstream-protocol" },
  /** A redirect, which is never followed: keys and prompts go only where the operator sends them. */
  redirected: { ...transient, retry: false, operator: true, code: "upstream-protocol" },
  "context-too-long": { ...elsewhere, code: "context-too-long" },
  "content-filtered": { ...final, billed: true, code: "content-filtered" },
  "invalid-request": { ...final, code: "invalid-request" },
  /** It cannot be translated, because it is not what its API has; nothing was sent. */
  malformed: { ...final, heard: false, verdict: false, code: "invalid-request" },
  /** This product's own credentials were refused, or its account has run dry. */
  unauthorized: { ...elsewhere, operator: true, code: "upstream-unauthorized" },
  /**
   * A sealed proxy or a connector answers where a provider should, and requests may return through it to where they began;
   * or the server there has no such path.
   */
  misconfigured: { ...elsewhere, operator: true, code: "upstream-misconfigured" },
  /**
   * The provider does not have the model, or this product's account has no access to it. A model that only the caller named
   * is the caller's mistake, so no other target is asked: another model would answer in its place.
   */
  "unknown-model": { ...elsewhere, verdict: true, code: "unknown-model" },
  /** The request has something that the provider's format cannot express; nothing was sent. */
  unsupported: { ...elsewhere, heard: false, code: "unsupported" },
})

export type FailureKind = keyof typeof failureRules
export const FailureKind = Schema.Literals(Record.keys(failureRules))

/**
 * How a call ended. `interrupted`: the caller went away, so it may have cost more than the provider had said by then.
 * `timeout` is also the end of a call that the time limit of its request cut off.
 */
export const AttemptOutcome = Schema.Literals(["success", ...FailureKind.literals, "interrupted"])
export type AttemptOutcome = typeof AttemptOutcome.Type

/** What follows from how a call ended, if it failed. */
export const ruleOf = (outcome: AttemptOutcome): FailureRule | undefined =>
  outcome === "success" || outcome === "interrupted" ? undefined : failureRules[outcome]
