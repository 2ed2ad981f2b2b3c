/** Assertions about refusals and sealed failures. */
import { isObject } from "../../domain/json/json.ts"
import { parseIJson } from "../../domain/json/iJson.ts"
import { PROBLEM_CONTENT_TYPE } from "../../domain/problems/problem.ts"
import { must, Violation } from "./outcome.ts"
import type { OpenedAnswer } from "./OpenedAnswer.ts"
import type { Received } from "./Wire.ts"

const parsed = (body: Uint8Array): unknown => {
  try {
    return parseIJson(body)
  } catch {
    throw new Violation("the refusal is no I-JSON")
  }
}

const codeOf = (received: Received): string => {
  const type = (received.headers["content-type"] ?? "").split(";")[0]?.trim().toLowerCase()
  must(type === PROBLEM_CONTENT_TYPE, `a refusal (${received.status}) has the media type ${type}`)
  const problem = parsed(received.body)
  must(isObject(problem) && typeof problem["code"] === "string", "a refusal has no code")
  must(
    problem["status"] === received.status,
    `a refusal with ${received.status} says that its status is ${String(problem["status"])}`,
  )
  must(
    /\bno-store\b/.test(received.headers["cache-control"] ?? ""),
    "a refusal may be stored: cache-control is not no-store",
  )
  return problem["code"]
}

/** Throws unless the server refused without a seal, with one of these statuses and codes, such as `400 malformed`. */
export const refusedAs = (received: Received, what: string, ...ways: ReadonlyArray<string>): string => {
  must(received.status >= 400, `${what} is answered with ${received.status}, and not refused with ${ways.join(" or ")}`)
  const way = `${received.status} ${codeOf(received)}`
  must(ways.includes(way), `${what} is refused with ${way}, and not with ${ways.join(" or ")}`)
  return way
}

const STATUSES = new Set([400, 401, 409, 422, 429, 500, 502, 503, 504])

/** Throws unless the request failed under the seal with this code. */
export const failedAs = ({ record }: Pick<OpenedAnswer, "record">, what: string, code: string): string => {
  const { problem, status } = record
  must(status === "failed", `${what} ends ${String(status)}, and not failed with ${code}`)
  must(isObject(problem), `${what} fails without a problem`)
  must(problem["code"] === code, `${what} fails with ${String(problem["code"])}, and not with ${code}`)
  must(STATUSES.has(Number(problem["status"])), `a problem under the seal has the status ${String(problem["status"])}`)
  must(typeof problem["retryable"] === "boolean", "a problem under the seal does not say whether it is retryable")
  return `failed, ${code}`
}

/** Runs `attempt` for each value and joins the distinct observations. */
export const each = async <A>(items: Iterable<A>, attempt: (item: A) => Promise<string>): Promise<string> => {
  const seen = new Map<string, number>()
  for (const item of items) {
    const way = await attempt(item)
    seen.set(way, (seen.get(way) ?? 0) + 1)
  }
  return [...seen].map(([way, count]) => (count > 1 ? `${way} (${count} times)` : way)).join(", ")
}
