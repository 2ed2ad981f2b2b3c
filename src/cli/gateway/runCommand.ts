import { text } from "node:stream/consumers"
import { usd } from "../../domain/routing/dollars.ts"
import { Console, Effect, Option, Schema } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import type { GatewayClient } from "../../client/gateway/GatewayClient.ts"
import { ThreadId } from "../../domain/jobs/thread.ts"
import { JobPriority } from "../../domain/jobs/job.ts"
import { BuiltInMode, MODES } from "../../domain/jobs/modes.ts"
import { Effort } from "../../domain/jobs/modes/description.ts"
import { CommandFailed, unusable } from "../CommandFailed.ts"
import { givenOf, jsonFlag, optionalFlag } from "../flags.ts"
import { readInput } from "../inputFile.ts"
import { printableJson } from "../printable.ts"
import { goesOn, showProgress, showsText, tell } from "./progress.ts"
import { ask, connect, gatewayFlag, overPages, withGatewayHelp } from "./remote.ts"
import { report } from "./report.ts"

/** Name of the agent that is created if none is given, and reused later. */
const OWN_AGENT = "command-line"

const agentFor = Effect.fnUntraced(function* (gateway: GatewayClient, given: Option.Option<string>) {
  if (Option.isSome(given)) return given.value
  const own = yield* ask(async (signal) => {
    for await (const agent of overPages((at) => gateway.agents.list({ limit: 100, ...at, signal }))) {
      if (agent.name === OWN_AGENT) return agent
    }
    return undefined
  })
  if (own !== undefined) return own.id
  const created = yield* Effect.mapError(
    ask((signal) => gateway.agents.create({ name: OWN_AGENT }, { signal })),
    ({ exitCode, message }) =>
      new CommandFailed({
        message: `${message}\nThere is no agent named ${OWN_AGENT}, and creating it failed. Name another with --agent, or ask a manager to run: sealgate agents create ${OWN_AGENT}`,
        exitCode,
      }),
  )
  return created.id
})

const decodeThread = Schema.decodeEffect(ThreadId)

const threadFor = Effect.fnUntraced(function* (gateway: GatewayClient, agent: string, given: Option.Option<string>) {
  if (Option.isNone(given)) return Option.none()
  if (given.value !== "new") {
    const unknown = () => unusable("--thread takes the id of a thread, which `--thread new` prints, or new.")
    return yield* Effect.mapError(Effect.asSome(decodeThread(given.value)), unknown)
  }
  const { id } = yield* ask((signal) => gateway.threads.create(agent, { signal }))
  tell(`thread ${id}: continue it with --thread ${id}`)
  return Option.some(id)
})

const decodeSchema = Schema.decodeEffect(Schema.fromJsonString(Schema.Record(Schema.String, Schema.Unknown)))

const taskOf = Effect.fnUntraced(function* (given: Option.Option<string>) {
  const piped = Option.getOrElse(given, () => "-") === "-"
  const task = !piped
    ? Option.getOrElse(given, () => "")
    : process.stdin.isTTY
      ? ""
      : yield* Effect.promise(() => text(process.stdin))
  if (task.trim() !== "") return task
  return yield* unusable('The task is empty: give one, such as sealgate run "Is 391 a prime?".')
})

/** Reads the file of `--output-schema`. The gateway checks the schema. */
const schemaIn = Effect.fnUntraced(function* (file: Option.Option<string>) {
  if (Option.isNone(file)) return Option.none()
  const bytes = yield* readInput(file.value, "The file of --output-schema")
  return yield* Effect.mapError(Effect.asSome(decodeSchema(String(bytes))), () =>
    unusable("The file of --output-schema is not a JSON object; write a JSON Schema."),
  )
})

