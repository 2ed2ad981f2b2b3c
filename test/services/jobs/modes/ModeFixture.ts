/** A job in memory whose steps are kept like the engine keeps them, over the real router and a scripted upstream. */
import { DateTime, Effect, Layer, Schema } from "effect"
import { type Agent, type AgentLimits, DEFAULT_LIMITS, TenantId } from "../../../../src/domain/jobs/agent.ts"
import type { HttpTool, ListedTool, McpServer } from "../../../../src/domain/jobs/tool.ts"
import { AgentId } from "../../../../src/domain/jobs/agent.ts"
import { JobId, type JobTask, type StepCall } from "../../../../src/domain/jobs/job.ts"
import type { JobOptions, JobResult, Mode } from "../../../../src/domain/jobs/modes.ts"
import { AdversarialResult } from "../../../../src/domain/jobs/modes/adversarial.ts"
import { DirectResult } from "../../../../src/domain/jobs/modes/direct.ts"
import { VerifiedResult } from "../../../../src/domain/jobs/modes/verified.ts"
import type { RoutingSettingsInput } from "../../../../src/domain/routing/routing.ts"
import type { TargetFilter } from "../../../../src/domain/upstream/targets.ts"
import type { UpstreamError, UpstreamRequest } from "../../../../src/domain/upstream/upstream.ts"
import { stepName } from "../../../../src/domain/jobs/step.ts"
import { JobFailure, JobProgram, type JobContext } from "../../../../src/services/jobs/JobProgram.ts"
import * as Modes from "../../../../src/services/jobs/modes/ModePrograms.ts"
import { Tools } from "../../../../src/services/tools/Tools.ts"
import { REPAIR } from "../../../../src/services/jobs/modes/engine/prompts.ts"
import { prompts as debate } from "../../../../src/services/jobs/modes/adversarial/prompts.ts"
import { prompts } from "../../../../src/services/jobs/modes/verified/prompts.ts"
import { ledgerRows, routing, settings } from "../../routing/RouterFixture.ts"
import { type Reply, type Script, ScriptedUpstream, status } from "../../routing/ScriptedUpstream.ts"

/** A stored step: its encoded value, and its call. */
export interface StoredStep {
  readonly value: string | null
  readonly call: StepCall | undefined
}

export interface JobOf {
  readonly mode: Mode
  readonly task?: JobTask
  readonly options?: JobOptions
  readonly limits?: Partial<AgentLimits>
  readonly budgeted?: JobContext["budgeted"]
  readonly policy?: TargetFilter
  readonly instructions?: string
  readonly tools?: ReadonlyArray<HttpTool>
  readonly servers?: ReadonlyArray<McpServer>
  readonly asks?: Agent["ask_person"]
  readonly steps?: Map<string, StoredStep>
}

const ID = "01890a5d-ac96-774b-bcce-b302099a8057"

export const contextOf = (job: JobOf, steps: Map<string, StoredStep>): JobContext => ({
  jobId: JobId.make(ID),
  tenant: TenantId.make("acme"),
  agent: {
    id: AgentId.make(ID),
    name: "tester",
    ...(job.instructions === undefined ? {} : { instructions: job.instructions }),
    ...(job.tools === undefined ? {} : { tools: job.tools }),
    ...(job.servers === undefined ? {} : { mcp_servers: job.servers }),
    ...(job.asks === undefined ? {} : { ask_person: job.asks }),
    default_mode: job.mode,
    model_policy: job.policy ?? {},
    limits: { ...DEFAULT_LIMITS, ...job.limits },
    metadata: {},
    version: 1,
    created_at: DateTime.makeUnsafe(0),
    updated_at: DateTime.makeUnsafe(0),
  },
  task: job.task ?? "What is 6 × 7?",
  mode: job.mode,
  options: job.options ?? {},
  metadata: {},
  attempt: 1,
  labels: {},
  budgeted: job.budgeted ?? [],
  step: stepOver(steps),
  ask: () => Effect.die(new Error("A program asked a person.")),
  waitUntil: () => Effect.die(new Error("A program waited.")),
})

const stepOver = (steps: Map<string, StoredStep>): JobContext["step"] => {
  const begun = new Set<string>()
  return (step, schema, effect) =>
    Effect.gen(function* () {
      const name = stepName(step)
      if (begun.has(name)) return yield* Effect.die(new Error(`step ${name} begun twice`))
      begun.add(name)
      const codec = Schema.fromJsonString(schema)
      const known = steps.get(name)?.value
      if (known != null) return yield* Effect.orDie(Schema.decodeEffect(codec)(known))
      const { call, value } = yield* Effect.tapError(effect, (error) =>
        Effect.sync(() => steps.set(name, { value: null, call: error instanceof JobFailure ? error.call : undefined })),
      )
      steps.set(name, { value: yield* Effect.orDie(Schema.encodeEffect(codec)(value)), call })
      return value
    })
}

