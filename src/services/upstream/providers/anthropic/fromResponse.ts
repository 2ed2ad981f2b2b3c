/** Whole answers of the Messages API. */
import { Option, Result, Schema } from "effect"
import type { ChatCompletion } from "../../../../domain/chat/chat.ts"
import { accumulate } from "../../../../domain/chat/chatStream.ts"
import type { ProviderFailure } from "../../Provider.ts"
import { failure, garbage } from "../shared/providerFailures.ts"
import type { AnswerDefaults } from "../shared/WireFormat.ts"
import { AnthropicChunkReader } from "./ChunkReader.ts"
import * as Wire from "./Wire.ts"

const decode = Schema.decodeUnknownOption(Wire.Message)

export const fromResponse = (body: unknown, call: AnswerDefaults): Result.Result<ChatCompletion, ProviderFailure> => {
  const message = Option.getOrUndefined(decode(body))
  if (message === undefined) return Result.fail(garbage("not a message"))
  const reader = new AnthropicChunkReader(call)
  const chunks = reader.message(message)
  return reader.state === "open"
    ? Result.fail(failure("unfinished", "the answer has no stop reason", { usage: reader.usage }))
    : Result.map(chunks, accumulate)
}
