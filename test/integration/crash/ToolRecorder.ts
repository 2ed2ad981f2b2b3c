/**
 * The model, the HTTP tool and the MCP server of the crash test's jobs with tools. Each answer has a unique text, so the
 * check of an ended job knows which of several answers to one question was kept.
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { json } from "node:stream/consumers"
import { setTimeout as sleep } from "node:timers/promises"
import { KEY_IN_META } from "../../../src/services/tools/mcpSession.ts"
import { type Asked, type Fake, FakeUpstream, type Reply } from "../../support/FakeUpstream.ts"
import type { Violation } from "./CallCounter.ts"

/** How many tools each turn calls, 20 in all. The turn after them answers. */
const CALLS_OF_TURNS = [4, 1, 6, 1, 1, 5, 1, 1]
const CALLS = CALLS_OF_TURNS.reduce((sum, calls) => sum + calls)
const TOOLS = ["note", "box__note"]

/** Pieces of a turn's text, and the longest delay between two, in milliseconds. */
const PIECES = 12
const MAX_GAP = 40

/** A received call. Times are in milliseconds since the epoch. */
interface Received {
  readonly at: number
  /** How many workers had been killed. */
  readonly kills: number
  readonly given: string
}

interface Step {
  readonly name: string
  readonly kind: string
  readonly finished_at: string
  readonly tool?: { readonly output: string }
}

export interface EndedJob {
  readonly id: string
  readonly steps: ReadonlyArray<Step>
  readonly result?: { readonly answer: string }
}

export class ToolRecorder {
  readonly violations: Array<Violation> = []
  calls = 0
  /** Repeated calls of a tool. */
  repeats = 0
  /** Repeated calls before which no worker was killed: their job's lease had expired. */
  unexplained = 0
  private kills = 0
  /** By idempotency key. */
  private readonly toolCalls = new Map<string, Array<Received>>()
  /** By task, which is unique, and name of the step. */
  private readonly modelCalls = new Map<string, Array<Received>>()
  /** The latest request of each task: the texts so far, and the outputs of its tools. */
  private readonly shown = new Map<string, { readonly texts: ReadonlyArray<string>; readonly outputs: string }>()
  private readonly delay: () => number
  private readonly server = createServer((request, response) => {
    this.serve(request, response).catch(() => response.destroy())
  })
  private readonly model: Fake

  private constructor(model: Fake, delay: () => number) {
    this.model = model
    this.delay = delay
    model.always((asked) => this.reply(asked))
  }

  /** `delay` returns the milliseconds of each call of a tool. */
  static async start(delay: () => number): Promise<ToolRecorder> {
    const recorder = new ToolRecorder(await FakeUpstream.start(), delay)
    await new Promise<void>((resolve) => recorder.server.listen(0, "127.0.0.1", resolve))
    return recorder
  }

  /** Base URL of the model, in OpenAI's format. */
  get modelUrl(): string {
    return this.model.openAi
  }

  /** The members of an agent with these tools. */
  get agent() {
    // `address()` is a string only for pipes.
    const url = `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`
    const tool = { name: "note", description: "Notes a number.", input_schema: { type: "object" }, url }
    return { tools: [tool], mcp_servers: [{ name: "box", url: `${url}/mcp` }] }
  }

  async close(): Promise<void> {
    this.server.close()
    this.server.closeAllConnections()
    await this.model.close()
  }

  killed(): void {
    this.kills++
  }

