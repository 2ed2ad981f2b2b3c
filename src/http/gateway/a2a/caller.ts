/** Callers of an agent over A2A, and the tasks that they may see. */
import { Effect, type Scope, type Stream } from "effect"
import type { Identity } from "../../../domain/access/identity.ts"
import type { Agent } from "../../../domain/jobs/agent.ts"
import { JobNotFound } from "../../../domain/jobs/job.ts"
import { mayExecute } from "../../../services/access/mayExecute.ts"
import type { Jobs } from "../../../services/jobs/Jobs.ts"
import type { MethodFailure } from "./rpcErrors.ts"

export interface AgentCaller {
  readonly user: Identity
  readonly agent: Agent
}

/** `later` may take as long as a job. */
export type MethodResult =
  | { readonly result: object }
  | { readonly later: Effect.Effect<object, MethodFailure> }
  | { readonly results: Stream.Stream<object, MethodFailure> }

export type Method = (caller: AgentCaller, params: unknown) => Effect.Effect<MethodResult, MethodFailure, Scope.Scope>

export const needsRun = ({ agent, user }: AgentCaller) => mayExecute(user, agent.id, {})

export const makeJobOf = (jobs: Jobs["Service"]) =>
  Effect.fnUntraced(function* ({ agent, user }: AgentCaller, id: string) {
    const job = yield* jobs.get(user.tenant, id)
    return job.agent_id === agent.id ? job : yield* new JobNotFound()
  })
