/** A vendor's formats for errors and model lists. */
import type { JsonObject } from "../../../domain/json/json.ts"
import type { ErrorAnswer } from "../errorAnswer.ts"
import type { Model } from "./models.ts"

export interface Vendor {
  /** Header of the request id. */
  readonly requestIdHeader: string
  /** This vendor's status for a failure. */
  readonly statusOf: (answer: ErrorAnswer) => number
  readonly errorBody: (answer: ErrorAnswer, requestId?: string) => JsonObject
  /** `query` is that of the request. */
  readonly modelList: (models: ReadonlyArray<Model>, query: URLSearchParams) => JsonObject
  readonly model: (model: Model) => JsonObject
}

/** An error as an HTTP answer. */
interface ErrorReply {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: JsonObject
}

/** Returns a failure in the format of `vendor`. SDKs obey `x-should-retry` first. */
export const errorReply = (vendor: Vendor, answer: ErrorAnswer, requestId?: string): ErrorReply => {
  const { retryAfterMs, retryable } = answer
  return {
    status: vendor.statusOf(answer),
    headers: {
      "content-type": "application/json",
      "cache-control": "no-store",
      "x-should-retry": String(retryable === true),
      ...(retryAfterMs === undefined ? {} : { "retry-after": String(Math.max(1, Math.ceil(retryAfterMs / 1000))) }),
      ...(requestId === undefined ? {} : { [vendor.requestIdHeader]: requestId }),
      ...answer.headers,
    },
    body: vendor.errorBody(answer, requestId),
  }
}
