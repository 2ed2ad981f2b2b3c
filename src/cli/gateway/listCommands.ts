import { Clock, Console, Effect, Option, Schema } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { JobStatus } from "../../domain/job.ts"
import { jsonFlag } from "../flags.ts"
import { withGuide } from "../help/Guide.ts"
import { pageWidth, wrap } from "../help/layout.ts"
import { printable, printableJson } from "../printable.ts"
import { age, ask, connect, dollars, ENVIRONMENT, EXITS, firstOf, gatewayFlag, overPages } from "./remote.ts"
import { table } from "../table.ts"
import { report } from "./report.ts"

const limitFlag = Flag.Int("limit").pipe(
  Flag.withMetavar("number"),
  Flag.withDescription("How many, 1 to 100 (default 20)"),
  Flag.withSchema(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 100 }))),
  Flag.withDefault(20),
)
const json = jsonFlag("Print JSON")

export const agentsCommand = Command.make(
  "agents",
  { gateway: gatewayFlag, limit: limitFlag, json },
  Effect.fn(function* (input) {
    const gateway = yield* connect(input.gateway)
    const { limit } = input
    const items = yield* ask((signal) =>
      firstOf(
        limit,
        overPages((at) => gateway.agents.list({ limit, ...at, signal })),
      ),
    )
    if (input.json) return yield* Console.log(printableJson(items))
    if (items.length === 0) return yield* Console.log("No agents yet: `sealgate run` makes one.")
    yield* Console.log(
      table([["ID", "NAME", "MODE"], ...items.map(({ default_mode, id, name }) => [id, name, default_mode])]),
    )
  }),
).pipe(
  Command.withShortDescription("List agents of a gateway"),
  Command.withDescription(
    "Lists the agents of your tenant (yours and your team's, as your token says) on a gateway, newest first.",
  ),
  Command.withExamples([
    { command: "sealgate agents", description: "The newest 20 of a gateway on this machine" },
    { command: "sealgate agents --gateway https://gateway.example.com", description: "Of another gateway" },
    { command: "sealgate agents --limit 100 --json", description: "For programs: agents with all their settings" },
  ]),
  withGuide({
    environment: ENVIRONMENT,
    exits: EXITS,
    next: '`sealgate run "…" --agent <id>` gives one a task. Agents are made and changed over the API (/openapi.json).',
  }),
)

export const jobsCommand = Command.make(
  "jobs",
  {
    id: Argument.String("id").pipe(
      Argument.withDescription("Show this job, with its answer; without it, a list"),
      Argument.optional,
    ),
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
    if (Option.isSome(input.id)) {
      const id = input.id.value
      const job = yield* ask((signal) => gateway.jobs.get(id, { signal }))
      return yield* Console.log(input.json ? printableJson(job) : report(job))
    }
    const status = Option.match(input.status, { onNone: () => ({}), onSome: (status) => ({ status }) })
    const { limit } = input
    const items = yield* ask((signal) =>
      firstOf(
        limit,
        overPages((at) => gateway.jobs.list({ limit, ...at, ...status, signal })),
      ),
    )
    if (input.json) return yield* Console.log(printableJson(items))
    if (items.length === 0) return yield* Console.log("No such jobs.")
    const now = yield* Clock.currentTimeMillis
    yield* Console.log(
      table([
        ["ID", "MODE", "STATUS", "COST", "AGE"],
        ...items.map((job) => [job.id, job.mode, job.status, dollars(job.cost_micro_usd), age(job.created_at, now)]),
      ]),
    )
  }),
).pipe(
  Command.withShortDescription("List jobs of a gateway"),
  Command.withDescription(
    "Lists the jobs of your tenant (yours and your team's, as your token says) on a gateway, newest first; or shows one.",
  ),
  Command.withExamples([
    { command: "sealgate jobs", description: "The newest 20 of a gateway on this machine" },
    { command: "sealgate jobs --status failed", description: "What went wrong lately" },
    { command: "sealgate jobs 01a1ffb3-0069-7182-bc51-ccb8d938e694", description: "Answer, verdict and cost of one" },
  ]),
  withGuide({ environment: ENVIRONMENT, exits: EXITS, next: '`sealgate run "…"` starts a job.' }),
)

export const statsCommand = Command.make(
  "stats",
  {
    gateway: gatewayFlag,
    all: Flag.Boolean("all").pipe(
      Flag.withDescription("All tenants; for tokens with the role admin"),
      Flag.withDefault(false),
    ),
    json,
  },
  Effect.fn(function* (input) {
    const gateway = yield* connect(input.gateway)
    const scope = input.all ? "all" : "tenant"
    const stats = yield* ask((signal) => gateway.routing.stats({ scope, signal }))
    if (input.json) return yield* Console.log(printableJson(stats))
    const percent = stats.saved_percent === null ? "" : ` (${stats.saved_percent.toFixed(1)} %)`
    yield* Console.log(
      `${table([
        ["from", stats.from],
        ["to", stats.to],
        ["calls", `${stats.calls}, ${stats.failed_calls} failed, ${stats.unpriced_calls} without a price`],
        ["cost", dollars(stats.actual_micro_usd)],
        ["baseline", dollars(stats.baseline_micro_usd)],
        ["saved", `${dollars(stats.saved_micro_usd)}${percent}`],
      ])}\n\n${wrap(printable(stats.method), pageWidth()).join("\n")}`,
    )
  }),
).pipe(
  Command.withShortDescription("Show what routing cost and saved"),
  Command.withDescription(
    `Shows what the calls of models by your tenant's jobs cost in the last 24 hours, what they would have cost with the
gateway's baseline model, what choosing models (routing) saved so, and how that was reckoned.`,
  ),
  Command.withExamples([
    { command: "sealgate stats", description: "Of your tenant" },
    { command: "sealgate stats --all", description: "Of all tenants" },
    { command: "sealgate stats --json", description: "For programs: amounts in micro-USD" },
  ]),
  withGuide({ environment: ENVIRONMENT, exits: EXITS }),
)
