/** Passes the events of a streamed answer on as they came, and reads their metadata. */
import { Result } from "effect"
import { isObject, type JsonObject } from "../../../domain/json/json.ts"
import type { ProviderFailure } from "../Provider.ts"
import type { EventReader } from "../providers/shared/WireFormat.ts"
import type { AnswerReading } from "./AnswerReading.ts"
import { type PassedApi, streamReading } from "./readings.ts"

/** Events that only keep a connection alive. */
const PING = "ping"

/** Blocks of Messages in which a model may think for minutes without output. */
const THINKING: ReadonlySet<unknown> = new Set(["thinking", "redacted_thinking"])

export class PassingReader implements EventReader<JsonObject> {
  thoughts = 0
  private readonly reading: AnswerReading<JsonObject>

  constructor(api: PassedApi) {
    this.reading = streamReading(api)
  }

  get state(): "open" | "closed" {
    return this.reading.finished ? "closed" : "open"
  }

  get usage() {
    return this.reading.said.usage ?? undefined
  }

  close(): boolean {
    return this.reading.finished
  }

  read(json: JsonObject, event: string): Result.Result<ReadonlyArray<JsonObject>, ProviderFailure> {
    const { content_block: block, type } = json
    if (type === PING || event === PING) return Result.succeed([])
    if (type === "content_block_start" && isObject(block) && THINKING.has(block["type"])) this.thoughts++
    const failed = this.reading.add(json)
    return failed === undefined ? Result.succeed([json]) : Result.fail(failed)
  }
}
