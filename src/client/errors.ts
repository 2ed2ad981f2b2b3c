/** The errors of the client, each with a stable `code` to switch on. */
import type { EvidenceFailureCode } from "../attestation/failure.ts"
import type { JsonObject } from "../domain/json/json.ts"
import type { Problem } from "../domain/problems/problemTypes.ts"
import type { ReceiptClaims } from "../domain/protocol/statement.ts"

export type SealgateErrorCode =
  | "no-pins"
  | "pin-mismatch"
  | "evidence-refused"
  | "key-missing"
  | "tampered"
  | "stream-truncated"
  | "answer-incomplete"
  | "problem"
  | "unreachable"

/** Base of every error this client throws itself; an abort throws the signal's reason. */
export abstract class SealgateError extends Error {
  abstract readonly code: SealgateErrorCode
  /** Written out in each class, because bundlers shorten the names of classes. */
  abstract override readonly name: string
  /**
   * Whether a provider may have worked on the request, and be paid for it, although no answer can be used. `false`:
   * the request was not served, so to ask again repeats nothing. It says nothing about whether asking again will help.
   * If the refusal came without a seal (`SealedProblem.sealed` is false), `false` is only a hint: somebody on the path can let
   * the request through and answer it with a refusal.
   */
  readonly mayHaveBeenServed: boolean = true
}

/** The client has neither pins nor permission to trust on first use, so it seals nothing. */
export class NoPins extends SealgateError {
  override readonly name = "NoPins"
  readonly code = "no-pins"
  override readonly mayHaveBeenServed = false
  constructor() {
    super(
      "No pins: give the proxy's attestation key id (kid) as `pins`, or a `policy`, or set trustOnFirstUse to accept the first one.",
    )
  }
}

/** Explains a pin that no key can have; empty if all are well-formed. */
const unfitPin = (pins: ReadonlyArray<string>): string => {
  const unfit = pins.find((pin) => !/^[\w-]{43}$/.test(pin))
  if (unfit === undefined) return ""
  const what = unfit === "" ? "One of the pins is empty" : `One of the pins has ${unfit.length} characters`
  return `${what}; a pin has 43 characters, as the proxy prints it and \`sealgate pin\` does. `
}

/** The session offer is signed by a key that is not pinned. Nothing was sealed. */
export class PinMismatch extends SealgateError {
  override readonly name = "PinMismatch"
  readonly code = "pin-mismatch"
  /** Key ids that are pinned. */
  readonly pins: ReadonlyArray<string>
  /** The key id that signed instead. */
  readonly kid: string
  constructor(pins: ReadonlyArray<string>, kid: string) {
    super(
      `The proxy identifies itself as ${kid}, which is not pinned (${pins.join(", ")}). ${unfitPin(pins)}` +
        "Either this is not your proxy, or its key was rotated; ask its operator before you change the pin.",
    )
    this.pins = pins
    this.kid = kid
  }
}

/** Why evidence was refused: a code of the verifiers, or one of these. */
export type EvidenceRefusal =
  | EvidenceFailureCode
  | "no-evidence"
  | "kid-differs"
  | "configuration-differs"
  | "evidence-expired"

/** The proxy's evidence of its code is missing, stale, wrong or against the policy; or the policy itself is. Nothing was sealed. */
export class EvidenceRefused extends SealgateError {
  override readonly name = "EvidenceRefused"
  readonly code = "evidence-refused"
  override readonly mayHaveBeenServed = false
  readonly reason: EvidenceRefusal
  constructor(reason: EvidenceRefusal, message: string) {
    super(`The proof of the code behind the proxy's key fails (${reason}). ${message}`)
    this.reason = reason
  }
}

/** A statement names a key whose public part is missing, so it can be neither verified nor refuted. */
export class KeyMissing extends SealgateError {
  override readonly name = "KeyMissing"
  readonly code = "key-missing"
  /** The key id that it names. */
  readonly kid: string
  constructor(
    kid: string,
    message = `It says that ${kid} signed it, which is pinned, but \`keys\` lacks that key: add its public part, as a JWK.`,
  ) {
    super(message)
    this.kid = kid
  }
}

/** The part of an answer received so far, verified frame by frame. */
export interface VerifiedPrefix {
  /** Chunks of the requested API; {@link deltaText} returns the text of one. */
  readonly chunks: ReadonlyArray<JsonObject>
}

