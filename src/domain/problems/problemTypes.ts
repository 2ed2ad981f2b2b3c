/** Problem documents (RFC 9457) as plain types, for the client's package, which does not depend on Effect. */

/** A member of a request that does not fit its schema. */
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
  /** Milliseconds after which another try may succeed; under the seal, where there is no header for it. */
  readonly retry_after_ms?: number
  readonly errors?: ReadonlyArray<ProblemIssue>
  /** Under the seal: the provider's error object and HTTP status, for callers whose SDKs know its form. */
  readonly provider_error?: Readonly<Record<string, unknown>>
  readonly provider_status?: number
}
