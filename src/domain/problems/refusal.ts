/** Refusals: errors of services that are sent to callers as problem documents, as they are. */
import { Predicate, Schema, SchemaGetter, Struct } from "effect"
import { HttpApiError } from "effect/http-api"
import { withoutUndefined } from "../json/withoutUndefined.ts"
import { isRetryable, Problem, problemType } from "./problem.ts"

/** Header fields that are sent beside a problem and are not in its document. */
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

/** What a refusal has beside the members of its document. */
export interface RefusalBrand {
  readonly [RefusalTypeId]: typeof RefusalTypeId
  /** The problem document, without other members of the error. */
  readonly problem: Problem
}

/** Any refusal. */
export interface Refusal extends Error, Problem, RefusalBrand {
  readonly headers?: Readonly<Record<string, string>>
}

export const isRefusal = (error: unknown): error is Refusal => Predicate.hasProperty(error, RefusalTypeId)

/** How many calls errors note, where the engine lets that be set: pages share this file. */
const Limited = Error as ErrorConstructor & { stackTraceLimit?: number | undefined }

/**
 * `Base`, whose errors do not say where they were made: a refusal is an answer, whose place nobody reads, and noting it
 * costs more than all the rest of making one.
 */
const withoutStack = (Base: unknown): unknown => {
  // Any class of errors is one of these.
  const Any = Base as new (...members: ReadonlyArray<unknown>) => object
  class Refused extends Any {
    constructor(...members: ReadonlyArray<unknown>) {
      const { stackTraceLimit } = Limited
      Limited.stackTraceLimit = 0
      try {
        super(...members)
      } finally {
        Limited.stackTraceLimit = stackTraceLimit
      }
    }
  }
  return Refused
}

/** What should pass soon may be tried again after a second. */
const SOON = { "retry-after": "1" }

/**
 * Declares a refusal. An endpoint with the class among its errors may be answered with it. A title is the same each time
 * (RFC 9457 §3.1.3): what is special about one time goes into `detail` and `errors`, or into `headers` beside the document.
 */
export const Refusal =
  <Self>() =>
  <const Tag extends string, const Code extends string, const Status extends number>(
    tag: Tag,
    declared: {
      readonly code: Code
      readonly status: Status
      readonly title: string
      /** A detail that is the same each time. */
      readonly detail?: string
      /** By default, it is retryable if its status says so. */
      readonly retryable?: boolean
      /** By default, a retryable refusal says when to try again. */
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
        // The members that are the same each time are inherited.
        for (const member of ON_WIRE) if (this[member] !== undefined) problem[member] = this[member]
        return problem
      },
    })
    // It adds nothing to what it extends.
    return withoutStack(Base) as typeof Base
  }
