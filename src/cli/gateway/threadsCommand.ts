import { Console, Effect } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { withHelp } from "../help/Guide.ts"
import { printableJson, printableLine } from "../printable.ts"
import { table } from "../table.ts"
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

const EXAMPLE = "01a20189-9c1e-7e54-a3f0-0d6a1b1f6a11"

const deleteCommand = Command.make(
  "delete",
  {
    id: Argument.String("id").pipe(Argument.withDescription("Id of the thread, as in `sealgate threads`")),
    gateway: gatewayFlag,
    json,
  },
  Effect.fn(function* (input) {
    const gateway = yield* connect(input.gateway)
    yield* ask((signal) => gateway.threads.remove(input.id, { signal }))
    yield* Console.log(input.json ? printableJson({ id: input.id }) : `Deleted ${printableLine(input.id)}.`)
  }),
).pipe(
  withHelp({
    summary: "Delete a thread with its jobs",
    description: "Deletes a thread with all of its jobs, also those that run. This cannot be undone.",
    examples: [
      [`sealgate threads delete ${EXAMPLE}`, "The conversation and its jobs"],
      [`sealgate threads delete ${EXAMPLE} --json`, "For programs: the id"],
    ],
    environment: ENVIRONMENT,
    exits: { ...EXITS, 0: "the thread is deleted" },
  }),
)

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
