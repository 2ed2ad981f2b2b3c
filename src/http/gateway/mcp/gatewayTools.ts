/** The tools that the gateway offers over MCP, each under the limits of its caller. */
import { Duration, Effect, Schema, type Scope } from "effect"
import { type Identity, permitsAgent } from "../../../domain/access/identity.ts"
import { MAX_NAME, ModeName } from "../../../domain/jobs/agent.ts"
import { IdempotencyKey, type Job, JobNotFound } from "../../../domain/jobs/job.ts"
import { Effort } from "../../../domain/jobs/modes/description.ts"
import { withoutUndefined } from "../../../domain/json/withoutUndefined.ts"
import type { Refusal } from "../../../domain/problems/refusal.ts"
import { Agents } from "../../../services/agents/Agents.ts"
import { Jobs } from "../../../services/jobs/Jobs.ts"
import { makeAgentTasks } from "../agentTasks.ts"
import { makeWaitingPlace } from "../waitingPlace.ts"

const MAX_WAIT_SECONDS = 60
/** Below the minute after which many MCP clients give up. */
const DEFAULT_WAIT_SECONDS = 45

const Wait = Schema.optionalKey(
  Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: MAX_WAIT_SECONDS })).annotate({
    description: `Seconds to wait for the job's end. Default ${DEFAULT_WAIT_SECONDS}.`,
  }),
)

const ListAgents = Schema.Struct({
  cursor: Schema.optionalKey(
    Schema.String.check(Schema.isMaxLength(100)).annotate({ description: "The next_cursor of the previous page." }),
  ),
})

const RunAgent = Schema.Struct({
  agent: Schema.String.check(Schema.isBetweenLength(1, MAX_NAME)).annotate({ description: "Id or name of the agent." }),
  task: Schema.NonEmptyString.annotate({ description: "What the agent is to do." }),
  mode: Schema.optionalKey(ModeName),
  effort: Schema.optionalKey(Effort),
  idempotency_key: Schema.optionalKey(IdempotencyKey),
  wait_seconds: Wait,
})

const GetJob = Schema.Struct({
  job_id: Schema.String.check(Schema.isMaxLength(64)).annotate({ description: "As run_agent returned it." }),
  wait_seconds: Wait,
})

/** A tool: what models see of it, and what it does. */
interface McpTool<A> {
  readonly name: string
  readonly description: string
  readonly input: Schema.Codec<A, unknown>
  readonly read_only: boolean
  readonly run: (user: Identity, input: A) => Effect.Effect<object, Refusal, Scope.Scope>
}

/** The part of a job that a model needs. */
const shown = ({ agent_id, id, problem, question, result, status }: Job) => ({
  job_id: id,
  agent_id,
  status,
  ...withoutUndefined({
    answer: result?.answer,
    verdict: result?.verdict,
    question: question?.question,
    problem: problem === undefined ? undefined : withoutUndefined({ title: problem.title, detail: problem.detail }),
  }),
})

export const makeGatewayTools = Effect.gen(function* () {
  const agents = yield* Agents
  const jobs = yield* Jobs
  const tasks = yield* makeAgentTasks
  const place = yield* makeWaitingPlace
  const waited = (user: Identity, job: Job, seconds: number) =>
    Effect.map(seconds === 0 ? Effect.succeed(job) : tasks.waited(user, job, Duration.seconds(seconds)), shown)

  const listAgents: McpTool<typeof ListAgents.Type> = {
    name: "list_agents",
    description: "Lists the agents that can be given tasks.",
    input: ListAgents,
    read_only: true,
    run: Effect.fnUntraced(function* (user, page) {
      const { items, ...next } = yield* agents.list(user.tenant, page, user.key?.agents)
      return {
        ...next,
        agents: items.map(({ default_mode, id, name, role }) => ({
          id,
          name,
          default_mode,
          ...withoutUndefined({ role }),
        })),
      }
    }),
  }

  const runAgent: McpTool<typeof RunAgent.Type> = {
    name: "run_agent",
    description:
      "Gives an agent a task and waits for its answer. If the status is queued or running, the job goes on: call get_job with its job_id. If it is input_required, a person must answer its question first.",
    input: RunAgent,
    read_only: false,
    run: Effect.fnUntraced(function* (
      user,
      { agent, effort, idempotency_key, mode, task, wait_seconds = DEFAULT_WAIT_SECONDS },
    ) {
      const options = effort === undefined ? undefined : { effort }
      const request = { task, ...withoutUndefined({ mode, options }) }
      const job = yield* tasks.give(user, { agent, request, key: idempotency_key, waits: wait_seconds > 0 })
      return yield* waited(user, job, wait_seconds)
    }),
  }

  const getJob: McpTool<typeof GetJob.Type> = {
    name: "get_job",
    description: "Reads a job, and waits for its end.",
    input: GetJob,
    read_only: true,
    run: Effect.fnUntraced(function* (user, { job_id, wait_seconds = DEFAULT_WAIT_SECONDS }) {
      const job = yield* jobs.get(user.tenant, job_id)
      if (!permitsAgent(user, job.agent_id)) return yield* new JobNotFound()
      if (wait_seconds > 0) yield* place(user.tenant)
      return yield* waited(user, job, wait_seconds)
    }),
  }

  return [runnable(listAgents), runnable(runAgent), runnable(getJob)]
})

/** A tool whose input is still to be checked. */
export interface RunnableTool {
  readonly name: string
  readonly listed: object
  readonly run: (user: Identity, input: unknown) => Effect.Effect<object, Refusal | Schema.SchemaError, Scope.Scope>
}

const runnable = <A>({ description, input, name, read_only, run }: McpTool<A>): RunnableTool => {
  const decode = Schema.decodeUnknownEffect(input, { errors: "all", onExcessProperty: "error" })
  const { definitions, schema } = Schema.toJsonSchemaDocument(input, { onExcessProperty: "error" })
  const inputSchema = { ...schema, ...(Object.keys(definitions).length === 0 ? {} : { $defs: definitions }) }
  return {
    name,
    listed: { name, description, inputSchema, annotations: { readOnlyHint: read_only } },
    run: (user, given) => Effect.flatMap(decode(given), (decoded) => run(user, decoded)),
  }
}
