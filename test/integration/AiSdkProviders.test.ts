/** The AI SDK with its own providers of OpenAI and Anthropic, unmodified, through connector and proxy. */
import { createAnthropic } from "@ai-sdk/anthropic"
import { createOpenAI } from "@ai-sdk/openai"
import { assert, describe, it } from "@effect/vitest"
import {
  APICallError,
  embedMany,
  generateText,
  isStepCount,
  jsonSchema,
  type LanguageModel,
  streamText,
  tool,
} from "ai"
import { Effect } from "effect"
import { claudeMessage, gptResponse, type NativeEvent, numbered } from "../support/nativeAnswers.ts"
import { namedEvents } from "../support/nativeUpstream.ts"
import { nativeSetup } from "../support/nativeSetup.ts"
import { failing } from "../support/promises.ts"

const CALLERS_KEY = "callers-key-4711"

const anthropic = (url: string) => createAnthropic({ baseURL: `${url}/v1`, apiKey: CALLERS_KEY })("claude-x")
const openai = (url: string) => createOpenAI({ baseURL: `${url}/v1`, apiKey: CALLERS_KEY }).responses("gpt-x")

const city = jsonSchema<{ readonly city: string }>({
  type: "object",
  properties: { city: { type: "string" } },
  required: ["city"],
})

const weather = tool({ inputSchema: city, execute: async ({ city }: { readonly city: string }) => `22 °C in ${city}` })

const claudeStart = {
  type: "message_start",
  message: claudeMessage({ usage: { input_tokens: 9, cache_read_input_tokens: 800, output_tokens: 1 } }),
}
const claudeStop = (stop_reason: string) => [
  { type: "content_block_stop", index: 0 },
  { type: "message_delta", delta: { stop_reason, stop_sequence: null }, usage: { output_tokens: 5 } },
  { type: "message_stop" },
]
const claude = {
  tool: [
    claudeStart,
    {
      type: "content_block_start",
      index: 0,
      content_block: { type: "tool_use", id: "t_1", name: "weather", input: {} },
    },
    { type: "content_block_delta", index: 0, delta: { type: "input_json_delta", partial_json: '{"city":' } },
    { type: "content_block_delta", index: 0, delta: { type: "input_json_delta", partial_json: '"Oslo"}' } },
    ...claudeStop("tool_use"),
  ],
  text: [
    claudeStart,
    { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
    { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "Warm " } },
    { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "in Oslo." } },
    ...claudeStop("end_turn"),
  ],
}

const completed = (output: ReadonlyArray<object>) => ({
  type: "response.completed",
  response: gptResponse("completed", {
    output,
    usage: { input_tokens: 809, input_tokens_details: { cached_tokens: 800 }, output_tokens: 5, total_tokens: 814 },
  }),
})
const call = { id: "fc_1", type: "function_call", call_id: "call_1", name: "weather", arguments: '{"city":"Oslo"}' }
const said = {
  id: "msg_1",
  type: "message",
  role: "assistant",
  status: "completed",
  content: [{ type: "output_text", text: "Warm in Oslo.", annotations: [] }],
}
const gpt = {
  tool: numbered(
    { type: "response.created", response: gptResponse("in_progress") },
    { type: "response.output_item.added", output_index: 0, item: { ...call, arguments: "" } },
    { type: "response.function_call_arguments.delta", item_id: "fc_1", output_index: 0, delta: '{"city":' },
    { type: "response.function_call_arguments.delta", item_id: "fc_1", output_index: 0, delta: '"Oslo"}' },
    { type: "response.output_item.done", output_index: 0, item: { ...call, status: "completed" } },
    completed([call]),
  ),
  text: numbered(
    { type: "response.created", response: gptResponse("in_progress") },
    { type: "response.output_item.added", output_index: 0, item: { ...said, content: [] } },
    {
      type: "response.output_text.delta",
      item_id: "msg_1",
      output_index: 0,
      content_index: 0,
      delta: "Warm ",
    },
    {
      type: "response.output_text.delta",
      item_id: "msg_1",
      output_index: 0,
      content_index: 0,
      delta: "in Oslo.",
    },
    { type: "response.output_item.done", output_index: 0, item: said },
    completed([said]),
  ),
}

