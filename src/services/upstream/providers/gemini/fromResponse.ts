/** Whole answers of the Gemini API. */
import { Result } from "effect"
import type { ChatCompletion } from "../../../../domain/chat.ts"
import { accumulate } from "../../../../domain/chatStream.ts"
import type { ProviderFailure } from "../../Provider.ts"
import { failure, garbage, withUsage } from "../shared/Failures.ts"
import type { Call } from "../shared/WireFormat.ts"
import { GeminiChunkReader } from "./ChunkReader.ts"

/** The answer in `body`. Fewer candidates than were asked for are an answer; a candidate without an end is none. */
export const fromResponse = (body: unknown, call: Call): Result.Result<ChatCompletion, ProviderFailure> => {
  const reader = new GeminiChunkReader({ ...call, choices: 1 })
  const read = reader.readValue(body)
  if (Result.isFailure(read)) return Result.fail(withUsage(read.failure, reader.usage))
  if (read.success.length === 0) return Result.fail(garbage("an answer without candidates"))
  if (reader.state === "open") {
    return Result.fail(failure("truncated", "a candidate has no finish reason", { usage: reader.usage }))
  }
  return Result.succeed(accumulate(read.success))
}
