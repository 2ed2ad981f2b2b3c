import { Schema } from "effect"
import { Thread as ThreadSchema } from "../../domain/jobs/thread.ts"
import { withoutUndefined } from "../../domain/json/withoutUndefined.ts"
import { ApiPart, type CallOptions, type Page, type PageOptions, readPage, run } from "./gatewayCalls.ts"

/** A conversation with an agent. `agents.execute` continues it with its id as `thread_id`. */
export type Thread = typeof ThreadSchema.Encoded

const encode = Schema.encodeSync(ThreadSchema)

export class ThreadsClient extends ApiPart {
  /** Begins a thread with an agent. */
  async create(agent: string, options?: CallOptions): Promise<Thread> {
    return encode(await run(this.connection.api.threads.create({ payload: { agent_id: agent } }), options))
  }

  async get(id: string, options?: CallOptions): Promise<Thread> {
    return encode(await run(this.connection.repeatable.threads.get({ params: { id } }), options))
  }

  /** Newest first. */
  async list({ signal, ...query }: PageOptions = {}): Promise<Page<Thread>> {
    return readPage(this.connection.repeatable.threads.list({ query: withoutUndefined(query) }), signal, encode)
  }

  /** Deletes the thread with all of its jobs. */
  async remove(id: string, options?: CallOptions): Promise<void> {
    await run(this.connection.api.threads.remove({ params: { id } }), options)
  }
}
