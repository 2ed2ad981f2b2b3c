import { Console, Effect } from "effect"
import { Command, Flag } from "effect/cli"
import { withHelp } from "../help/Guide.ts"
import { printableJson, printableLine } from "../printable.ts"
import { table } from "../table.ts"
import { makeDeleteCommand } from "./deleteCommand.ts"
import { json, limitFlag } from "./listFlags.ts"
import { ask, connect, ENVIRONMENT, EXITS, gatewayFlag, listFirst } from "./remote.ts"

const createCommand = Command.make(
  "create",
  {
    agent: Flag.String("agent").pipe(
      Flag.withMetavar("id"),
      Flag.withDescription("Id of the agent that answers in it, as in `sealgate agents`"),
    ),
    gateway: gatewayFlag,
    json,
  },
  Effect.fn(function* (input) {
    const gateway = yield* connect(input.gateway)
    const { agent_id, id, ...made } = yield* ask((signal) => gateway.threads.create(input.agent, { signal }))
    yield* Console.log(
      input.json
        ? printableJson({ id, agent_id, ...made })
        : `${id}\nContinue it: sealgate run --agent ${printableLine(agent_id)} --thread ${id} "…"`,
    )
  }),
).pipe(
  withHelp({
    summary: "Begin a thread",
    description: "Begins a conversation with an agent and prints its id.",
    examples: [
      ["sealgate threads create --agent ID", "Prints the id and how to continue it"],
      ["sealgate threads create --agent ID --json", "For programs"],
    ],
    environment: ENVIRONMENT,
    exits: { ...EXITS, 0: "the thread is begun" },
    next: "`sealgate run --thread <id>` continues it.",
  }),
)

const deleteCommand = makeDeleteCommand({
  kind: "thread",
  summary: "Delete a thread with its jobs",
  description: "Deletes a thread with all of its jobs, also those that run. This cannot be undone.",
  example: ["01a20189-9c1e-7e54-a3f0-0d6a1b1f6a11", "The conversation and its jobs"],
  remove: (gateway, id, options) => gateway.threads.remove(id, options),
})

export const threadsCommand = Command.make(
  "threads",
  { gateway: gatewayFlag, limit: limitFlag, json },
  Effect.fn(function* (input) {
    const gateway = yield* connect(input.gateway)
    const items = yield* listFirst(input.limit, (at) => gateway.threads.list(at))
    if (input.json) return yield* Console.log(printableJson(items))
    if (items.length === 0) return yield* Console.log('No threads yet: `sealgate run --thread new "…"` begins one.')
    yield* Console.log(
      table([["ID", "AGENT", "CREATED"], ...items.map(({ agent_id, created_at, id }) => [id, agent_id, created_at])]),
    )
  }),
).pipe(
  withHelp({
    summary: "List, begin and delete threads",
    description: "Lists the threads of your tenant, newest first: conversations with agents.",
    examples: [
      ["sealgate threads", "The newest 20"],
      ["sealgate threads create --agent ID", "Begins one"],
      ["sealgate threads --limit 100 --json", "For programs"],
    ],
    environment: ENVIRONMENT,
    exits: EXITS,
    next: '`sealgate run --thread <id> "…"` continues one.',
  }),
  Command.withSubcommands([createCommand, deleteCommand]),
)
