import { text } from "node:stream/consumers"
import { Console, Effect, Option, Schema } from "effect"
import { usd } from "../../domain/routing/dollars.ts"
import { Command, Flag } from "effect/cli"
import { JobStatus } from "../../domain/jobs/job.ts"
import { CommandFailed, unusable } from "../CommandFailed.ts"
import { printableJson, printableLine } from "../printable.ts"
import { givenOf, optionalFlag } from "../flags.ts"
import { idArgument, makeItemCommand } from "./itemCommands.ts"
import { limitFlag, printList } from "./listCommand.ts"
import { goesOn, showProgress, showsText, tell } from "./progress.ts"
import { age, ask, connect, gatewayFlag, gatewayFlags, json, listFirst, withGatewayHelp } from "./remote.ts"
import { report, taskText } from "./report.ts"

const ofOne = { id: idArgument("job"), ...gatewayFlags }

const showCommand = makeItemCommand("show", {
  kind: "job",
  call: (gateway, id, options) => gateway.jobs.get(id, options),
  text: (job) => `${printableLine(taskText(job.task))}\n\n${report(job)}`,
  help: {
    summary: "Show a job with its answer",
    description: "Shows a job's task, then its answer, verdict and cost, or why there are none.",
    examples: [
      ["sealgate jobs show 01a1ffb3-0069-7182-bc51-ccb8d938e694", "Answer, verdict and cost"],
      ["sealgate jobs show 01a1ffb3-0069-7182-bc51-ccb8d938e694 --json", "For programs: the whole job"],
    ],
    next: "`sealgate jobs follow <id>` waits until it ends.",
  },
})

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
  withGatewayHelp({
    summary: "Follow a job to its end",
    description:
      "Shows a job's steps, finished ones first, then its answer, verdict and cost. In the mode direct, the text appears as it is written.",
    examples: [
      ["sealgate jobs follow 01a1ffb3-0069-7182-bc51-ccb8d938e694", "After you left `sealgate run`"],
      ["sealgate jobs follow 01a1ffb3-0069-7182-bc51-ccb8d938e694 --json", "For programs: the ended job"],
    ],
    exits: {
      0: "the job completed",
      1: "the job did not complete, or the gateway cannot be reached or refused",
      130: "interrupted by a signal; the job continues",
    },
    next: "`sealgate jobs cancel <id>` ends a job.",
  }),
)

const cancelCommand = makeItemCommand("cancel", {
  kind: "job",
  call: (gateway, id, options) => gateway.jobs.cancel(id, options),
  text: report,
  help: {
    summary: "Cancel a job",
    description: "Cancels a running or waiting job. A job that has ended does not change.",
    examples: [
      ["sealgate jobs cancel 01a1ffb3-0069-7182-bc51-ccb8d938e694", "No further step begins"],
      ["sealgate jobs cancel 01a1ffb3-0069-7182-bc51-ccb8d938e694 --json", "For programs: the job"],
    ],
    exits: { 0: "the job has ended" },
  },
})

const resumeCommand = makeItemCommand("resume", {
  kind: "job",
  call: (gateway, id, options) => gateway.jobs.resume(id, options),
  text: report,
  help: {
    summary: "Resume a failed job",
    description: "Queues a job that failed or timed out again. It continues after its finished steps.",
    examples: [
      ["sealgate jobs resume 01a1ffb3-0069-7182-bc51-ccb8d938e694", "After you removed the cause of its failure"],
      ["sealgate jobs resume 01a1ffb3-0069-7182-bc51-ccb8d938e694 --json", "For programs: the job"],
    ],
    exits: { 0: "the job is queued", 1: "the job cannot be resumed, or the gateway cannot be reached" },
    next: "`sealgate jobs follow <id>` waits until it ends.",
  },
})

const inputCommand = Command.make(
  "input",
  {
    ...ofOne,
    answer: optionalFlag("answer", "json", "The answer as JSON (default: standard input)", Schema.String),
  },
  Effect.fn(function* (input) {
    const gateway = yield* connect(input.gateway)
    const asked = yield* ask((signal) => gateway.jobs.get(input.id, { signal }))
    const { question } = asked
    if (question === undefined) {
      return yield* new CommandFailed({
        message: `The job is not waiting for an answer: it is ${asked.status}.`,
        exitCode: 1,
      })
    }
    const isAtTerminal = Option.isNone(input.answer) && process.stdin.isTTY
    tell(`The agent asks: ${question.question}`)
    tell(`Schema of the answer: ${JSON.stringify(question.answer_schema)}`)
    if (isAtTerminal) return yield* unusable(`Answer with: sealgate jobs input ${input.id} --answer '{…}'`)
    const given = Option.isSome(input.answer) ? input.answer.value : yield* Effect.promise(() => text(process.stdin))
    const answer = yield* Effect.mapError(decodeAnswer(given), () => unusable("The answer is not JSON."))
    const job = yield* ask((signal) => gateway.jobs.input(input.id, answer, { signal, step: question.step }))
    yield* Console.log(input.json ? printableJson(job) : report(job))
  }),
).pipe(
  withGatewayHelp({
    summary: "Answer the question of a job",
    description: "Shows the question that a job waits for, and sends the answer. The job then continues.",
    examples: [
      ["sealgate jobs input 01a1ffb3-0069-7182-bc51-ccb8d938e694", "Shows the question, at a terminal"],
      ["sealgate jobs input 01a1ffb3-0069-7182-bc51-ccb8d938e694 < answer.json", "Answers with JSON"],
    ],
    exits: {
      0: "the answer was accepted",
      1: "the job is not waiting for an answer, the answer does not fit, or the gateway cannot be reached",
    },
    next: "`sealgate jobs follow <id>` waits until it ends.",
  }),
)

const decodeAnswer = Schema.decodeEffect(Schema.fromJsonString(Schema.Unknown))

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
    yield* printList(items, {
      json: input.json,
      none: Option.match(status, {
        onNone: () => 'No jobs yet: `sealgate run "…"` starts one.',
        onSome: (status) => `No jobs with the status ${status}.`,
      }),
      columns: ["ID", "MODE", "STATUS", "COST", "AGE", "TASK"],
      row: (job, now) => [
        job.id,
        job.mode,
        job.status,
        usd(job.cost_micro_usd),
        age(job.created_at, now),
        taskShown(taskText(job.task)),
      ],
    })
  }),
).pipe(
  withGatewayHelp({
    summary: "List, show, follow, cancel, resume and answer jobs of a gateway",
    description: "Lists your tenant's jobs on a gateway, newest first. Your token names the tenant.",
    examples: [
      ["sealgate jobs", "The newest 20 on a gateway on this machine"],
      ["sealgate jobs --status failed", "Recent failures"],
      ["sealgate jobs show 01a1ffb3-0069-7182-bc51-ccb8d938e694", "Answer, verdict and cost of one job"],
    ],
    next: '`sealgate run "…"` starts a job.',
  }),
  Command.withSubcommands([showCommand, followCommand, cancelCommand, resumeCommand, inputCommand]),
)
