/** Refusals: errors of services that callers receive as problem documents. */
import { Predicate, Schema, SchemaGetter, Struct } from "effect"
import { HttpApiError } from "effect/http-api"
import { withoutUndefined } from "../json/withoutUndefined.ts"
import { isRetryable, Problem, problemType } from "./problem.ts"

/** Response headers of a problem, which its document does not contain. */
const Headers = Schema.optionalKey(Schema.Never).pipe(
  Schema.decodeTo(Schema.optionalKey(Schema.Record(Schema.String, Schema.String)), {
    decode: SchemaGetter.omit(),
    encode: SchemaGetter.omit(),
  }),
)

const { errors, trace_id } = Problem.fields

const membersOf = <Code extends string>(code: Code, retryable: boolean) => ({
  code: Schema.tag(code),
  retryable: Schema.tag(retryable),
  trace_id,
  errors,
  headers: Headers,
})

const ON_WIRE = Struct.keys(Problem.fields)

const RefusalTypeId = "~sealgate/domain/refusal/Refusal"

/** Members of a refusal besides those of its document. */
export interface RefusalBrand {
  readonly [RefusalTypeId]: typeof RefusalTypeId
  /** The problem document, without other members of the error. */
  readonly problem: Problem
}

export interface Refusal extends Error, Problem, RefusalBrand {
  readonly headers?: Readonly<Record<string, string>>
}

export const isRefusal = (error: unknown): error is Refusal => Predicate.hasProperty(error, RefusalTypeId)

/** `Retry-After` of refusals that should pass soon. */
const SOON = { "retry-after": "1" }

/**
 * Declares a refusal, which an endpoint with the class among its errors may return. The title is always the same (RFC 9457
 * §3.1.3); specifics go into `detail`, `errors` or `headers`.
 */
export const Refusal =
  <Self>() =>
  <const Tag extends string, const Code extends string, const Status extends number>(
    tag: Tag,
    declared: {
      readonly code: Code
      readonly status: Status
      readonly title: string
      /** A fixed detail. */
      readonly detail?: string
      /** Default: retryable if the status is 429 or 5xx. */
      readonly retryable?: boolean
      /** Default: `Retry-After` if retryable. */
      readonly headers?: Readonly<Record<string, string>>
    },
  ) => {
    const { code, status, title } = declared
    const retryable = declared.retryable ?? isRetryable(status)
    const type = problemType(code)
    const Base = HttpApiError.Problem<Self, RefusalBrand>()(tag, { type, status, title }, membersOf(code, retryable))
    Object.assign(Object(Base).prototype, {
      [RefusalTypeId]: RefusalTypeId,
      ...withoutUndefined({ detail: declared.detail }),
      headers: declared.headers ?? (retryable ? SOON : {}),
    })
    Object.defineProperty(Object(Base).prototype, "problem", {
      get(this: Refusal) {
        const problem: Record<string, unknown> = {}
        // Reads inherited members too, which have the fixed values.
        for (const member of ON_WIRE) if (this[member] !== undefined) problem[member] = this[member]
        return problem
      },
    })
    return Base
  }
