import { Console, Effect, Option } from "effect"
import { Command, Flag } from "effect/cli"
import { JobStatus } from "../../domain/job.ts"
import { jsonFlag } from "../flags.ts"
import { ask, connect, dollars, gatewayFlag, table, TOKEN_HELP } from "./remote.ts"

const limitFlag = Flag.Int("limit").pipe(Flag.withDescription("How many, 1 to 100"), Flag.withDefault(20))
const json = jsonFlag("Print JSON")

export const agentsCommand = Command.make(
  "agents",
  { gateway: gatewayFlag, limit: limitFlag, json },
  Effect.fn(function* (input) {
    const gateway = yield* connect(input.gateway)
    const { items } = yield* ask((signal) => gateway.agents.list({ limit: input.limit, signal }))
    if (input.json) return yield* Console.log(JSON.stringify(items))
    if (items.length === 0) return yield* Console.log("No agents yet: `sealgate run` makes one.")
    yield* Console.log(
      table([["ID", "NAME", "MODE"], ...items.map(({ default_mode, id, name }) => [id, name, default_mode])]),
    )
  }),
).pipe(
  Command.withShortDescription("List agents of a gateway"),
  Command.withDescription(`Lists your tenant's agents, newest first. ${TOKEN_HELP}`),
  Command.withExamples([{ command: "sealgate agents", description: "The newest 20 of a gateway on this machine" }]),
)

export const jobsCommand = Command.make(
  "jobs",
  {
    gateway: gatewayFlag,
    status: Flag.Literals("status", JobStatus.literals).pipe(
      Flag.withDescription("Only jobs with this status"),
      Flag.optional,
    ),
    limit: limitFlag,
    json,
  },
  Effect.fn(function* (input) {
    const gateway = yield* connect(input.gateway)
    const status = Option.match(input.status, { onNone: () => ({}), onSome: (status) => ({ status }) })
    const { items } = yield* ask((signal) => gateway.jobs.list({ limit: input.limit, ...status, signal }))
    if (input.json) return yield* Console.log(JSON.stringify(items))
    if (items.length === 0) return yield* Console.log("No such jobs.")
    yield* Console.log(
      table([
        ["ID", "MODE", "STATUS", "COST", "CREATED"],
        ...items.map((job) => [job.id, job.mode, job.status, dollars(job.cost_micro_usd), job.created_at]),
      ]),
    )
  }),
).pipe(
  Command.withShortDescription("List jobs of a gateway"),
  Command.withDescription(`Lists your tenant's jobs, newest first. ${TOKEN_HELP}`),
  Command.withExamples([{ command: "sealgate jobs --status failed", description: "What went wrong lately" }]),
)

export const statsCommand = Command.make(
  "stats",
  {
    gateway: gatewayFlag,
    all: Flag.Boolean("all").pipe(Flag.withDescription("All tenants; for administrators"), Flag.withDefault(false)),
    json,
  },
  Effect.fn(function* (input) {
    const gateway = yield* connect(input.gateway)
    const scope = input.all ? "all" : "tenant"
    const stats = yield* ask((signal) => gateway.routing.stats({ scope, signal }))
    if (input.json) return yield* Console.log(JSON.stringify(stats))
    const percent = stats.saved_percent === null ? "" : ` (${stats.saved_percent.toFixed(1)} %)`
    yield* Console.log(
      `${table([
        ["from", stats.from],
        ["to", stats.to],
        ["calls", `${stats.calls}, ${stats.failed_calls} failed, ${stats.unpriced_calls} without a price`],
        ["cost", dollars(stats.actual_micro_usd)],
        ["baseline", dollars(stats.baseline_micro_usd)],
        ["saved", `${dollars(stats.saved_micro_usd)}${percent}`],
      ])}\n\n${stats.method}`,
    )
  }),
).pipe(
  Command.withShortDescription("Show what routing cost and saved"),
  Command.withDescription(
    `Shows calls, cost and savings of the last 24 hours, and how they were reckoned. ${TOKEN_HELP}`,
  ),
  Command.withExamples([{ command: "sealgate stats --all", description: "For all tenants" }]),
)
