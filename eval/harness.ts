/** Runs a mode as a job does, with functions as models: no network, no database, every call counted. */
import { DateTime, Effect, Layer } from "effect"
import { type Agent, AgentId, DEFAULT_LIMITS, TenantId } from "../src/domain/jobs/agent.ts"
import type { Message, ToolCall } from "../src/domain/chat/chat.ts"
import { JobId, type JobTask } from "../src/domain/jobs/job.ts"
import type { JobOptions, JobResult, Mode } from "../src/domain/jobs/modes.ts"
import type { Target } from "../src/domain/routing/routing.ts"
import { sameTarget } from "../src/domain/upstream/targets.ts"
import { type JobContext, JobProgram } from "../src/services/jobs/JobProgram.ts"
import type { Measurements } from "../src/services/jobs/modes/engine/errorModel.ts"
import { Measured } from "../src/services/jobs/modes/engine/measured.ts"
import * as Modes from "../src/services/jobs/modes/ModePrograms.ts"
import { Ledger } from "../src/services/routing/Ledger.ts"
import type { Routed, RouterRequest } from "../src/services/routing/askChat.ts"
import { Router } from "../src/services/routing/Router.ts"
import { leastRelatedFirst } from "../src/services/routing/TargetChoice.ts"
import { estimateInput } from "../src/services/routing/TokenEstimate.ts"
import { Tools } from "../src/services/tools/Tools.ts"

/** One call. `kind` names the requested type of value; absent for text. */
export interface Call {
  readonly target: Target
  readonly role: RouterRequest["role"]
  readonly messages: ReadonlyArray<Message>
  readonly kind: string | undefined
  /** Whether the model may call tools instead of answering. */
  readonly offersTools: boolean
}

/** A model's answer, or its calls of tools; empty text means no answer. */
export type Reply = string | ReadonlyArray<ToolCall["function"]>
export type Play = (call: Call) => Reply

export interface Run {
  readonly mode: Mode
  readonly task: JobTask
  readonly options?: JobOptions | undefined
  /** The models in the order they are asked. */
  readonly targets: ReadonlyArray<Target>
  readonly play: Play
  readonly measured?: Measurements | undefined
  /** The agent's tools; the ambient `Tools` carry out their calls. */
  readonly tools?: Pick<Agent, "mcp_servers"> | undefined
}

export interface Ran {
  readonly result: JobResult
  readonly calls: ReadonlyArray<Call>
  /** Estimated before the call. */
  readonly tokens: number
}

/** A target whose models need no provider. */
export const targetOf = (model: string): Target => ({ provider: "provider1", model, max_context_tokens: 1_000_000 })

export const runMode = Effect.fnUntraced(function* (run: Run) {
  const calls: Array<Call> = []
  let tokens = 0
  const router = Router.of({
    answer: () => Effect.die("not used"),
    stream: () => Effect.die("not used"),
    call: ({ completion, independentOf = [], role }) =>
      Effect.sync((): Routed => {
        const [target] = leastRelatedFirst(run.targets, independentOf)
        if (target === undefined) throw new Error("There are no targets.")
        const format = completion.response_format
        const kind = format?.type === "json_schema" ? format.json_schema.name : undefined
        const offersTools = completion.tools !== undefined && completion.tool_choice === "auto"
        const call = { target, role, messages: completion.messages, kind, offersTools }
        const reply = run.play(call)
        calls.push(call)
        const text = typeof reply === "string" ? reply : ""
        const toolCalls =
          typeof reply === "string"
            ? undefined
            : reply.map((called, i): ToolCall => ({ id: `call-${i + 1}`, type: "function", function: called }))
        const output = estimateInput({
          messages: [{ role: "assistant", content: text, ...(toolCalls !== undefined && { tool_calls: toolCalls }) }],
        })
        tokens += estimateInput(completion) + output
        return {
          text,
          refused: false,
          cut: false,
          state: {},
          target: { provider: target.provider, model: target.model },
          independent: !independentOf.some((other) => sameTarget(other, target)),
          call: { provider: target.provider, model: target.model, usage: null, cost_micro_usd: null, calls: 1 },
          escalateBelow: null,
          ...(toolCalls !== undefined && { toolCalls }),
        }
      }),
  })
  const tools = Layer.succeed(Tools, yield* Tools)
  const program = Modes.layer.pipe(
    Layer.provide(
      Layer.mergeAll(Layer.succeed(Router, router), Layer.mock(Ledger)({ spent: () => NOTHING_SPENT }), tools),
    ),
  )
  const job = JobProgram.use(({ run: start }) => start(jobContext(run, undefined, run.tools)))
  const result = yield* run.measured === undefined
    ? Effect.provide(job, program)
    : Effect.provide(Effect.provideService(job, Measured, run.measured), program)
  const ran: Ran = { result, calls, tokens }
  return ran
})

const NOTHING_SPENT = Effect.succeed(() => ({
  calls: 0,
  input_tokens: 0,
  output_tokens: 0,
  cached_tokens: 0,
  cost: 0,
  charged_tokens: 0,
  charged_cost: 0,
  unpriced: 0,
}))

const ID = "01890a5d-ac96-774b-bcce-b302099a8057"

/** A job of an agent without instructions. Its steps are not stored: an interrupted evaluation starts over. */
export const jobContext = (
  { mode, options = {}, task }: Pick<Run, "mode" | "options" | "task">,
  jobId: JobId = JobId.make(ID),
  tools: Pick<Agent, "mcp_servers"> = {},
): JobContext => ({
  jobId,
  tenant: TenantId.make("evaluation"),
  agent: {
    id: AgentId.make(ID),
    name: "evaluation",
    ...tools,
    default_mode: mode,
    model_policy: {},
    limits: { ...DEFAULT_LIMITS, max_rounds: 3 },
    metadata: {},
    version: 1,
    created_at: DateTime.makeUnsafe(0),
    updated_at: DateTime.makeUnsafe(0),
  },
  task,
  mode,
  options,
  metadata: {},
  attempt: 1,
  labels: {},
  budgeted: [],
  ask: () => Effect.die(new Error("The evaluated agent asks no people.")),
  waitUntil: () => Effect.die(new Error("The evaluated modes do not wait.")),
  step: (_, __, effect) => Effect.map(effect, ({ value }) => value),
})