  /** Checks the calls of an ended job, and returns the texts of its turns by step. */
  ended(task: string, { id, result, steps }: EndedJob): ReadonlyMap<string, string> {
    const violation = (step: string, what: string) => this.violations.push({ job: id, step, what })
    const tools = steps.filter(({ kind }) => kind === "tool")
    const turns = steps.filter(({ kind }) => kind === "turn")
    const { outputs = "", texts = [] } = this.shown.get(task) ?? {}
    if (new Set(steps.map(({ name }) => name)).size !== steps.length) violation("all", "a step was stored twice")
    if (tools.length !== CALLS) violation("all", `${tools.length} tool calls instead of ${CALLS}`)
    if (tools.map(({ tool }) => tool?.output).join(" ") !== outputs) violation("all", "the model saw other outputs")
    for (const { finished_at, name, tool } of tools) {
      const received = this.toolCalls.get(`${id}/${name}`) ?? []
      this.toolCalls.delete(`${id}/${name}`)
      this.repeats += received.length - 1
      this.unexplained += received.filter(({ kills }, index) => kills === received[index - 1]?.kills).length
      if (!received.some(({ given }) => given === tool?.output)) violation(name, "its output was never given")
      if (received.some(({ at }) => at > Date.parse(finished_at))) violation(name, "called after it was stored")
    }
    for (const key of this.toolCalls.keys()) {
      if (key.startsWith(id)) violation(key, "called under a key of no step")
    }
    const kept = [...texts, result?.answer ?? ""]
    for (const [index, { finished_at, name }] of turns.entries()) {
      const received = this.modelCalls.get(`${task}/${name}`) ?? []
      if (!received.some(({ given }) => given === kept[index])) violation(name, "its text was never given")
      if (received.some(({ at }) => at > Date.parse(finished_at))) violation(name, "called after it was stored")
    }
    return new Map(turns.map(({ name }, index) => [name, kept[index] ?? ""]))
  }

  /** How often the model was asked for a step of a task. */
  askedFor(task: string, step: string): number {
    return this.modelCalls.get(`${task}/${step}`)?.length ?? 0
  }

  private reply({ turns }: Asked): Reply {
    const task = turns[0]?.text ?? ""
    const texts = turns.flatMap(({ role, text }) => (role === "assistant" ? [text] : []))
    const outputs = turns.flatMap(({ role, text }) => (role === "tool" ? (/\bgiven-\d+\b/.exec(text) ?? ["none"]) : []))
    const shown = { texts, outputs: outputs.join(" ") }
    const before = this.shown.get(task)
    const same =
      before === undefined ||
      (shown.outputs.startsWith(before.outputs) && before.texts.every((text, index) => text === texts[index]))
    const step = `turn-${texts.length + 1}`
    if (!same) this.violations.push({ job: task, step, what: "stored steps changed" })
    this.shown.set(task, shown)
    const pieces = Array.from(
      { length: PIECES },
      (_, piece) => `${task}, ${step}, call ${this.calls}, part ${piece} 🦭. `,
    )
    this.received(this.modelCalls, `${task}/${step}`, pieces.join(""))
    const calls = CALLS_OF_TURNS[texts.length] ?? 0
    return {
      text: pieces,
      toolCalls: Array.from({ length: calls }, (_, index) => ({
        name: TOOLS[index % TOOLS.length] ?? "",
        arguments: { n: index },
      })),
      delivery: { gap: (this.delay() % MAX_GAP) + 1 },
    }
  }

  private async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.method !== "POST") return void response.writeHead(405).end()
    const key = String(request.headers["idempotency-key"])
    // The tests' gateways send this shape.
    const message = (await json(request)) as {
      readonly id?: number
      readonly method?: string
      readonly params?: { readonly _meta?: Readonly<Record<string, unknown>> }
    }
    if (request.url !== "/mcp") return void response.end(await this.note(key))
    if (message.id === undefined) return void response.writeHead(202).end()
    const result = await this.resultOf(message.method, key, message.params?._meta?.[KEY_IN_META])
    response.writeHead(200, { "content-type": "application/json" })
    response.end(JSON.stringify({ jsonrpc: "2.0", id: message.id, result }))
  }

  /** The result of a method of the MCP server. */
  private async resultOf(method: string | undefined, key: string, keyInMeta: unknown): Promise<unknown> {
    if (method === "tools/list") return { tools: [{ name: "note", inputSchema: { type: "object" } }] }
    if (method !== "tools/call") {
      return {
        protocolVersion: "2025-11-25",
        capabilities: { tools: {} },
        serverInfo: { name: "box", version: "1" },
      }
    }
    if (keyInMeta !== key) this.violations.push({ job: key, step: "mcp", what: `has the key ${String(keyInMeta)}` })
    return { content: [{ type: "text", text: await this.note(key) }] }
  }

  private async note(key: string): Promise<string> {
    const given = `given-${this.calls}`
    this.received(this.toolCalls, key, given)
    await sleep(this.delay())
    return given
  }

  private received(calls: Map<string, Array<Received>>, name: string, given: string): void {
    this.calls++
    const all = calls.get(name) ?? []
    calls.set(name, all)
    all.push({ at: Date.now(), kills: this.kills, given })
  }
}
