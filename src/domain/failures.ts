/** How calls to providers fail, and all that follows from it: the fault table of the product as a value. */
import { Record, Schema } from "effect"

/** A closed table of rows that are all of one shape. */
const table =
  <Row>() =>
  <Name extends string>(rows: Readonly<Record<Name, Row>>): Readonly<Record<Name, Row>> =>
    rows

interface CodeRule {
  /** The HTTP status with which it reaches the caller. */
  readonly status: number
  /** A sentence that is safe to show anywhere: it quotes neither prompt nor provider. */
  readonly title: string
  /** What the provider said is about the request, and so for who made it; otherwise it may be about our account. */
  readonly aboutRequest?: boolean
  /** Waiting does not help, although the status says so: only the operator can put it right. */
  readonly lasting?: boolean
}

/**
 * What a caller sees. The rows are in the order in which one is told when every target failed, each in its own way:
 * first what may pass if it waits, the most specific before the vaguest; then what it can change itself; then what only
 * the operator can put right. The rest never compete, because they end a search or come before one.
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
    title: "At the provider's address there is a sealgate, maybe this one itself; tell its operator.",
    lasting: true,
  },
  "content-filtered": {
    status: 422,
    title: "The provider's content filter refused the request.",
    aboutRequest: true,
  },
  "invalid-request": { status: 400, title: "The provider refused the request as invalid.", aboutRequest: true },
  "upstream-interrupted": { status: 502, title: "The provider failed in the middle of its answer; ask again." },
  "provider-not-configured": { status: 422, title: "The requested provider is not configured here." },
})

export type UpstreamCode = keyof typeof failureCodes
export const UpstreamCode = Schema.Literals(Record.keys(failureCodes))

/**
 * What may be at fault, each with a circuit of its own:
 * - `provider`: no connection to it, so none of its targets can be called
 * - `target`: one of its models is unwell
 * - `pace`: that model is slow, which may be its nature, so more of it is borne
 */
export type Suspect = "provider" | "target" | "pace"

interface FailureRule {
  /** What the caller sees if nothing better follows. */
  readonly code: UpstreamCode
  /** Whether the same target is tried again. A silent target is not: it would only be waited for twice. */
  readonly retry: boolean
  /** Whether another target may be asked. A request that is wrong or not allowed is so everywhere. */
  readonly failover: boolean
  /** What it counts against; `undefined` for what says nothing of anybody's health. */
  readonly against: Suspect | undefined
  /** Whether the provider was heard: if so it can be reached, whatever it said. */
  readonly heard: boolean
  /**
   * Whether a model may have run. If not, providers do not charge, so without other word from the provider its tokens
   * are 0. What a call that broke off later has cost is not known unless the provider said so.
   */
  readonly billed: boolean
  /** Whether it is a provider's verdict on a request: a page for people in its place comes from something else. */
  readonly verdict: boolean
  /** Whether only the operator can mend it, so that it is told to it; everything else is in the metrics. */
  readonly operator: boolean
}

const usual = { heard: true, billed: false, verdict: false, operator: false } as const
const transient = { ...usual, retry: true, failover: true, against: "target" } as const
const unheard = { ...transient, against: "provider", heard: false } as const
const elsewhere = { ...usual, retry: false, failover: true, against: undefined } as const
const final = { ...elsewhere, failover: false, verdict: true } as const

/** How one call to one provider failed, and what follows from it. */
export const failureRules = table<FailureRule>()({
  /** 429, or 503 with `Retry-After`; not an account that has run dry. */
  "rate-limited": { ...transient, code: "rate-limited" },
  /** Other 5xx, or a connection that broke before there was an answer. */
  unavailable: { ...transient, code: "upstream-unavailable" },
  /** No connection: refused, no address, DNS or TLS failure. */
  unreachable: { ...unheard, code: "upstream-unavailable" },
  /** No connection in time. */
  "connect-timeout": { ...unheard, retry: false, code: "upstream-timeout" },
  /** No whole answer, or no first output of a stream, in time: it may be ill, or think for long. */
  slow: { ...elsewhere, against: "pace", heard: false, billed: true, code: "upstream-timeout" },
  /** No further chunk in time. */
  timeout: { ...transient, retry: false, billed: true, code: "upstream-timeout" },
  /** The answer ended before the provider said that it was finished. */
  truncated: { ...transient, billed: true, code: "upstream-truncated" },
  /** Not JSON, wrong content type, a shape the format does not allow, or more than its limits allow. */
  garbage: { ...transient, billed: true, code: "upstream-protocol" },
  /** A redirect, which is never followed: keys and prompts go only where the operator sends them. */
  redirected: { ...transient, retry: false, operator: true, code: "upstream-protocol" },
  "context-too-long": { ...elsewhere, code: "context-too-long" },
  "content-filtered": { ...final, billed: true, code: "content-filtered" },
  "invalid-request": { ...final, code: "invalid-request" },
  /** This product's own credentials were refused, or its account has run dry. */
  unauthorized: { ...elsewhere, operator: true, code: "upstream-unauthorized" },
  /** A sealed proxy or a connector stands where a provider should; through it, requests may come back to where they began. */
  misconfigured: { ...elsewhere, operator: true, code: "upstream-misconfigured" },
  /** The provider does not have the model, or this product's account has no access to it. */
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
