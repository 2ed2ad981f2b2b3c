/** Whole answers of the Gemini API. */
import { Result } from "effect"
import type { ChatCompletion } from "../../../../domain/chat/chat.ts"
import { accumulate } from "../../../../domain/chat/chatStream.ts"
import type { ProviderFailure } from "../../Provider.ts"
import { failure, garbage, withUsage } from "../shared/providerFailures.ts"
import type { AnswerDefaults } from "../shared/WireFormat.ts"
import { GeminiChunkReader } from "./ChunkReader.ts"

/**
 * Reads the answer in `body`, which may be an array of the events of a stream. It may have fewer candidates than
 * requested, but each needs its finish reason.
 */
export const fromResponse = (body: unknown, call: AnswerDefaults): Result.Result<ChatCompletion, ProviderFailure> => {
  const reader = new GeminiChunkReader({ ...call, choices: 1 })
  const responses: ReadonlyArray<unknown> = Array.isArray(body) ? body : [body]
  const read = Result.all(responses.map((response) => reader.read(response)))
  if (Result.isFailure(read)) return Result.fail(withUsage(read.failure, reader.usage))
  const chunks = read.success.flat()
  if (chunks.length === 0) return Result.fail(garbage("an answer without candidates"))
  if (reader.state === "open") {
    return Result.fail(failure("unfinished", "a candidate has no finish reason", { usage: reader.usage }))
  }
  return Result.succeed(accumulate(chunks))
}
