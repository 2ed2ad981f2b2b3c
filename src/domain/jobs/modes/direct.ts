/** Public part of the direct mode: one model answers, after as many tool calls as its turns allow. */
import { Schema } from "effect"
import { CheckedSchema } from "../tool.ts"
import { type ModeDescription, note, optionSchema, VERDICT } from "./description.ts"

const Verdict = Schema.Literal("unchecked")

export const DirectResult = Schema.Struct({
  mode: Schema.Literal("direct"),
  answer: Schema.String,
  output: Schema.optionalKey(
    Schema.Record(Schema.String, Schema.Unknown).annotate({
      description: "The object in the answer that fits `options.output_schema`.",
    }),
  ),
  verdict: Verdict.annotate(VERDICT),
  confidence: Schema.Null.annotate({ description: "Always `null`: one model answered, so there is no estimate." }),
  independent: Schema.Literal(false).annotate({ description: "Always `false`: no other model was asked." }),
  provider: Schema.String,
  model: Schema.String,
  turns: Schema.Natural.annotate({ description: "Calls of the model." }),
  tool_calls: Schema.Natural.annotate({ description: "Calls of tools, failed ones included." }),
  note,
}).annotate({ identifier: "DirectResult" })
export type DirectResult = typeof DirectResult.Type

export const direct = {
  label: "Direct",
  hint: "One model answers, and may call the agent's tools before.",
  mayAct: true,
  option: { name: "turns", label: "Turns of the model, at most", unit: "turn", minimum: 1, maximum: 50 },
  depth: { low: 5, medium: 15, high: 50 },
  verdicts: {
    unchecked: { tone: "warn", meaning: "One model answered, and nothing checked its answer." },
  },
  steps: {
    tools: ({ server }) => `Tools of MCP server ${server}`,
    turn: ({ turn }) => `Turn ${turn}`,
    tool: ({ call, turn }) => `Turn ${turn}: tool call ${call}`,
  },
} as const satisfies ModeDescription<typeof Verdict.Type>

export const OutputSchema = CheckedSchema

export const Turns = optionSchema(direct.option)
