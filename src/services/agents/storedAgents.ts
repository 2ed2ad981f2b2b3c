/** Agents as stored JSON, in their rows and in those of their jobs. */
import { Effect, Schema } from "effect"
import { Agent } from "../../domain/jobs/agent.ts"
import { decodeRows, encodeRow } from "../storedRows.ts"

const Row = Schema.Struct({ document: Schema.fromJsonString(Agent) })
const decode = decodeRows("agents", Row)
const encode = encodeRow("agents", Row)

export const decodeAgent = (document: string): Effect.Effect<Agent> =>
  Effect.flatMap(decode([{ document }]), ([row]) =>
    row === undefined ? Effect.die(new Error("A row was lost while it was read.")) : Effect.succeed(row.document),
  )

export const encodeAgent = (agent: Agent): Effect.Effect<string> =>
  Effect.map(encode({ document: agent }), ({ document }) => document)
