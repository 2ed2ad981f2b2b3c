/** Public part of own modes, which a program defines that embeds the gateway. */
import { Schema } from "effect"
import { Refusal } from "../../problems/refusal.ts"
import { note, VERDICT } from "./description.ts"

export const OwnResult = Schema.Struct({
  mode: Schema.Literal("own"),
  name: Schema.String.annotate({ description: "The job's mode." }),
  answer: Schema.String,
  output: Schema.optionalKey(
    Schema.Record(Schema.String, Schema.Json).annotate({ description: "The answer for programs." }),
  ),
  verdict: Schema.Literal("unchecked").annotate(VERDICT),
  confidence: Schema.Null.annotate({ description: "Always `null`: there is no estimate." }),
  independent: Schema.Literal(false).annotate({ description: "Always `false`." }),
  note,
}).annotate({ identifier: "OwnResult" })
export type OwnResult = typeof OwnResult.Type

/** The mode is neither built in nor defined by the program that runs this gateway. */
export class ModeUnknown extends Refusal<ModeUnknown>()("ModeUnknown", {
  code: "mode-unknown",
  status: 422,
  title: "This gateway has no such mode.",
}) {}
