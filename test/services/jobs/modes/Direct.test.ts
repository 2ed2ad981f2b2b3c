import { assert, describe, it } from "@effect/vitest"
import { Effect, Struct } from "effect"
import type { HttpTool } from "../../../../src/domain/jobs/tool.ts"
import type { UpstreamRequest } from "../../../../src/domain/upstream/upstream.ts"
import { ToolTenant } from "../../../../src/services/tools/ToolNetwork.ts"
import { answering, inOrder, type JobOf, listedTool } from "./ModeFixture.ts"
import { countingTurns } from "../../../support/turns.ts"

const adder: HttpTool = {
  name: "add",
  description: "Adds numbers.",
  input_schema: { type: "object", properties: { a: { type: "number" }, b: { type: "number" } } },
  url: "https://tools.example.com/add",
}

const wants = (...calls: ReadonlyArray<readonly [name: string, input: string]>) => ({
  text: "",
  toolCalls: calls.map(([name, text], i) => ({
    id: `id-${i}`,
    type: "function" as const,
    function: { name, arguments: text },
  })),
})

const messagesOf = (request: UpstreamRequest | undefined) => request?.completion.messages ?? []

/** An agent whose tool sums up its input, and the inputs, keys and tenants of the calls. */
const withAdder = (job: Partial<JobOf> = {}) => {
  const called: Array<readonly [input: unknown, key: string, tenant: string]> = []
  return {
    called,
    job: {
      ...job,
      tools: [adder],
      call: (_: HttpTool, input: Readonly<Record<string, unknown>>, key: string) =>
        Effect.map(ToolTenant, (tenant) => {
          called.push([input, key, tenant])
          return { text: String(Number(input["a"]) + Number(input["b"])), is_error: false }
        }),
    },
  }
}

