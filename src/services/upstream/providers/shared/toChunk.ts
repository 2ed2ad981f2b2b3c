/** Converts whole answers, and content in parts, into chunks. */
import { Result } from "effect"
import type { AssistantMessage, ChatChunk, ChatCompletion, ContentPart, Delta } from "../../../../domain/chat/chat.ts"
import type { ProviderFailure } from "../../Provider.ts"
import { garbage } from "./providerFailures.ts"

/** Converts a whole answer into the only chunk of a stream. */
export const toChunk = (completion: ChatCompletion): Result.Result<ChatChunk, ProviderFailure> => {
  const choices = completion.choices.map(({ message, ...choice }) =>
    Result.map(toDelta(message), (delta) => ({ ...choice, delta })),
  )
  return Result.map(Result.all(choices), (choices) => ({ ...completion, object: "chat.completion.chunk", choices }))
}

export const toDelta = (message: AssistantMessage): Result.Result<Delta, ProviderFailure> => {
  const { content, tool_calls: calls, ...rest } = message
  return Result.map(toTexts(content), (texts): Delta => ({
    ...rest,
    content: texts.content,
    refusal: texts.refusal ?? rest.refusal ?? null,
    ...(calls == null ? {} : { tool_calls: calls.map((call, index) => ({ ...call, index })) }),
  }))
}

/** The texts in the parts of a content. Thoughts are only counted, because they are no part of the answer. */
interface Texts {
  readonly content: string | null
  readonly refusal: string | null
  readonly thoughts: number
}

/** Returns the texts of `content`, the only parts that a chunk can carry. */
export const toTexts = (content: AssistantMessage["content"]): Result.Result<Texts, ProviderFailure> => {
  if (content == null || typeof content === "string") {
    return Result.succeed({ content: content ?? null, refusal: null, thoughts: 0 })
  }
  const unknown = content.find(({ type }) => !PARTS.has(type))
  if (unknown !== undefined) {
    return Result.fail(
      garbage("a content part of an unknown type", `a content part of type ${unknown.type} in a stream`),
    )
  }
  return Result.succeed({
    content: joined(content, "text"),
    refusal: joined(content, "refusal"),
    thoughts: content.filter(({ type }) => type === "thinking").length,
  })
}

/** The part types that an answer may have. Those without text are dropped. */
const PARTS: ReadonlySet<string> = new Set(["text", "refusal", "thinking", "reference"])

const joined = (parts: ReadonlyArray<ContentPart>, type: "text" | "refusal"): string | null => {
  const texts = parts.filter((part) => part.type === type).map((part) => String(part[type]))
  return texts.length === 0 ? null : texts.join("")
}
