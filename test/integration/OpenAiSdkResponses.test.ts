/** OpenAI's SDK, unmodified, through connector and proxy: Responses and embeddings are what they would be without them. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import OpenAI, { APIError } from "openai"
import { GPT_USAGE, gptResponse, numbered } from "../support/nativeAnswers.ts"
import { namedEvents, type NativeReply } from "../support/nativeUpstream.ts"
import { nativeSetup, sameThroughConnector } from "../support/nativeSetup.ts"
import { failing } from "../support/promises.ts"
import { brokenOff, changingEvents } from "../support/tamper.ts"

const CALLERS_KEY = "callers-key-4711"

const sdk = (url: string) => new OpenAI({ baseURL: `${url}/v1`, apiKey: CALLERS_KEY, maxRetries: 0 })

/** Returns the result of `ask` through the connector, after checking that it is the same without. */
const same = (reply: NativeReply, ask: (openai: OpenAI) => Promise<unknown>) =>
  sameThroughConnector(reply, CALLERS_KEY, ["openai-beta"], (url) => ask(sdk(url)))

const text = (said: string) => ({ type: "output_text", text: said, annotations: [], logprobs: [] })

const usage = GPT_USAGE
const output = [
  { id: "rs_1", type: "reasoning", summary: [{ type: "summary_text", text: "Look." }], encrypted_content: "Z0FBQUFB" },
  { id: "msg_1", type: "message", role: "assistant", status: "completed", content: [text("A 🦭.")] },
  {
    id: "fc_1",
    type: "function_call",
    status: "completed",
    call_id: "call_1",
    name: "shell",
    arguments: '{"cmd":["ls"]}',
  },
]

const response = (status: string, more: object = {}) =>
  gptResponse(status, {
    instructions: "You write code.",
    parallel_tool_calls: true,
    tool_choice: "auto",
    tools: [],
    ...more,
  })

/** A coding agent's request: a cache key, tools, a picture, thoughts and a tool result. */
const agentic = {
  model: "gpt-x",
  instructions: "You write code. “Ünïcödé” 🦭",
  prompt_cache_key: "conversation-1",
  store: false,
  include: ["reasoning.encrypted_content" as const],
  tools: [
    {
      type: "function" as const,
      name: "shell",
      description: "Runs a command",
      strict: false,
      parameters: { type: "object", properties: { cmd: { type: "array", items: { type: "string" } } } },
    },
  ],
  input: [
    {
      role: "user" as const,
      content: [
        { type: "input_text" as const, text: "What does it show?" },
        { type: "input_image" as const, detail: "auto" as const, image_url: "data:image/png;base64,iVBORw0KGgo=" },
      ],
    },
    { type: "reasoning" as const, id: "rs_0", summary: [], encrypted_content: "Z0FBQUFB" },
    { type: "function_call" as const, call_id: "call_0", name: "shell", arguments: '{"cmd":["pwd"]}' },
    { type: "function_call_output" as const, call_id: "call_0", output: "/home\n" },
  ],
}

const message = { item_id: "msg_1", output_index: 1, content_index: 0 }
const call = { item_id: "fc_1", output_index: 2 }

const begun = [
  { type: "response.created", response: response("in_progress") },
  { type: "response.in_progress", response: response("in_progress") },
  { type: "response.output_item.added", output_index: 0, item: { ...output[0], summary: [] } },
  { type: "response.output_item.done", output_index: 0, item: output[0] },
  { type: "response.output_item.added", output_index: 1, item: { ...output[1], content: [] } },
  { type: "response.content_part.added", ...message, part: text("") },
  { type: "response.output_text.delta", ...message, delta: "A ", logprobs: [] },
  { type: "response.output_text.delta", ...message, delta: "🦭.", logprobs: [] },
]

const streamed = [
  ...begun,
  { type: "response.output_text.done", ...message, text: "A 🦭.", logprobs: [] },
  { type: "response.content_part.done", ...message, part: text("A 🦭.") },
  { type: "response.output_item.done", output_index: 1, item: output[1] },
  { type: "response.output_item.added", output_index: 2, item: { ...output[2], arguments: "" } },
  { type: "response.function_call_arguments.delta", ...call, delta: '{"cmd":' },
  { type: "response.function_call_arguments.delta", ...call, delta: '["ls"]}' },
  { type: "response.function_call_arguments.done", ...call, name: "shell", arguments: '{"cmd":["ls"]}' },
  { type: "response.output_item.done", output_index: 2, item: output[2] },
  { type: "response.completed", response: response("completed", { output, usage }) },
]

/** Everything that a stream says, with pieces of one text put together. */
const read = async (openai: OpenAI) => {
  const seen: Array<Record<string, unknown>> = []
  for await (const event of await openai.responses.create({ ...agentic, stream: true })) {
    const said: Record<string, unknown> = { ...event, sequence_number: undefined }
    const last = seen.at(-1)
    if (last !== undefined && typeof said["delta"] === "string" && last["type"] === said["type"]) {
      last["delta"] = `${String(last["delta"])}${said["delta"]}`
    } else seen.push(said)
  }
  return seen
}

