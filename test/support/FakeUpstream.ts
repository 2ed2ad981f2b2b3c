/**
 * A fake of the model vendors for tests, demo and crash tests: a real HTTP server on a free port of 127.0.0.1 that
 * speaks OpenAI Chat Completions, Anthropic Messages and Gemini generateContent, answers by script, fails in
 * every way a vendor can fail, records requests, and refuses requests that miss what the vendor demands.
 *
 * ```ts
 * await using upstream = await FakeUpstream.start() // or, in an Effect: yield* FakeUpstream.make()
 * // Base URLs: upstream.openAi, upstream.anthropic, upstream.gemini
 *
 * // Replies are taken in order, each once. After them comes the last `always`, without one the text "ok".
 * upstream.script(
 *   fault.rateLimited({ retryAfter: 1 }),
 *   { text: "Hello" },
 *   { text: ["He", "llo"], usage: { input: 9, cached: 4, output: 2 } },
 *   { toolCalls: [{ name: "weather", arguments: { city: "Oslo" } }, { name: "time", arguments: ['{"zo', 'ne":1}'] }] },
 *   { text: "Hello there", delivery: { breaks: { after: 1, how: "cut" } } },
 *   ({ text, wire }) => ({ text: `${wire} was asked: ${text}` }),
 * )
 * upstream.always({ text: "anything else" })
 *
 * // Replies for some requests only are looked at first.
 * upstream.when({ wire: "anthropic" }).script(fault.silence)
 * upstream.when({ model: "judge" }).always({ text: '{"verdict":"upheld"}' })
 * upstream.when((asked) => asked.tools.length > 0).script({ finish: "content_filter" })
 *
 * const first = await upstream.received(1) // waits for the request to arrive
 * assert.strictEqual(first.asked?.text, "Hi")
 * assert.strictEqual(await first.ended, "hung-up")
 * ```
 *
 * Answers and faults: {@link Answer}, {@link Delivery}, {@link fault}. Records: {@link Recorded}. The same
 * conversation gives the same {@link Asked} in every format, so a translation can be tested by comparing them.
 * For a refused connection close the fake; for a TLS failure use its port with `https:`.
 */
import { randomUUID } from "node:crypto"
import { Effect, type Scope } from "effect"
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import type { AddressInfo, Socket } from "node:net"
import { anthropic } from "./fake-upstream/Anthropic.ts"
import type { Asked, Recorded } from "./fake-upstream/Asked.ts"
import { deliverAnswer, deliverError, deliverFault } from "./fake-upstream/Deliver.ts"
import { Exchange, Gone } from "./fake-upstream/Exchange.ts"
import { gemini } from "./fake-upstream/Gemini.ts"
import { openAi } from "./fake-upstream/OpenAi.ts"
import { isFault, type Reply } from "./fake-upstream/Reply.ts"
import { complete } from "./fake-upstream/FullAnswer.ts"
import { turnsOf } from "./fake-upstream/Meaning.ts"
import { type Match, Script } from "./fake-upstream/Script.ts"
import { Thoughts } from "./fake-upstream/Thoughts.ts"
import type { ErrorReply, WireFormat } from "./fake-upstream/WireFormat.ts"

export type { Asked, Ending, Recorded, Turn, WireName } from "./fake-upstream/Asked.ts"
export { type Answer, type Break, type Delivery, fault, type Fault, type Reply } from "./fake-upstream/Reply.ts"
export type { Match } from "./fake-upstream/Script.ts"

interface FakeUpstreamOptions {
  /** The keys that are accepted. Default: all. */
  readonly keys?: ReadonlyArray<string>
  /** Default: a free one. */
  readonly port?: number
}

/** Takes replies; from `when`, for matching requests only. */
interface Scripting {
  /** Adds replies that are given once each, in this order. */
  readonly script: (...replies: ReadonlyArray<Reply>) => void
  /** The reply when no other is left; the last one counts. */
  readonly always: (reply: Reply) => void
}

const FORMATS: ReadonlyArray<WireFormat> = [openAi, anthropic, gemini]

/** Begins the paths of this process's fakes. Clients of a server that had the port before may still call it. */
const OURS = `/${randomUUID()}`

/** A running fake. */
export class Fake implements Scripting, AsyncDisposable {
  /** `http://127.0.0.1:port` */
  readonly url: string
  /** Base URLs as each vendor's clients want them. */
  readonly openAi: string
  readonly anthropic: string
  readonly gemini: string
  private readonly options: FakeUpstreamOptions
  private readonly stop: () => Promise<void>
  private readonly book = new Script()
  private readonly thoughts = new Thoughts()
  private readonly problems: Array<unknown> = []
  private waiting: Array<{ readonly n: number; readonly resolve: (record: Recorded) => void }> = []
  private recorded: Array<Recorded> = []

  constructor(url: string, options: FakeUpstreamOptions, stop: () => Promise<void>) {
    this.url = url
    this.openAi = `${url}${OURS}/v1`
    this.anthropic = `${url}${OURS}`
    this.gemini = `${url}${OURS}`
    this.options = options
    this.stop = stop
  }

  /** Every request so far, in the order of arrival. */
  get requests(): ReadonlyArray<Recorded> {
    return this.recorded
  }

  script(...replies: ReadonlyArray<Reply>): void {
    this.book.add(undefined, replies)
  }

  always(reply: Reply): void {
    this.book.always(undefined, reply)
  }

  when(match: Match): Scripting {
    return {
      script: (...replies) => this.book.add(match, replies),
      always: (reply) => this.book.always(match, reply),
    }
  }

