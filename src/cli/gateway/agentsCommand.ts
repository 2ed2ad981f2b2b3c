import { Console, Effect, Schema } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { BuiltInMode } from "../../domain/jobs/modes.ts"
import { withHelp } from "../help/Guide.ts"
import { printableJson, printableLine } from "../printable.ts"
import { table } from "../table.ts"
import { json, limitFlag } from "./listFlags.ts"
import { ask, connect, ENVIRONMENT, EXITS, gatewayFlag, listFirst } from "./remote.ts"
import { givenOf, optionalFlag } from "../flags.ts"

const createCommand = Command.make(
  "create",
  {
    name: Argument.String("name").pipe(Argument.withDescription("Name of the agent")),
    instructions: optionalFlag("instructions", "text", "Instructions for every task (default none)", Schema.String),
    mode: Flag.Literals("mode", BuiltInMode.literals).pipe(
      Flag.withDescription("Mode of its tasks (default: the gateway's)"),
      Flag.optional,
    ),
    gateway: gatewayFlag,
    json,
  },
  Effect.fn(function* (input) {
    const gateway = yield* connect(input.gateway)
    const { instructions, mode: default_mode, name } = input
    const settings = { name, ...givenOf({ instructions, default_mode }) }
    const agent = yield* ask((signal) => gateway.agents.create(settings, { signal }))
    yield* Console.log(
      input.json
        ? printableJson(agent)
        : `${agent.id}\nGive it a task: sealgate run "…" --agent ${printableLine(agent.id)}`,
    )
  }),
).pipe(
  withHelp({
    summary: "Create an agent",
    description: "Creates an agent for tasks and prints its id.",
    examples: [
      ["sealgate agents create reviewer", "An agent with the gateway's defaults"],
      [
        'sealgate agents create reviewer --instructions "Be brief." --json',
        "For programs: the agent with its settings",
      ],
    ],
    environment: ENVIRONMENT,
    exits: EXITS,
    next: "`sealgate agents` lists all of them.",
  }),
)

export const agentsCommand = Command.make(
  "agents",
  { gateway: gatewayFlag, limit: limitFlag, json },
  Effect.fn(function* (input) {
    const gateway = yield* connect(input.gateway)
    const items = yield* listFirst(input.limit, (at) => gateway.agents.list(at))
    if (input.json) return yield* Console.log(printableJson(items))
    if (items.length === 0)
      return yield* Console.log("No agents yet: `sealgate agents create NAME` creates one, and so does `sealgate run`.")
    yield* Console.log(
      table([["ID", "NAME", "MODE"], ...items.map(({ default_mode, id, name }) => [id, name, default_mode])]),
    )
  }),
).pipe(
  withHelp({
    summary: "List agents of a gateway",
    description: "Lists your tenant's agents on a gateway, newest first. Your token names the tenant.",
    examples: [
      ["sealgate agents", "The newest 20 on a gateway on this machine"],
      ["sealgate agents --gateway https://gateway.example.com", "Agents of another gateway"],
      ["sealgate agents --limit 100 --json", "For programs: agents with their settings"],
    ],
    environment: ENVIRONMENT,
    exits: EXITS,
    next: '`sealgate run "…" --agent <id>` gives it a task. Change other settings of an agent in the console or over the API.',
  }),
  Command.withSubcommands([createCommand]),
)