describe("the direct mode", () => {
  it.effect("asks one model once if the agent has no tools", () =>
    Effect.gen(function* () {
      const { result, steps, upstream } = yield* answering({ propose: "42" })
      assert.deepStrictEqual(result, {
        mode: "direct",
        answer: "42",
        verdict: "unchecked",
        confidence: null,
        independent: false,
        provider: "provider1",
        model: "large",
        turns: 1,
        tool_calls: 0,
      })
      assert.deepStrictEqual([...steps.keys()], ["turn-1"])
      assert.notProperty(upstream.requests[0]?.completion ?? {}, "tools")
    }),
  )

  it.effect("carries out tool calls as steps, each under a key of its own, and answers from their outputs", () =>
    Effect.gen(function* () {
      const { called, job } = withAdder()
      const script = inOrder(wants(["add", '{"a":1,"b":2}'], ["add", '{"a":3,"b":4}']), { text: "3 and 7" })
      const { result, steps, upstream } = yield* answering({}, { ...job, script })
      assert.deepInclude(result, { answer: "3 and 7", turns: 2, tool_calls: 2 })
      assert.deepStrictEqual([...steps.keys()], ["turn-1", "tool-1-1", "tool-1-2", "turn-2"])
      const [[, first, tenant], [, second]] = [called[0] ?? [], called[1] ?? []]
      assert.strictEqual(tenant, "acme")
      assert.deepStrictEqual(called[1]?.[0], { a: 3, b: 4 })
      assert.match(String(first), /^[\w-]+\/tool-1-1$/)
      assert.match(String(second), /^[\w-]+\/tool-1-2$/)
      const [, asked] = upstream.requests
      assert.deepInclude(asked?.completion.tools?.[0]?.function, { name: "add", parameters: adder.input_schema })
      const [assistant, three, seven] = messagesOf(asked).slice(-3)
      assert.deepInclude(assistant, { role: "assistant", content: null })
      assert.deepInclude(three, { role: "tool", tool_call_id: "id-0" })
      assert.match(String(seven?.content), /BEGIN (\w{32})\n7\nEND \1$/)
    }),
  )

  it.effect("gives models a schema that all providers take, and calls with the arguments as they came", () =>
    Effect.gen(function* () {
      const { called, job } = withAdder()
      const anyOf = [{ required: ["a"] }, { required: ["b"] }]
      const tools = [{ ...adder, input_schema: { type: "object", anyOf } }]
      const script = inOrder(wants(["add", '{"c":1}']), { text: "done" })
      const { upstream } = yield* answering({}, { ...job, tools, script })
      const [asked] = upstream.requests
      assert.deepStrictEqual(asked?.completion.tools?.[0]?.function.parameters, { type: "object", properties: {} })
      assert.deepStrictEqual(called[0]?.[0], { c: 1 })
    }),
  )

  it.effect("gives a model the state of its messages back, also in a resumed job, and keeps none without tools", () =>
    Effect.gen(function* () {
      const { job } = withAdder({ options: { output_schema: { type: "object", required: ["sum"] } } })
      const state = { reasoning_content: "I add.", extra_content: { anthropic: { thinking_blocks: [] } } }
      const members = { ...state, annotations: [] }
      const called = { ...wants(["add", '{"a":1,"b":2}']), members }
      const script = inOrder(called, { text: "3", members }, { text: '{"sum":3}' })
      const { steps, upstream } = yield* answering({}, { ...job, script })
      steps.delete("turn-2-repair")
      const resumed = yield* answering({}, { ...job, steps, script: () => ({ text: '{"sum":3}' }) })
      for (const asked of [upstream.requests[2], resumed.upstream.requests[0]]) {
        const own = messagesOf(asked).filter(({ role }) => role === "assistant")
        assert.deepStrictEqual<unknown>(
          own.map((message) => Struct.omit(message, ["tool_calls"])),
          [null, "3"].map((content) => ({ role: "assistant", content, ...state })),
        )
        const authors = own.map((message) => asked?.authors?.get(message))
        assert.deepStrictEqual(
          authors,
          own.map(() => ({ provider: "provider1", model: "large" })),
        )
      }
      const alone = yield* answering({}, { script: () => ({ text: "3", members }) })
      assert.notInclude(alone.steps.get("turn-1")?.value ?? "I add.", "I add.")
    }),
  )

  it.effect("leaves out white space before a call, which Anthropic refuses as a text", () =>
    Effect.gen(function* () {
      const { job } = withAdder()
      const script = inOrder({ ...wants(["add", "{}"]), text: "\n\n" }, { text: "3" })
      const { upstream } = yield* answering({}, { ...job, script })
      assert.deepInclude(messagesOf(upstream.requests[1]).at(-2), { role: "assistant", content: null })
    }),
  )

  it.effect("tells the model about unknown tools and arguments that are no object, and calls nothing", () =>
    Effect.gen(function* () {
      const { called, job } = withAdder()
      const script = inOrder(wants(["subtract", "{}"], ["add", "[1]"], ["add", '{"a":']), { text: "?" })
      const { upstream } = yield* answering({}, { ...job, script })
      const said = messagesOf(upstream.requests[1])
        .slice(-3)
        .map(({ content }) => String(content))
      assert.include(said[0], "There is no tool of this name.")
      for (const text of said.slice(1)) assert.include(text, "not a JSON object")
      assert.deepStrictEqual(called, [])
    }),
  )

  it.effect("parses no arguments that are too long or too complex, and sends them to no model", () =>
    Effect.gen(function* () {
      const { called, job } = withAdder({ asks: {} })
      const many = JSON.stringify(Object.fromEntries(Array.from({ length: 5000 }, (_, i) => [`a${i}`, 1])))
      const wrong = [`{"a":"${"x".repeat(256 * 1024)}"}`, many, `{"a":${"[".repeat(64)}${"]".repeat(64)}}`]
      const calls = [...wrong, '{"a":1,"b":2}'].map((text) => ["add", text] as const)
      const script = inOrder(wants(...calls, ["ask_person", many]), { text: "3" })
      const { result, upstream } = yield* answering({}, { ...job, script })
      assert.deepInclude(result, { answer: "3", tool_calls: 5 })
      const [assistant, ...outputs] = messagesOf(upstream.requests[1]).slice(-6)
      const sent = assistant?.role === "assistant" ? assistant.tool_calls?.map((call) => call.function.arguments) : []
      assert.deepStrictEqual(sent, ["{}", "{}", "{}", '{"a":1,"b":2}', "{}"])
      for (const index of [0, 1, 2, 4]) {
        assert.include(String(outputs[index]?.content), "at most 256 KiB, 64 levels and 4096 values")
      }
      assert.deepStrictEqual(
        called.map(([input]) => input),
        [{ a: 1, b: 2 }],
      )
    }),
  )

  it.effect("keeps within its turns, and offers no tool in the last one", () =>
    Effect.gen(function* () {
      const { called, job } = withAdder({ options: { turns: 10 }, limits: { max_turns: 3 } })
      const { result, upstream } = yield* answering(
        {},
        { ...job, script: () => ({ ...wants(["add", '{"a":1,"b":1}']), text: "so far" }) },
      )
      assert.deepInclude(result, { answer: "so far", turns: 3, tool_calls: 2 })
      assert.strictEqual(result.note, "In its last turn the model could call no tool.")
      assert.deepStrictEqual(
        upstream.requests.map(({ completion }) => completion.tool_choice),
        ["auto", "auto", "none"],
      )
      assert.strictEqual(called.length, 2)
    }),
  )

  it.effect("carries out at most 16 calls of a turn", () =>
    Effect.gen(function* () {
      const { called, job } = withAdder()
      const many = wants(...Array.from({ length: 20 }, () => ["add", '{"a":1,"b":1}'] as const))
      const { result, upstream } = yield* answering({}, { ...job, script: (_, i) => (i === 0 ? many : { text: "2" }) })
      assert.strictEqual(called.length, 16)
      assert.strictEqual(result.tool_calls, 16)
      assert.include(String(messagesOf(upstream.requests[1]).at(-1)?.content), "Not carried out")
    }),
  )

  it.effect("offers an MCP server's tools as they were listed first, except those named like the agent's", () =>
    Effect.gen(function* () {
      const { called, job } = withAdder()
      let lists = 0
      const list = () =>
        Effect.sync(() => ({ tools: [listedTool("add"), listedTool(`other${lists++}`)], leftOut: ["x: too deep"] }))
      const servers = [{ name: "calc", url: "https://calc.example.com/mcp" }]
      const script = inOrder(wants(["add", "{}"]), { text: "3" })
      const first = yield* answering({}, { ...job, servers, list, script })
      assert.deepStrictEqual([...first.steps.keys()], ["tools-1", "turn-1", "tool-1-1", "turn-2"])
      first.steps.delete("turn-2")
      const again = yield* answering({}, { ...job, servers, list, steps: first.steps, script: () => ({ text: "4" }) })
      assert.deepStrictEqual(
        again.upstream.requests[0]?.completion.tools?.map((each) => each.function.name),
        ["add", "other0"],
      )
      assert.strictEqual(lists, 1)
      assert.strictEqual(called.length, 1)
    }),
  )

  it.effect("lets other jobs run between the schemas of its tools", () =>
    Effect.gen(function* () {
      const names = Array.from({ length: 500 }, (_, i) => `calc__t${i}`)
      const list = () => Effect.succeed({ tools: names.map((name) => listedTool(name)), leftOut: [] })
      const servers = [{ name: "calc", url: "https://calc.example.com/mcp" }]
      const { turns } = yield* countingTurns(answering({}, { servers, list, script: () => ({ text: "4" }) }))
      assert.isAtLeast(turns, names.length)
    }),
  )

  it.effect("has one turn for an agent without tools, whatever the model calls", () =>
    Effect.gen(function* () {
      const { result, upstream } = yield* answering({}, { script: () => ({ ...wants(["add", "{}"]), text: "3" }) })
      assert.deepInclude(result, { answer: "3", turns: 1, tool_calls: 0 })
      assert.strictEqual(upstream.requests.length, 1)
    }),
  )

  it.effect("fails if the model only calls tools in its last turn", () =>
    Effect.gen(function* () {
      const { job } = withAdder()
      const script = () => wants(["add", "{}"])
      const { problem } = yield* Effect.flip(answering({}, { ...job, script, options: { turns: 1 } }))
      assert.deepInclude(problem, { code: "turn-limit-reached", status: 422, retryable: false })
      assert.include(problem.detail, "Allow more turns (`options.turns`")
    }),
  )

  it.effect("fails as retryable if the model only calls tools and was offered none", () =>
    Effect.gen(function* () {
      const { problem } = yield* Effect.flip(answering({}, { script: () => wants(["add", "{}"]) }))
      assert.deepInclude(problem, { code: "no-tools-offered", status: 502, retryable: true })
    }),
  )

  it.effect("names the output of tools if it filled the context", () =>
    Effect.gen(function* () {
      const long = () => Effect.succeed({ text: "x ".repeat(32_768), is_error: false })
      const script = () => wants(...Array.from({ length: 16 }, () => ["add", "{}"] as const))
      const { problem } = yield* Effect.flip(answering({}, { tools: [adder], call: long, script }))
      assert.deepInclude(problem, { code: "context-too-long", retryable: false })
      assert.match(problem.detail ?? "", /^Tool output filled the context: 10\d\d KiB in 16 calls\. /)
      assert.include(problem.detail, "lower `options.turns` or the agent's `limits.max_turns`")
      const task = "x ".repeat(500_000)
      const alone = yield* Effect.flip(answering({}, { tools: [adder], task, script: () => ({ text: "3" }) }))
      assert.strictEqual(alone.problem.code, "context-too-long")
      assert.notInclude(alone.problem.detail ?? "", "Tool output")
    }),
  )
})
