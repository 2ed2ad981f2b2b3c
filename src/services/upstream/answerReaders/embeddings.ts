/** Reads answers of the OpenAI Embeddings API. */
import { Option, Result, Schema } from "effect"
import { TokenCount } from "../../../domain/chat/chat.ts"
import { isObject } from "../../../domain/json/json.ts"
import { garbage } from "../providers/shared/providerFailures.ts"
import { textOr } from "../providers/shared/textOr.ts"
import type { ReadWhole } from "./AnswerReading.ts"

const decodeUsage = Schema.decodeUnknownOption(Schema.Struct({ prompt_tokens: TokenCount }))

export const wholeEmbeddings: ReadWhole = (answer, { body, model }) => {
  if (!isObject(answer) || !Array.isArray(answer["data"]) || !answer["data"].every(isEmbedding)) {
    return Result.fail(garbage("not a list of embeddings"))
  }
  const { length } = answer["data"]
  if (length !== (textsIn(body.value("input")) ?? Math.max(1, length))) {
    return Result.fail(garbage("not as many embeddings as inputs"))
  }
  const usage = Option.getOrUndefined(decodeUsage(answer["usage"]))
  return Result.succeed({
    model: textOr(model, answer["model"]),
    finishReasons: [],
    usage:
      usage === undefined
        ? null
        : { prompt_tokens: usage.prompt_tokens, completion_tokens: 0, total_tokens: usage.prompt_tokens },
  })
}

/** The number of texts to embed; `undefined` if the input has another form. */
const textsIn = (input: unknown): number | undefined => {
  if (typeof input === "string") return 1
  return Array.isArray(input) && input.every((text) => typeof text === "string") ? input.length : undefined
}

const isEmbedding = (item: unknown): boolean => isObject(item) && item["embedding"] != null
