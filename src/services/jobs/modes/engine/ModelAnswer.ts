/** The answer of a model, as a step stores it. */
import { Schema } from "effect"
import { ToolCall } from "../../../../domain/chat/chat.ts"
import { MessageState } from "../../../../domain/chat/messageState.ts"
import { TargetName } from "../../../../domain/upstream/targets.ts"
import { saysNothing } from "./saysNothing.ts"

/** The stored part of an answer. */
export const ModelAnswer = Schema.Struct({
  text: Schema.String,
  refused: Schema.Boolean,
  cut: Schema.Boolean,
  /** Absent if the model calls no tool. */
  toolCalls: Schema.optionalKey(Schema.Array(ToolCall)),
  /** Absent if no tools were offered, because then no later turn needs it. */
  state: Schema.optionalKey(MessageState),
  /** When its text began, in milliseconds since the epoch. Absent if followers do not get it. */
  since: Schema.optionalKey(Schema.Int),
  /** The configured target, and the model name in the answer. */
  target: TargetName,
  model: Schema.String,
  independent: Schema.Boolean,
  /** The threshold below which a cascade escalates this answer; `null` if there is nothing to escalate to. */
  escalateBelow: Schema.NullOr(Schema.Finite),
})
export type ModelAnswer = typeof ModelAnswer.Type

/** Whether the answer is the built-in echo's, which repeats its input and cannot judge. */
export const isEcho = ({ target }: Pick<ModelAnswer, "target">): boolean => target.provider === "echo"

/** Rejects refusals and answers that say nothing. */
export const counts = (said: ModelAnswer): boolean => !said.refused && !saysNothing(said.text)
