/** Answers of `generateContent`, whole or as events of a stream: what is used is checked, all else is let pass. */
import { Schema } from "effect"

const optional = <S extends Schema.Constraint>(schema: S) => Schema.optionalKey(Schema.NullOr(schema))

const Count = optional(Schema.Int.check(Schema.isGreaterThanOrEqualTo(0)))

export const Usage = Schema.Struct({
  promptTokenCount: Count,
  cachedContentTokenCount: Count,
  candidatesTokenCount: Count,
  thoughtsTokenCount: Count,
  toolUsePromptTokenCount: Count,
})
export type Usage = typeof Usage.Type

export const Part = Schema.Struct({
  text: optional(Schema.String),
  thought: optional(Schema.Boolean),
  thoughtSignature: optional(Schema.String),
  functionCall: optional(
    Schema.Struct({
      id: optional(Schema.String),
      name: Schema.NonEmptyString,
      /** An object by the format, from some servers its JSON text. */
      args: optional(Schema.Union([Schema.Record(Schema.String, Schema.Unknown), Schema.String])),
    }),
  ),
  /** An image or sound: what only models that were made for it answer with. */
  inlineData: Schema.optionalKey(Schema.Unknown),
  fileData: Schema.optionalKey(Schema.Unknown),
})
export type Part = typeof Part.Type

export const Candidate = Schema.Struct({
  index: optional(Schema.Int.check(Schema.isGreaterThanOrEqualTo(0))),
  content: optional(Schema.Struct({ parts: optional(Schema.Array(Part)) })),
  finishReason: optional(Schema.String),
  finishMessage: optional(Schema.String),
})
export type Candidate = typeof Candidate.Type

export const Response = Schema.Struct({
  responseId: Schema.optionalKey(Schema.Unknown),
  modelVersion: Schema.optionalKey(Schema.Unknown),
  candidates: optional(Schema.Array(Candidate)),
  promptFeedback: optional(
    Schema.Struct({ blockReason: optional(Schema.String), blockReasonMessage: optional(Schema.String) }),
  ),
  /** Read by itself: an answer is not worth less because its usage has an odd shape. */
  usageMetadata: Schema.optionalKey(Schema.Unknown),
})
export type Response = typeof Response.Type

/** What travels in `extra_content.google`, under the name that Google's OpenAI-compatible interface uses. */
export const GoogleState = Schema.Struct({ thought_signature: Schema.String })
