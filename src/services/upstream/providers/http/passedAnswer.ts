/** Reads whole answers that are passed on as the provider wrote them. */
import { Result } from "effect"
import { jsonFault } from "../../../../domain/json/iJson.ts"
import { iJsonOf } from "../../../../domain/json/surrogates.ts"
import type { NativeAnswer, NativeCall, ProviderFailure } from "../../Provider.ts"
import { type PassedApi, READINGS } from "../../answerReaders/readings.ts"
import { garbage } from "../shared/providerFailures.ts"
import { reportsError } from "./ErrorBody.ts"
import { failureOfEvent } from "./errorFailures.ts"
import type { Body, JsonBody } from "./ResponseBody.ts"

/** Returns the answer to `asked` in `body` if it is a whole one of `api`. */
export const passedAnswer = (
  api: PassedApi,
  asked: NativeCall,
  body: Body,
): Result.Result<NativeAnswer, ProviderFailure> => {
  if (body._tag === "Events") return Result.fail(garbage("a stream where a whole answer was asked for"))
  const failed = reportedIn(body)
  if (failed !== undefined) return Result.fail(failed)
  return Result.map(READINGS[api].whole(body.value, asked), (said) => ({ json: iJsonIn(body), said }))
}

/** Returns the failure for a whole body in place of a stream. */
export const noStream = (body: JsonBody): ProviderFailure =>
  reportedIn(body) ?? garbage("a whole answer where a stream was asked for")

const reportedIn = ({ retryAfterMs, value }: JsonBody): ProviderFailure | undefined =>
  reportsError(value) ? failureOfEvent(value, retryAfterMs) : undefined

/** Callers get I-JSON, which a provider's answer may not be. */
const iJsonIn = ({ text, value }: JsonBody): string => (jsonFault(text) === undefined ? text : iJsonOf(value))
