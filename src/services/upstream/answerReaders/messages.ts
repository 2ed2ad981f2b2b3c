/** Reads answers of the Anthropic Messages API, version 2023-06-01. */
import { Result } from "effect"
import { isObject, type JsonObject } from "../../../domain/json/json.ts"
import type { ProviderFailure, Said } from "../Provider.ts"
import { type Counts, countsOf, firstCountsOf, mergeUsage, usageOf } from "../providers/anthropic/usage.ts"
import { failure, garbage } from "../providers/shared/providerFailures.ts"
import { textOr } from "../providers/shared/textOr.ts"
import type { AnswerReading, ReadWhole } from "./AnswerReading.ts"

/** A message is complete once it has a stop reason. */
export const wholeMessage: ReadWhole = (answer, { model }) => {
  if (!isObject(answer) || !Array.isArray(answer["content"])) return Result.fail(garbage("not a message"))
  const usage = usageOf(countsOf(answer["usage"])) ?? null
  const reason = textOr("", answer["stop_reason"])
  return reason === ""
    ? Result.fail(failure("unfinished", "a message without a stop reason", { usage: usage ?? undefined }))
    : Result.succeed({ model: textOr(model, answer["model"]), finishReasons: [reason], usage })
}

/** A count of tokens costs nothing. */
export const wholeCount: ReadWhole = (answer, { model }) =>
  isObject(answer) && Number.isSafeInteger(answer["input_tokens"])
    ? Result.succeed({ model, finishReasons: [], usage: null })
    : Result.fail(garbage("not a count of tokens"))

/** The object member of each type of event. */
const PARTS: ReadonlyMap<unknown, string> = new Map([
  ["message_start", "message"],
  ["content_block_start", "content_block"],
  ["content_block_delta", "delta"],
  ["message_delta", "delta"],
])

export class MessagesReading implements AnswerReading<JsonObject> {
  private started = false
  private answering = false
  private stopped = false
  private model = ""
  private stopReason = ""
  private usage: Counts | undefined

  add(event: JsonObject): ProviderFailure | undefined {
    const type = event["type"]
    const name = PARTS.get(type)
    const part = name === undefined ? undefined : event[name]
    if (name !== undefined && !isObject(part)) return garbage(`malformed ${String(type)}`)
    if (this.stopped) return garbage("an event after the end of the message")
    if (type === "message_start") {
      // A second message would be read as if both were one.
      if (this.answering) return garbage("a second message_start")
      this.started = true
    } else if (!this.started) return garbage("an event before message_start")
    if (this.hasOutput(event)) this.answering = true
    if (isObject(part)) {
      this.model = textOr(this.model, part["model"])
      this.stopReason = textOr(this.stopReason, part["stop_reason"])
    }
    this.count(countsOf(event["usage"]))
    if (type === "message_start" && isObject(part)) this.count(firstCountsOf(part["usage"]))
    if (type !== "message_stop") return undefined
    if (this.stopReason === "") return failure("unfinished", "the message stopped without a stop reason")
    this.stopped = true
    return undefined
  }

  get finished(): boolean {
    return this.stopped
  }

  get said(): Said {
    return {
      model: this.model,
      finishReasons: this.stopReason === "" ? [] : [this.stopReason],
      usage: usageOf(this.usage) ?? null,
    }
  }

  /** Whether an event has content, beyond the beginning of a message or an empty block or piece. */
  hasOutput({ content_block: block, delta, type }: JsonObject): boolean {
    if (type === "message_start") return false
    if (type === "content_block_start") return isObject(block) && !isEmptyText(block)
    return (
      type !== "content_block_delta" ||
      (isObject(delta) && Object.values(delta).some((value) => value && value !== delta["type"]))
    )
  }

  private count(counts: Counts | undefined): void {
    if (counts !== undefined) this.usage = mergeUsage(this.usage, counts)
  }
}

const isEmptyText = ({ text, thinking, type }: JsonObject): boolean =>
  (type === "text" && !text) || (type === "thinking" && !thinking)
