import { Console, Effect, Option } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import type { GatewayClient } from "../../client/GatewayClient.ts"
import type { Job } from "../../client/GatewayJobs.ts"
import { Mode } from "../../domain/agent.ts"
import { CommandFailed } from "../CommandFailed.ts"
import { jsonFlag } from "../flags.ts"
import { bold, dim } from "../terminal.ts"
import { ask, connect, dollars, gatewayFlag, TOKEN_HELP } from "./remote.ts"

/** Name of the agent that is made when none is given, and taken again the next time. */
const OWN_AGENT = "command-line"

const agentFor = Effect.fnUntraced(function* (gateway: GatewayClient, given: Option.Option<string>) {
  if (Option.isSome(given)) return given.value
  const { items } = yield* ask((signal) => gateway.agents.list({ limit: 100, signal }))
  const own = items.find(({ name }) => name === OWN_AGENT)
  return (own ?? (yield* ask((signal) => gateway.agents.create({ name: OWN_AGENT }, { signal })))).id
})

const report = ({ cost_micro_usd, problem, result, status, usage }: Job): string => {
  const cost = dim(`${usage.calls} calls, ${dollars(cost_micro_usd)}`)
  if (result == null) return `${bold(status)}: ${problem?.detail ?? problem?.title ?? "no result"}\n${cost}`
  const sure =
    "rounds" in result
      ? result.confidence === null
        ? ""
        : `, confidence ${result.confidence}`
      : `, agreement ${result.agreement.toFixed(2)}`
  const note = result.note === undefined ? "" : `\n${result.note}`
  return `${result.answer}\n\n${bold(result.verdict)}${sure}${note}\n${cost}`
}

export const runCommand = Command.make(
  "run",
  {
    task: Argument.String("task").pipe(Argument.withDescription("What to do")),
    gateway: gatewayFlag,
    mode: Flag.Literals("mode", Mode.literals).pipe(Flag.withDescription("How to make sure"), Flag.optional),
    agent: Flag.String("agent").pipe(
      Flag.withDescription(`Id of the agent; default: one called ${OWN_AGENT}, made when there is none`),
      Flag.optional,
    ),
    json: jsonFlag("Print the ended job as JSON"),
  },
  Effect.fn(function* (input) {
    const gateway = yield* connect(input.gateway)
    const agent = yield* agentFor(gateway, input.agent)
    const mode = Option.match(input.mode, { onNone: () => ({}), onSome: (mode) => ({ mode }) })
    const job = yield* ask((signal) => gateway.agents.execute(agent, { task: input.task, ...mode }, { signal }))
    yield* ask(async (signal) => {
      for await (const event of job.events({ signal })) {
        // Progress is for people, so it stays out of what a program reads.
        if (event.type === "step") process.stderr.write(dim(`${event.step.name} by ${event.step.model ?? "nobody"}\n`))
      }
    })
    yield* Console.log(input.json ? JSON.stringify(job.job) : report(job.job))
    if (job.job.status !== "completed") return yield* new CommandFailed({ message: "", exitCode: 1 })
  }),
).pipe(
  Command.withShortDescription("Run a task on a gateway"),
  Command.withDescription(
    `Gives an agent a task and shows its steps as they finish, then answer, verdict and cost. Ending the command does not
end the job. Exits 0 when the job completed, 1 when it did not, 2 when called wrongly. ${TOKEN_HELP}`,
  ),
  Command.withExamples([
    { command: 'sealgate run "Is 391 a prime?" --mode verified', description: "Draft, samples, questions, answer" },
    { command: 'sealgate run "Review this: …" --mode adversarial --json', description: "For programs" },
  ]),
)
