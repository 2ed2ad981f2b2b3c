/** Problem documents (RFC 9457) as plain types, for the client's package, which comes without Effect. */

/** One member of a request that did not fit, and why. */
export interface ProblemIssue {
  readonly path: string
  readonly message: string
}

/** `code` is stable and meant for programs; `retryable` says whether the same request may succeed later. */
export interface Problem {
  readonly type: string
  readonly title: string
  readonly status: number
  readonly detail?: string
  readonly instance?: string
  readonly code: string
  readonly trace_id?: string
  readonly retryable: boolean
  /** Milliseconds after which another try may succeed: under the seal, where no header can say it. */
  readonly retry_after_ms?: number
  readonly errors?: ReadonlyArray<ProblemIssue>
  /** Under the seal: the provider's own error object and HTTP status, for callers whose SDKs know its form. */
  readonly provider_error?: Readonly<Record<string, unknown>>
  readonly provider_status?: number
}