export const runCommand = Command.make(
  "run",
  {
    task: Argument.String("task").pipe(
      Argument.withDescription("The task, in quotes; without it, or with -, standard input is read"),
      Argument.optional,
    ),
    gateway: gatewayFlag,
    mode: optionalFlag(
      "mode",
      "name",
      `How the answer is checked. ${BuiltInMode.literals.map((mode) => `${mode}: ${MODES[mode].hint}`).join(" ")} ` +
        "A gateway may have others (default: the agent's)",
      Schema.String,
    ),
    effort: Flag.Literals("effort", Effort.literals).pipe(
      Flag.withDescription("Effort of the job: more samples or rounds (default: the agent's)"),
      Flag.optional,
    ),
    priority: Flag.Literals("priority", JobPriority.literals).pipe(
      Flag.withDescription("Whether it begins before or after your tenant's other jobs; high needs the role manage"),
      Flag.optional,
    ),
    concurrencyKey: optionalFlag(
      "concurrency-key",
      "key",
      "Starts only while no other job of your tenant with this key, such as deploy-prod, is under way",
      Schema.String,
    ),
    agent: optionalFlag(
      "agent",
      "id",
      `Id of the agent, as in \`sealgate agents\` (default: an agent named ${OWN_AGENT}, created if missing)`,
      Schema.String,
    ),
    outputSchema: optionalFlag(
      "output-schema",
      "file",
      "File with a JSON Schema of an object, which the answer must fit (mode direct)",
      Schema.String,
    ),
    thread: optionalFlag(
      "thread",
      "id",
      "Continues a thread, by its id; `new` begins one and prints its id (default: the task stands alone)",
      Schema.String,
    ),
    json: jsonFlag("Print the ended job as JSON; progress and errors are text on standard error"),
  },
  Effect.fn(function* (input) {
    const task = yield* taskOf(input.task)
    const output_schema = yield* schemaIn(input.outputSchema)
    const gateway = yield* connect(input.gateway)
    const agent = yield* agentFor(gateway, input.agent)
    const options = givenOf({ effort: input.effort, output_schema })
    const thread_id = yield* threadFor(gateway, agent, input.thread)
    const concurrency = Option.map(input.concurrencyKey, (key) => ({ key }))
    const given = { task, options, ...givenOf({ mode: input.mode, priority: input.priority, concurrency, thread_id }) }
    const job = yield* ask((signal) => gateway.agents.execute(agent, given, { signal }))
    const { at_most } = job.job
    tell(
      at_most === undefined
        ? `job ${job.id}`
        : `job ${job.id}: at most ${at_most.calls} calls and ${usd(at_most.cost_micro_usd)}`,
    )
    const writes = showsText(input.json)
    const { text: shown } = yield* ask((signal) => showProgress(job.job.mode, job.events({ signal }), writes)).pipe(
      Effect.onInterrupt(() => Effect.sync(() => tell(goesOn(job.id)))),
    )
    yield* Console.log(input.json ? printableJson(job.job) : report(job.job, shown))
    if (job.job.status !== "completed") return yield* new CommandFailed({ message: "", exitCode: 1 })
  }),
).pipe(
  withGatewayHelp({
    summary: "Run a task on a gateway",
    description: `Gives a task to a gateway's agent and waits. It shows the job's id, the steps as they begin and finish, with model and
elapsed time, then answer, verdict and cost. In the direct mode, a terminal shows the answer while it is written. Ending the command does not end the job.`,
    examples: [
      ['sealgate run "Is 391 a prime?"', "With an agent that is created for you"],
      ['sealgate run "Is 391 a prime?" --mode verified', "Several models answer, and their answers are compared"],
      [
        'sealgate run --mode direct --output-schema city.json --json "Where is Oslo?"',
        "The output as JSON that fits a schema",
      ],
      ['sealgate run --thread new "Name a prime above 100."', "Begins a conversation, which --thread ID continues"],
      ["sealgate run --mode adversarial --json < task.txt", "For programs"],
    ],
    exits: {
      0: "the job completed, whatever its verdict",
      1: "the job did not complete, or the gateway cannot be reached or refused",
      130: "interrupted by a signal; the job continues",
    },
    next: "`sealgate jobs show <id>` shows the job again, `sealgate jobs` lists all jobs.",
  }),
)
