/** Reads answers of the OpenAI Responses API. */
import { Option, Predicate, Result, Schema } from "effect"
import { isObject, type JsonObject } from "../../../domain/json/json.ts"
import { optional, TokenCount, type Usage } from "../../../domain/chat/chat.ts"
import type { ProviderFailure, Said } from "../Provider.ts"
import { failureOfEvent } from "../providers/http/errorFailures.ts"
import { plausibleUsage } from "../providers/shared/plausibleUsage.ts"
import { failure, garbage } from "../providers/shared/providerFailures.ts"
import { textOr } from "../providers/shared/textOr.ts"
import type { AnswerReading, ReadWhole } from "./AnswerReading.ts"

const decodeUsage = Schema.decodeUnknownOption(
  Schema.Struct({
    input_tokens: TokenCount,
    output_tokens: TokenCount,
    total_tokens: optional(TokenCount),
    input_tokens_details: optional(
      Schema.Struct({ cached_tokens: optional(TokenCount), cache_write_tokens: optional(TokenCount) }),
    ),
    output_tokens_details: optional(Schema.Struct({ reasoning_tokens: optional(TokenCount) })),
  }),
)

/** The usage of a response in the terms of Chat Completions. */
const usageOf = (value: unknown): Usage | null => {
  const usage = Option.getOrUndefined(decodeUsage(value))
  if (usage === undefined) return null
  const { input_tokens, input_tokens_details, output_tokens, output_tokens_details, total_tokens } = usage
  const read = plausibleUsage({
    prompt_tokens: input_tokens,
    completion_tokens: output_tokens,
    total_tokens: total_tokens ?? input_tokens + output_tokens,
    ...(input_tokens_details == null ? {} : { prompt_tokens_details: input_tokens_details }),
    ...(output_tokens_details == null ? {} : { completion_tokens_details: output_tokens_details }),
  })
  return read ?? null
}

/** The final statuses of a response that hold an answer. */
const WHOLE: ReadonlySet<unknown> = new Set(["completed", "incomplete"])

const saidIn = (response: JsonObject, model: string): Said => {
  const { incomplete_details: details, status } = response
  const reason = isObject(details) ? details["reason"] : undefined
  return {
    model: textOr(model, response["model"]),
    finishReasons: WHOLE.has(status) ? [textOr(String(status), reason)] : [],
    usage: usageOf(response["usage"]),
    ...(Predicate.isString(response["id"]) ? { id: response["id"] } : {}),
  }
}

/** The failure of a response that failed or was cancelled. */
const failureIn = (response: JsonObject): ProviderFailure =>
  failureOfEvent({ error: response["error"] ?? `the response is ${String(response["status"])}` })

const FAILED: ReadonlySet<unknown> = new Set(["failed", "cancelled"])

export const wholeResponse: ReadWhole = (answer, { model }) => {
  if (!isObject(answer) || !Array.isArray(answer["output"])) return Result.fail(garbage("not a response"))
  if (FAILED.has(answer["status"])) return Result.fail(failureIn(answer))
  const said = saidIn(answer, model)
  return WHOLE.has(answer["status"])
    ? Result.succeed(said)
    : Result.fail(failure("unfinished", "a response that is not finished", { usage: said.usage ?? undefined }))
}

/** Events that contain the whole response. */
const BEGINS: ReadonlySet<unknown> = new Set(["response.created", "response.queued", "response.in_progress"])
/** The events that end a response, and its status then. */
const ENDS: ReadonlyMap<unknown, string> = new Map([
  ["response.completed", "completed"],
  ["response.incomplete", "incomplete"],
])
const FAILS: ReadonlySet<unknown> = new Set(["response.failed", "response.cancelled"])

/** Events that only announce something. */
const ANNOUNCES: ReadonlySet<unknown> = new Set([
  ...BEGINS,
  "keepalive",
  "response.output_item.added",
  "response.content_part.added",
  "response.reasoning_summary_part.added",
])

export class ResponsesReading implements AnswerReading<JsonObject> {
  private began = false
  private ended = false
  private latest: Said = { model: "", finishReasons: [], usage: null }

  add(event: JsonObject): ProviderFailure | undefined {
    const { response, type } = event
    if (typeof type !== "string") return garbage("the type of an event is no text")
    if (this.ended) return garbage("an event after the end of the response")
    const ends = ENDS.get(type)
    if (ends !== undefined || BEGINS.has(type) || FAILS.has(type)) {
      if (!isObject(response)) return garbage(`malformed ${type}`)
      if (FAILS.has(type)) return failureIn(response)
      this.latest = saidIn({ status: ends, ...response }, this.latest.model)
      // Some servers abbreviate the response. The event then has the missing members.
      if (ends !== undefined && !WHOLE.has(response["status"] ?? ends)) {
        return failure("unfinished", `${type} of a response that is not finished`)
      }
    } else if (!this.began) return garbage("an event before the response was created")
    this.began = true
    this.ended = ends !== undefined
    return undefined
  }

  get finished(): boolean {
    return this.ended
  }

  get said(): Said {
    return this.latest
  }

  hasOutput({ type }: JsonObject): boolean {
    return !ANNOUNCES.has(type)
  }
}