  /** The `n`th request, from 1, as soon as it has arrived with its body. */
  received(n: number): Promise<Recorded> {
    const record = this.recorded[n - 1]
    if (record !== undefined) return Promise.resolve(record)
    const { promise, resolve } = Promise.withResolvers<Recorded>()
    this.waiting.push({ n, resolve })
    return promise
  }

  /** Forgets script and requests. */
  clear(): void {
    this.book.clear()
    this.recorded = []
  }

  /** Breaks every connection and frees the port. Rejects if a reply function failed. */
  async close(): Promise<void> {
    await this.stop()
    if (this.problems.length > 0) throw new AggregateError(this.problems.splice(0), "the fake upstream's script failed")
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  /** Never rejects: errors of the script are kept for {@link close}. */
  async handle(exchange: Exchange): Promise<void> {
    try {
      await exchange.read()
      const format = FORMATS.find((format) => format.owns(exchange.record.path))
      await (format === undefined ? this.refusePath(exchange) : this.answer(exchange, format))
    } catch (error) {
      if (error instanceof Gone) return
      this.problems.push(error)
      exchange.destroy()
    }
  }

  private arrived(record: Recorded): void {
    this.recorded.push(record)
    const n = this.recorded.length
    for (const waiter of this.waiting) if (waiter.n === n) waiter.resolve(record)
    this.waiting = this.waiting.filter((waiter) => waiter.n !== n)
  }

  private async refusePath(exchange: Exchange): Promise<void> {
    const { method, path } = exchange.record
    exchange.record.refused = `no such path: ${method} ${path}`
    this.arrived(exchange.record)
    const message = `Invalid URL (${method} ${path})`
    return deliverError(exchange, openAi, { ...openAi.error("invalid-request", { message }), status: 404 })
  }

  private async answer(exchange: Exchange, format: WireFormat): Promise<void> {
    const { record } = exchange
    const checked = this.check(exchange, format)
    record.wire = format.name
    if ("refusal" in checked) {
      record.refused = checked.reason
      this.arrived(record)
      return deliverError(exchange, format, checked.refusal)
    }
    record.asked = checked
    this.arrived(record)
    return this.deliver(exchange, format, checked, this.book.take(checked))
  }

  /** Checks the vendor's preconditions, before the model is asked. */
  private check(
    exchange: Exchange,
    format: WireFormat,
  ): Asked | { readonly reason: string; readonly refusal: ErrorReply } {
    const { body, headers, method } = exchange.record
    const refuse = (reason: string, refusal: ErrorReply) => ({ reason, refusal })
    const invalid = (message: string) => refuse(message, format.error("invalid-request", { message }))
    if (method !== "POST")
      return refuse("method", { ...format.error("invalid-request"), status: 405, headers: { allow: "POST" } })
    const key = format.key(headers)
    if (key === undefined || this.options.keys?.includes(key) === false)
      return refuse("unknown key", format.error("unauthorized"))
    if (!/^application\/json\b/.test(headers["content-type"] ?? ""))
      return invalid("The content type must be application/json.")
    if (typeof body === "string") return invalid("The body is not JSON.")
    try {
      const { choices = 1, json, messages, model, stream, system, tools, usage = true } = format.read(exchange.record)
      if (format === openAi) this.thoughts.check(body, model)
      const turns = messages.flatMap(turnsOf)
      return {
        wire: format.name,
        key,
        headers,
        body,
        model,
        stream,
        system: system.join("\n\n"),
        turns,
        text: turns.at(-1)?.text ?? "",
        tools,
        json,
        choices,
        usage,
      }
    } catch (error) {
      return invalid(String(error))
    }
  }

  private async deliver(exchange: Exchange, format: WireFormat, asked: Asked, reply: Reply): Promise<void> {
    if (typeof reply === "function") return this.deliver(exchange, format, asked, await reply(asked))
    if (isFault(reply)) return deliverFault(exchange, format, reply)
    const answer = complete(reply, asked)
    if (format === openAi) this.thoughts.keep(answer, asked.model)
    return deliverAnswer(exchange, format, reply, answer)
  }
}

const start = async (options: FakeUpstreamOptions = {}): Promise<Fake> => {
  const connections = new WeakMap<Socket, number>()
  let count = 0
  // No idle time-out: a connection that a test keeps must not close under it.
  const server = createServer({ keepAliveTimeout: 0, requestTimeout: 0, headersTimeout: 0 })
  server.on("connection", (socket) => connections.set(socket, ++count))
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject)
    // As many connections at once as vendors take.
    server.listen(options.port ?? 0, "127.0.0.1", 4096, resolve)
  })
  // `address()` is a string only for pipes.
  const { port } = server.address() as AddressInfo
  const running = new Set<Promise<void>>()
  const fake = new Fake(`http://127.0.0.1:${port}`, options, async () => {
    server.closeAllConnections()
    if (server.listening) await new Promise<void>((resolve) => server.close(() => resolve()))
    await Promise.all(running)
  })
  server.on("request", (request: IncomingMessage, response: ServerResponse) => {
    if (request.url?.startsWith(OURS) !== true) return void response.writeHead(404).end()
    request.url = request.url.slice(OURS.length)
    const handled = fake.handle(new Exchange(request, response, connections.get(request.socket) ?? 0))
    running.add(handled)
    void handled.finally(() => running.delete(handled))
  })
  return fake
}

const make = (options: FakeUpstreamOptions = {}): Effect.Effect<Fake, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.promise(() => start(options)),
    (fake) => Effect.promise(() => fake.close()),
  )

export const FakeUpstream = {
  /** For plain scripts; the caller closes it. */
  start,
  /** For Effects; closes with the scope. */
  make,
}
