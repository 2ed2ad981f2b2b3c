/** Agents as stored JSON, in their rows and in those of their jobs. */
import { Effect, Schema } from "effect"
import { Agent } from "../../domain/jobs/agent.ts"
import { decodeRows, encodeRow } from "../storedRows.ts"

const Row = Schema.Struct({ document: Schema.fromJsonString(Agent) })
const decode = decodeRows("agents", Row)
const encode = encodeRow("agents", Row)

/** Cache of decoded documents, except large ones. */
const read = new Map<string, Agent>()
const MAX_READ = 256
const MAX_CHARS = 16 * 1024

export const decodeAgent = (document: string): Effect.Effect<Agent> =>
  Effect.suspend(() => {
    const known = read.get(document)
    if (known !== undefined) return Effect.succeed(known)
    return Effect.flatMap(decode([{ document }]), ([row]) => {
      if (row === undefined) return Effect.die(new Error("A row was lost while it was read."))
      const oldest = read.size < MAX_READ ? undefined : read.keys().next().value
      if (oldest !== undefined) read.delete(oldest)
      if (document.length <= MAX_CHARS) read.set(document, row.document)
      return Effect.succeed(row.document)
    })
  })

export const encodeAgent = (agent: Agent): Effect.Effect<string> =>
  Effect.map(encode({ document: agent }), ({ document }) => document)
