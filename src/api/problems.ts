import { HttpApiSchema } from "effect/http-api"
import { Problem, PROBLEM_CONTENT_TYPE } from "../domain/problem.ts"

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

/** What any request may be answered with by its head alone: an improper, foreign, misdirected one, and one too many. */
const OF_EVERY_REQUEST = [400, 403, 421, 429]

/** Problem documents as the answers with `statuses`, beside those that every request may get. */
export const problems = (...statuses: ReadonlyArray<number>) => [...OF_EVERY_REQUEST, ...statuses].map(problem)

/** Status by code, for the operations whose id begins with the key: `agents` for a group, `agents.list` for one. */
export type ProblemCodes = Readonly<Record<string, Readonly<Record<string, number>>>>
