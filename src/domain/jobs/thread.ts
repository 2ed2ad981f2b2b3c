/** Threads: conversations with an agent. Each job in a thread continues it. */
import { Schema } from "effect"
import { Refusal } from "../problems/refusal.ts"
import { AgentId } from "./agent.ts"

/** UUIDv7, so ids sort by creation. */
export const ThreadId = Schema.String.check(Schema.isUUID(7))
export const isThreadId = Schema.is(ThreadId)

export const Thread = Schema.Struct({
  id: ThreadId,
  agent_id: AgentId.annotate({ description: "The agent that every job in the thread is given to." }),
  created_at: Schema.DateTimeUtcFromString,
}).annotate({ identifier: "Thread" })
export type Thread = typeof Thread.Type

export const NewThread = Schema.Struct({ agent_id: Schema.String.check(Schema.isUUID(7)) })

/** The part of a thread that a job continues: the newest completed jobs, each whole. */
export const HISTORY = {
  jobs: 50,
  /** Of their tasks and results, as stored. */
  bytes: 128 * 1024,
} as const

/** The thread does not exist, or belongs to another tenant or agent. */
export class ThreadNotFound extends Refusal<ThreadNotFound>()("ThreadNotFound", {
  code: "thread-not-found",
  status: 404,
  title: "There is no such thread of this agent.",
}) {}

/** A thread's jobs run one after the other, because each continues the one before. */
export class ThreadBusy extends Refusal<ThreadBusy>()("ThreadBusy", {
  code: "thread-busy",
  status: 409,
  title: "A job in this thread has not ended; wait for its end, or cancel it.",
  retryable: true,
}) {}