interface Script {
  readonly tool: ReadonlyArray<NativeEvent>
  readonly text: ReadonlyArray<NativeEvent>
}

const providers: ReadonlyArray<readonly [string, (url: string) => LanguageModel, Script]> = [
  ["anthropic", anthropic, claude],
  ["openai", openai, gpt],
]

describe.each(providers)("the AI SDK's provider of %s", (_, model, script) => {
  it.live("runs a tool in a stream and answers from its result, as without the connector", () =>
    Effect.gen(function* () {
      const { connector, native, wire } = yield* nativeSetup()
      native.answer((_, count) => ({ body: namedEvents(...(count % 2 === 1 ? script.tool : script.text)) }))
      const run = async (url: string) => {
        const result = streamText({
          model: model(url),
          tools: { weather },
          stopWhen: isStepCount(2),
          prompt: "What is it like in Oslo?",
          maxRetries: 0,
        })
        const [text, usage] = [await result.text, await result.totalUsage]
        return { text, input: usage.inputTokens, cached: usage.inputTokenDetails.cacheReadTokens }
      }
      const straight = yield* Effect.promise(() => run(native.url))
      const sealed = yield* Effect.promise(() => run(connector.url))
      assert.deepStrictEqual(sealed, straight)
      assert.deepStrictEqual(sealed, { text: "Warm in Oslo.", input: 1618, cached: 1600 })
      const bodies = native.requests.map(({ body }) => body)
      assert.deepStrictEqual(bodies.slice(2), bodies.slice(0, 2))
      assert.notInclude(JSON.stringify(native.requests.slice(2).map(({ headers }) => headers)), CALLERS_KEY)
      // With a space, because four letters may occur in base64 by chance.
      assert.notInclude(wire.seen(), " Oslo")
    }),
  )

  it.live("gets refusals and broken streams as errors", () =>
    Effect.gen(function* () {
      const { connector, native } = yield* nativeSetup()
      const ask = { model: model(connector.url), prompt: "Hi", maxRetries: 0, onError: () => undefined }
      native.answer(() => ({
        status: 400,
        body: JSON.stringify({ type: "error", error: { type: "invalid_request_error", message: "Not like this." } }),
      }))
      const refused = yield* failing(generateText(ask))
      assert.isTrue(APICallError.isInstance(refused))
      assert.deepInclude(refused as object, { statusCode: 400, message: "Not like this." })
      native.answer(() => ({ body: namedEvents(...script.text.slice(0, -2)), after: "cut" }))
      const broken = yield* Effect.promise(async () => {
        const parts: Array<string> = []
        const errors: Array<unknown> = []
        const reading = (async () => {
          for await (const part of streamText(ask).fullStream) {
            parts.push(part.type)
            if (part.type === "error") errors.push(part.error)
          }
        })()
        await reading.catch((error: unknown) => errors.push(error))
        return { parts, errors }
      })
      assert.isNotEmpty(broken.errors)
      assert.include(broken.parts, "text-delta")
    }),
  )
})

describe("the AI SDK's embeddings", () => {
  it.live("are those of the provider", () =>
    Effect.gen(function* () {
      const { connector, native } = yield* nativeSetup()
      const data = [{ object: "embedding", index: 0, embedding: [0.25, -1e-7] }]
      const usage = { prompt_tokens: 2, total_tokens: 2 }
      native.answer(() => ({ body: JSON.stringify({ object: "list", data, model: "embed-x", usage }) }))
      const provider = createOpenAI({ baseURL: `${connector.url}/v1`, apiKey: CALLERS_KEY })
      const { embeddings } = yield* Effect.promise(() =>
        embedMany({ model: provider.textEmbeddingModel("embed-x"), values: ["seal"], maxRetries: 0 }),
      )
      assert.deepStrictEqual(embeddings, [[0.25, -1e-7]])
    }),
  )
})