/**
 * Something was changed, repeated, left out, added or forged between the proxy and here. The message quotes at most a word
 * of what came, so it can be logged.
 */
export class Tampered extends SealgateError {
  override readonly name: "Tampered" | "StreamTruncated" = "Tampered"
  readonly code: "tampered" | "stream-truncated" = "tampered"
}

/** The stream ended before its final frame and proof. `prefix` is genuine, but it is not the answer. */
export class StreamTruncated extends Tampered {
  override readonly name = "StreamTruncated"
  override readonly code = "stream-truncated"
  readonly prefix: VerifiedPrefix
  constructor(prefix: VerifiedPrefix, options?: ErrorOptions) {
    super("The stream ended before its final frame and proof; what came before is verified but incomplete.", options)
    this.prefix = prefix
  }
}

/** The proxy itself says, signed, that the answer is not complete: the provider failed or the proxy shut down. */
export class AnswerIncomplete extends SealgateError {
  override readonly name = "AnswerIncomplete"
  readonly code = "answer-incomplete"
  readonly status: "failed" | "aborted"
  readonly problem: Problem | undefined
  readonly prefix: VerifiedPrefix
  readonly receipt: ReceiptClaims
  constructor(
    status: "failed" | "aborted",
    problem: Problem | undefined,
    prefix: VerifiedPrefix,
    receipt: ReceiptClaims,
  ) {
    super(
      status === "aborted"
        ? "The proxy shut down before the answer was complete."
        : `The provider failed before the answer was complete${problem === undefined ? "." : `: ${problem.title}`}`,
    )
    this.status = status
    this.problem = problem
    this.prefix = prefix
    this.receipt = receipt
  }
}

/** Codes of unsealed refusals of requests that were not served. They are hints: anybody on the path can send them. */
const NOT_SERVED = new Set(["draining", "session-gone", "rate-limited", "overloaded"])
const TIMEOUT = 408
const CONFLICT = 409

/** A sealed 4xx other than a time-out means that no provider took the request; the receipt says whether one was called. */
const afterOpening = ({ status }: Problem, { provider }: ReceiptClaims): boolean =>
  provider !== null && (status >= 500 || status === TIMEOUT)

/**
 * Whether a request that was refused outside the seal may have been served: after 409 (`replayed`), and after 5xx unless
 * the code excludes it.
 */
const beforeOpening = ({ code, status }: Problem): boolean =>
  !NOT_SERVED.has(code) && (status >= 500 || status === CONFLICT)

/** The proxy refused the request or failed to serve it. */
export class SealedProblem extends SealgateError {
  override readonly name = "SealedProblem"
  readonly code = "problem"
  readonly problem: Problem
  /** Whether the problem came under seal. Anybody on the path can read and forge an unsealed one. */
  readonly sealed: boolean
  /** Milliseconds after which to try again, if the proxy said so. */
  readonly retryAfterMs: number | undefined
  /** The signed receipt, if the problem came under seal. */
  readonly receipt: ReceiptClaims | undefined
  override readonly mayHaveBeenServed: boolean
  /** `mayHaveBeenServed` defaults to what problem and receipt say. */
  constructor(
    problem: Problem,
    sealed: boolean,
    retryAfterMs: number | undefined,
    mayHaveBeenServed?: boolean,
    receipt?: ReceiptClaims,
  ) {
    super(problem.detail === undefined ? problem.title : `${problem.title} ${problem.detail}`)
    this.problem = problem
    this.sealed = sealed
    this.receipt = receipt
    this.retryAfterMs = retryAfterMs
    this.mayHaveBeenServed =
      mayHaveBeenServed ?? (receipt === undefined ? beforeOpening(problem) : afterOpening(problem, receipt))
  }
}

/** No answer of the server was received, or a part of the client that is loaded on demand. */
export class Unreachable extends SealgateError {
  override readonly name = "Unreachable"
  readonly code = "unreachable"
  override readonly mayHaveBeenServed: boolean
  constructor(message: string, options?: ErrorOptions, mayHaveBeenServed = true) {
    super(message, options)
    this.mayHaveBeenServed = mayHaveBeenServed
  }
}