describe("OpenAI's SDK through the connector", () => {
  it.live("gets whole responses, with reasoning and tools, byte for byte", () =>
    Effect.gen(function* () {
      const reply = { body: JSON.stringify(response("completed", { output, usage })) }
      const { value } = yield* same(reply, (openai) => openai.responses.create(agentic))
      assert.deepInclude(value as object, { output, usage })
    }),
  )

  it.live("gets every event of streams", () =>
    Effect.gen(function* () {
      const { value } = yield* same({ body: namedEvents(...numbered(...streamed)) }, read)
      assert.deepStrictEqual((value as ReadonlyArray<{ readonly type: string }>).map(({ type }) => type).slice(-2), [
        "response.output_item.done",
        "response.completed",
      ])
    }),
  )

  it.live("gets the final response of a stream", () =>
    Effect.gen(function* () {
      const { value } = yield* same({ body: namedEvents(...numbered(...streamed)) }, (openai) =>
        openai.responses.stream(agentic).finalResponse(),
      )
      assert.deepInclude(value as object, { status: "completed" })
    }),
  )

  it.live("gets embeddings, as numbers and in base64", () =>
    Effect.gen(function* () {
      const list = (embedding: unknown) =>
        JSON.stringify({
          object: "list",
          data: [{ object: "embedding", index: 0, embedding }],
          model: "embed-x",
          usage: { prompt_tokens: 2, total_tokens: 2 },
        })
      const input = ["seal 🦭"]
      const numbers = yield* same({ body: list([0.25, -1e-7, 3]) }, (openai) =>
        openai.embeddings.create({ model: "embed-x", input, encoding_format: "float" }),
      )
      const packed = yield* same({ body: list("AACAPgAAgL8=") }, (openai) =>
        openai.embeddings.create({ model: "embed-x", input }),
      )
      const vectorIn = ({ value }: { readonly value?: unknown }) => (value as OpenAI.CreateEmbeddingResponse).data[0]
      assert.deepStrictEqual(vectorIn(numbers)?.embedding, [0.25, -1e-7, 3])
      assert.deepStrictEqual(vectorIn(packed)?.embedding, [0.25, -1])
    }),
  )

  it.live.each<readonly [number, string, string]>([
    [400, "invalid_request_error", "unsupported_parameter"],
    [400, "invalid_request_error", "context_length_exceeded"],
    [404, "invalid_request_error", "model_not_found"],
    [429, "requests", "rate_limit_exceeded"],
    [500, "server_error", "server_error"],
    [503, "service_unavailable_error", "server_is_overloaded"],
  ])("gets the error %s %s %s as OpenAI has it", ([status, type, code]) =>
    Effect.gen(function* () {
      const body = JSON.stringify({ error: { message: `It is ${code}.`, type, param: "tools[0]", code } })
      for (const stream of [false, true]) {
        const { error } = yield* same({ status, body }, (openai) => openai.responses.create({ ...agentic, stream }))
        assert.deepInclude(error as object, { status, type, code })
      }
    }),
  )

  const why = { code: "rate_limit_exceeded", message: "Slow." }

  it.live.each([
    { type: "response.failed", response: response("failed", { error: why }) },
    { type: "error", ...why, param: null },
  ])("is told in the form of Responses that a stream failed, and why ($type)", (last) =>
    Effect.gen(function* () {
      const { connector, native } = yield* nativeSetup()
      native.answer(() => ({ body: namedEvents(...numbered(...begun, last)) }))
      const { seen, thrown } = yield* Effect.promise(() =>
        brokenOff(sdk(connector.url).responses.create({ ...agentic, stream: true })),
      )
      // A stream that breaks off is an error, whatever it sent before.
      assert.instanceOf(thrown, Error)
      assert.deepStrictEqual<object | undefined>(seen.at(-1), {
        type: "response.failed",
        sequence_number: begun.length,
        response: response("failed", { error: why }),
      })
    }),
  )

  it.live("cannot mistake a cut stream for a whole one", () =>
    Effect.gen(function* () {
      const { connector, native } = yield* nativeSetup()
      native.answer(() => ({ body: namedEvents(...numbered(...streamed.slice(0, -1))), after: "cut" }))
      const thrown = yield* failing(sdk(connector.url).responses.stream(agentic).finalResponse())
      assert.instanceOf(thrown, Error)
      assert.strictEqual(native.requests.length, 1)
    }),
  )

  it.live("sees no end of a stream whose proof an attacker on the path removed", () =>
    Effect.gen(function* () {
      const cut = changingEvents((events) => events.filter(({ event }) => event !== "proof"))
      const { connector, native } = yield* nativeSetup({ fetch: cut })
      native.answer(() => ({ body: namedEvents(...numbered(...streamed)) }))
      const broken = yield* Effect.promise(() =>
        brokenOff(sdk(connector.url).responses.create({ ...agentic, stream: true })),
      )
      const seen = broken.seen.map(({ type }) => type)
      assert.include(seen, "response.output_item.done")
      assert.notInclude(seen, "response.completed")
      assert.strictEqual(seen.at(-1), "response.failed")
    }),
  )

  it.live("gets the id of a refused request", () =>
    Effect.gen(function* () {
      const { connector, native } = yield* nativeSetup()
      native.answer(() => ({
        status: 400,
        body: JSON.stringify({ error: { message: "No.", type: "invalid_request_error" } }),
      }))
      const thrown = yield* failing(sdk(connector.url).responses.create(agentic))
      assert.instanceOf(thrown, APIError)
      assert.match(thrown.requestID ?? "", /^[\da-f-]{36}$/)
    }),
  )
})