/** The kind of a request, recognized by its text. */
export const kindOf = ({ completion: { messages, response_format: format } }: UpstreamRequest): string => {
  const text = JSON.stringify(messages)
  if (format?.type === "json_schema") {
    return text.includes(REPAIR) ? `${format.json_schema.name}-repair` : format.json_schema.name
  }
  const says = (prompt: string) => text.includes(JSON.stringify(prompt).slice(1, -1))
  if (says(prompts.verifier)) return "answer"
  // Beside tools, no format is sent.
  for (const [kind, prompt] of Object.entries(DEBATE)) if (says(prompt)) return kind
  return says(prompts.correct) ? "correct" : "propose"
}

const DEBATE = { critique: debate.critic, respond: debate.respond, judge: debate.judge }

type Answers = Readonly<
  Record<string, unknown | ((request: UpstreamRequest, index: number) => Reply | UpstreamError | string)>
>

/** Replies by what is asked: text as it is, values as JSON, functions by how often they were asked. */
export const replying = (answers: Answers): Script => {
  const counts = new Map<string, number>()
  return (request) => {
    const kind = kindOf(request)
    const index = counts.get(kind) ?? 0
    counts.set(kind, index + 1)
    const answer = answers[kind]
    const said: unknown = typeof answer === "function" ? answer(request, index) : answer
    if (typeof said === "string") return { text: said }
    if (said instanceof Error || (typeof said === "object" && said !== null && isReply(said))) {
      return said as Reply | UpstreamError // Told apart by their members.
    }
    return { text: JSON.stringify(said) }
  }
}

const isReply = (said: object): boolean =>
  ["text", "toolCalls", "refusal", "usage", "hangs"].some((member) => member in said)

/** The requests of a kind. */
export const asked = (upstream: ScriptedUpstream, kind: string) =>
  upstream.requests.filter((request) => kindOf(request) === kind)

/** Replies in this order. */
export const inOrder =
  (...given: ReadonlyArray<Reply>): Script =>
  (_, index) =>
    given[index] ?? {}

/** A tool of an MCP server as it lists it. */
export const listedTool = (name: string, read_only = true): ListedTool => ({
  name,
  remote: name,
  description: "",
  input_schema: { type: "object" },
  read_only,
  idempotent: true,
})

export interface Ran<A> {
  readonly result: A
  readonly upstream: ScriptedUpstream
  readonly steps: Map<string, StoredStep>
  readonly rows: Effect.Success<typeof ledgerRows>
}

const three = [status("provider1"), status("provider2"), status("provider3")]

/** Runs a job to its end; every result has passed the schema that callers see it through. */
const running =
  <A extends JobResult>(schema: Schema.Codec<A, unknown>, mode: Mode) =>
  (
    answers: Answers,
    job: Omit<JobOf, "mode"> & {
      readonly upstream?: ScriptedUpstream
      readonly script?: Script
      readonly call?: Tools["call"]
      readonly list?: Tools["list"]
      /** How often the job is run, each time anew. */
      readonly times?: number
    } = {},
    input: Partial<RoutingSettingsInput> = {},
  ) => {
    const upstream = job.upstream ?? new ScriptedUpstream(three)
    upstream.script = job.script ?? replying(answers)
    const steps = job.steps ?? new Map<string, StoredStep>()
    return Effect.gen(function* () {
      const program = yield* JobProgram
      for (let before = 1; before < (job.times ?? 1); before++)
        yield* program.run(contextOf({ ...job, mode }, new Map()))
      const result = yield* program.run(contextOf({ ...job, mode }, steps))
      const encoded = yield* Effect.orDie(Schema.encodeUnknownEffect(schema)(result))
      const decoded = yield* Effect.orDie(Schema.decodeUnknownEffect(schema)(encoded))
      const ran: Ran<A> = { result: decoded, upstream, steps, rows: yield* Effect.orDie(ledgerRows) }
      return ran
    }).pipe(
      Effect.provide(
        Layer.orDie(
          Layer.provideMerge(
            Layer.provide(
              Modes.layer,
              Layer.succeed(Tools, {
                ...Tools.defaultValue(),
                ...(job.call === undefined ? {} : { call: job.call }),
                ...(job.list === undefined ? {} : { list: job.list }),
              }),
            ),
            routing(upstream, settings(input)),
          ),
        ),
      ),
    )
  }

export const debating = running(AdversarialResult, "adversarial")
export const answering = running(DirectResult, "direct")
export const verifying = running(VerifiedResult, "verified")
