import { Schema } from "effect"
import { Argument, Command } from "effect/cli"
import { printableLine } from "../printable.ts"
import { makeListCommand } from "./listCommand.ts"
import { askAndPrint, gatewayFlags, withGatewayHelp } from "./remote.ts"
import { givenOf, optionalFlag } from "../flags.ts"

const createCommand = Command.make(
  "create",
  {
    name: Argument.String("name").pipe(Argument.withDescription("Name of the agent")),
    instructions: optionalFlag("instructions", "text", "Instructions for every task (default none)", Schema.String),
    mode: optionalFlag("mode", "name", "Mode of its tasks, as in run (default: the gateway's)", Schema.String),
    ...gatewayFlags,
  },
  ({ instructions, mode: default_mode, name, ...input }) =>
    askAndPrint(
      input,
      (gateway, options) => gateway.agents.create({ name, ...givenOf({ instructions, default_mode }) }, options),
      ({ id }) => `${id}\nGive it a task: sealgate run "…" --agent ${printableLine(id)}`,
    ),
).pipe(
  withGatewayHelp({
    summary: "Create an agent",
    description: "Creates an agent for tasks and prints its id.",
    examples: [
      ["sealgate agents create reviewer", "An agent with the gateway's defaults"],
      [
        'sealgate agents create reviewer --instructions "Be brief." --json',
        "For programs: the agent with its settings",
      ],
    ],
    next: "`sealgate agents` lists all of them.",
  }),
)

export const agentsCommand = makeListCommand("agents", {
  list: (gateway, at) => gateway.agents.list(at),
  none: "No agents yet: `sealgate agents create NAME` creates one, and so does `sealgate run`.",
  columns: ["ID", "NAME", "MODE"],
  row: ({ default_mode, id, name }) => [id, name, default_mode],
  help: {
    summary: "List agents of a gateway",
    description: "Lists your tenant's agents on a gateway, newest first. Your token names the tenant.",
    examples: [
      ["sealgate agents", "The newest 20 on a gateway on this machine"],
      ["sealgate agents --gateway https://gateway.example.com", "Agents of another gateway"],
      ["sealgate agents --limit 100 --json", "For programs: agents with their settings"],
    ],
    next: '`sealgate run "…" --agent <id>` gives it a task. Change other settings of an agent in the console or over the API.',
  },
}).pipe(Command.withSubcommands([createCommand]))
