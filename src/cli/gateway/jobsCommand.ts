import { Clock, Console, Effect, Option } from "effect"
import { usd } from "../../domain/routing/dollars.ts"
import { Argument, Command, Flag } from "effect/cli"
import { JobStatus } from "../../domain/jobs/job.ts"
import { CommandFailed } from "../CommandFailed.ts"
import { withHelp } from "../help/Guide.ts"
import { printableJson, printableLine } from "../printable.ts"
import { table } from "../table.ts"
import { givenOf } from "../flags.ts"
import { json, limitFlag } from "./listFlags.ts"
import { goesOn, showProgress, showsText, tell } from "./progress.ts"
import { age, ask, connect, ENVIRONMENT, EXITS, gatewayFlag, listFirst } from "./remote.ts"
import { report, taskText } from "./report.ts"

const id = Argument.String("id").pipe(Argument.withDescription("Id of the job, as in `sealgate jobs`"))
const ofOne = { id, gateway: gatewayFlag, json }

const showCommand = Command.make(
  "show",
  ofOne,
  Effect.fn(function* (input) {
    const gateway = yield* connect(input.gateway)
    const job = yield* ask((signal) => gateway.jobs.get(input.id, { signal }))
    yield* Console.log(input.json ? printableJson(job) : `${printableLine(taskText(job.task))}\n\n${report(job)}`)
  }),
).pipe(
  withHelp({
    summary: "Show a job with its answer",
    description: "Shows a job's task, then its answer, verdict and cost, or why there are none.",
    examples: [
      ["sealgate jobs show 01a1ffb3-0069-7182-bc51-ccb8d938e694", "Answer, verdict and cost"],
      ["sealgate jobs show 01a1ffb3-0069-7182-bc51-ccb8d938e694 --json", "For programs: the whole job"],
    ],
    environment: ENVIRONMENT,
    exits: EXITS,
    next: "`sealgate jobs follow <id>` waits until it ends.",
  }),
)

const followCommand = Command.make(
  "follow",
  ofOne,
  Effect.fn(function* (input) {
    const gateway = yield* connect(input.gateway)
    const { mode } = yield* ask((signal) => gateway.jobs.get(input.id, { signal }))
    const writes = showsText(input.json)
    const shown = yield* ask((signal) => showProgress(mode, gateway.jobs.events(input.id, { signal }), writes)).pipe(
      Effect.onInterrupt(() => Effect.sync(() => tell(goesOn(input.id)))),
    )
    const job = shown.job ?? (yield* ask((signal) => gateway.jobs.get(input.id, { signal })))
    yield* Console.log(input.json ? printableJson(job) : report(job, shown.text))
    if (job.status !== "completed") return yield* new CommandFailed({ message: "", exitCode: 1 })
  }),
).pipe(
  withHelp({
    summary: "Follow a job to its end",
    description:
      "Shows a job's steps, beginning with those already done, in the direct mode the text as it is written, and at the end answer, verdict and cost.",
    examples: [
      ["sealgate jobs follow 01a1ffb3-0069-7182-bc51-ccb8d938e694", "After you left `sealgate run`"],
      ["sealgate jobs follow 01a1ffb3-0069-7182-bc51-ccb8d938e694 --json", "For programs: the ended job"],
    ],
    environment: ENVIRONMENT,
    exits: {
      ...EXITS,
      0: "the job completed",
      1: "the job did not complete, or the gateway cannot be reached or refused",
      130: "ended by Ctrl-C; the job goes on",
    },
    next: "`sealgate jobs cancel <id>` ends a job.",
  }),
)

const cancelCommand = Command.make(
  "cancel",
  ofOne,
  Effect.fn(function* (input) {
    const gateway = yield* connect(input.gateway)
    const job = yield* ask((signal) => gateway.jobs.cancel(input.id, { signal }))
    yield* Console.log(input.json ? printableJson(job) : report(job))
  }),
).pipe(
  withHelp({
    summary: "Cancel a job",
    description: "Cancels a running or waiting job. A job that has ended does not change.",
    examples: [
      ["sealgate jobs cancel 01a1ffb3-0069-7182-bc51-ccb8d938e694", "No further step begins"],
      ["sealgate jobs cancel 01a1ffb3-0069-7182-bc51-ccb8d938e694 --json", "For programs: the job"],
    ],
    environment: ENVIRONMENT,
    exits: { ...EXITS, 0: "the job has ended" },
  }),
)

const resumeCommand = Command.make(
  "resume",
  ofOne,
  Effect.fn(function* (input) {
    const gateway = yield* connect(input.gateway)
    const job = yield* ask((signal) => gateway.jobs.resume(input.id, { signal }))
    yield* Console.log(input.json ? printableJson(job) : report(job))
  }),
).pipe(
  withHelp({
    summary: "Resume a failed job",
    description: "Queues a job that failed or timed out again. It goes on after its finished steps.",
    examples: [
      ["sealgate jobs resume 01a1ffb3-0069-7182-bc51-ccb8d938e694", "After you removed the cause of its failure"],
      ["sealgate jobs resume 01a1ffb3-0069-7182-bc51-ccb8d938e694 --json", "For programs: the job"],
    ],
    environment: ENVIRONMENT,
    exits: { ...EXITS, 0: "the job is queued", 1: "the job can not be resumed, or the gateway cannot be reached" },
    next: "`sealgate jobs follow <id>` waits until it ends.",
  }),
)

/** Longest task in a list, in characters. */
const MAX_TASK = 60

const taskShown = (task: string): string => {
  const line = printableLine(task).trim()
  return line.length > MAX_TASK ? `${line.slice(0, MAX_TASK - 1)}…` : line
}

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
    const { limit, status } = input
    const items = yield* listFirst(limit, (at) => gateway.jobs.list({ ...at, ...givenOf({ status }) }))
    if (input.json) return yield* Console.log(printableJson(items))
    if (items.length === 0) {
      return yield* Console.log(
        Option.match(status, {
          onNone: () => 'No jobs yet: `sealgate run "…"` starts one.',
          onSome: (status) => `No jobs with the status ${status}.`,
        }),
      )
    }
    const now = yield* Clock.currentTimeMillis
    yield* Console.log(
      table([
        ["ID", "MODE", "STATUS", "COST", "AGE", "TASK"],
        ...items.map((job) => [
          job.id,
          job.mode,
          job.status,
          usd(job.cost_micro_usd),
          age(job.created_at, now),
          taskShown(taskText(job.task)),
        ]),
      ]),
    )
  }),
).pipe(
  withHelp({
    summary: "List, show, follow, cancel and resume jobs of a gateway",
    description: "Lists your tenant's jobs on a gateway, newest first. Your token names the tenant.",
    examples: [
      ["sealgate jobs", "The newest 20 on a gateway on this machine"],
      ["sealgate jobs --status failed", "Recent failures"],
      ["sealgate jobs show 01a1ffb3-0069-7182-bc51-ccb8d938e694", "Answer, verdict and cost of one job"],
    ],
    environment: ENVIRONMENT,
    exits: EXITS,
    next: '`sealgate run "…"` starts a job.',
  }),
  Command.withSubcommands([showCommand, followCommand, cancelCommand, resumeCommand]),
)
