import { HttpApiSchema } from "effect/http-api"
import { Problem, PROBLEM_CONTENT_TYPE } from "../../domain/problem.ts"

const make = (status: number) =>
  Problem.annotate({ identifier: `Problem${status}` }).pipe(
    HttpApiSchema.asJson({ contentType: PROBLEM_CONTENT_TYPE }),
    HttpApiSchema.status(status),
  )

const made = new Map<number, ReturnType<typeof make>>()

/** A problem document as the answer with `status`, for the errors of an endpoint; always the same one for a status. */
export const problem = (status: number) => {
  const schema = made.get(status) ?? make(status)
  made.set(status, schema)
  return schema
}
