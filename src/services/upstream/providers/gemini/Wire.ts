/** Answers of `generateContent`, whole or as events of a stream. Unused members are ignored. */
import { Schema } from "effect"
import { optional, TokenCount } from "../../../../domain/chat/chat.ts"

const Count = optional(TokenCount)

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
      /** The format demands an object, but some servers send its JSON text. */
      args: optional(Schema.Union([Schema.Record(Schema.String, Schema.Unknown), Schema.String])),
    }),
  ),
  /** An image or sound. Only special models send them. */
  inlineData: Schema.optionalKey(Schema.Unknown),
  fileData: Schema.optionalKey(Schema.Unknown),
})
export type Part = typeof Part.Type

export const Candidate = Schema.Struct({
  index: optional(Schema.Natural),
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
  /** Decoded separately, because usage of an odd shape does not make an answer worthless. */
  usageMetadata: Schema.optionalKey(Schema.Unknown),
})
export type Response = typeof Response.Type

/** The content of `extra_content.google`, the name that Google's OpenAI-compatible interface uses. */
export const GoogleState = Schema.Struct({ thought_signature: Schema.String })
