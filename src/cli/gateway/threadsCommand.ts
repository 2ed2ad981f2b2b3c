import { Schema } from "effect"
import { Command } from "effect/cli"
import { valueFlag } from "../flags.ts"
import { printableLine } from "../printable.ts"
import { makeDeleteCommand } from "./itemCommands.ts"
import { makeListCommand } from "./listCommand.ts"
import { askAndPrint, gatewayFlags, withGatewayHelp } from "./remote.ts"

const createCommand = Command.make(
  "create",
  {
    agent: valueFlag("agent", "id", "Id of the agent that answers in it, as in `sealgate agents`", Schema.String),
    ...gatewayFlags,
  },
  (input) =>
    askAndPrint(
      input,
      (gateway, options) => gateway.threads.create(input.agent, options),
      ({ agent_id, id }) => `${id}\nContinue it: sealgate run --agent ${printableLine(agent_id)} --thread ${id} "…"`,
    ),
).pipe(
  withGatewayHelp({
    summary: "Begin a thread",
    description: "Begins a conversation with an agent and prints its id.",
    examples: [
      ["sealgate threads create --agent ID", "Prints the id and how to continue it"],
      ["sealgate threads create --agent ID --json", "For programs"],
    ],
    exits: { 0: "the thread was created" },
    next: "`sealgate run --thread <id>` continues it.",
  }),
)

const deleteCommand = makeDeleteCommand("delete", {
  kind: "thread",
  done: "Deleted",
  summary: "Delete a thread with its jobs",
  description: "Deletes a thread with all its jobs, running ones included. This cannot be undone.",
  example: ["01a20189-9c1e-7e54-a3f0-0d6a1b1f6a11", "The conversation and its jobs"],
  remove: (gateway, id, options) => gateway.threads.remove(id, options),
})

export const threadsCommand = makeListCommand("threads", {
  list: (gateway, at) => gateway.threads.list(at),
  none: 'No threads yet: `sealgate run --thread new "…"` begins one.',
  columns: ["ID", "AGENT", "CREATED"],
  row: ({ agent_id, created_at, id }) => [id, agent_id, created_at],
  help: {
    summary: "List, begin and delete threads",
    description: "Lists the threads of your tenant, newest first: conversations with agents.",
    examples: [
      ["sealgate threads", "The newest 20"],
      ["sealgate threads create --agent ID", "Begins one"],
      ["sealgate threads --limit 100 --json", "For programs"],
    ],
    next: '`sealgate run --thread <id> "…"` continues one.',
  },
}).pipe(Command.withSubcommands([createCommand, deleteCommand]))
