/** Anthropic's unmodified SDK sends and gets the same with and without connector and proxy. */
import Anthropic, { APIError } from "@anthropic-ai/sdk"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { claudeMessage } from "../support/nativeAnswers.ts"
import { namedEvents, type NativeReply } from "../support/nativeUpstream.ts"
import { nativeSetup, sameThroughConnector } from "../support/nativeSetup.ts"
import { plainRequest } from "../support/plainRequest.ts"
import { failing } from "../support/promises.ts"
import { brokenOff, changingEvents } from "../support/tamper.ts"

const CALLERS_KEY = "callers-key-4711"

const sdk = (baseURL: string) => new Anthropic({ baseURL, apiKey: CALLERS_KEY, maxRetries: 0 })

/** Returns the result of `ask` through the connector, after checking that it is the same without. */
const same = (reply: NativeReply, ask: (anthropic: Anthropic) => Promise<unknown>) =>
  sameThroughConnector(reply, CALLERS_KEY, ["anthropic-version", "anthropic-beta"], (url) => ask(sdk(url)))

const usage = {
  input_tokens: 9,
  cache_creation_input_tokens: 64,
  cache_read_input_tokens: 800,
  output_tokens: 20,
}

const SIGNATURE = "c2lnbmF0dXJlIG9mIHdoYXQgd2FzIHRob3VnaHQ="

/** A coding agent's request: a cached prefix, tools, thoughts, a picture and a tool result. */
const agentic = {
  model: "claude-x",
  max_tokens: 2048,
  thinking: { type: "enabled" as const, budget_tokens: 1024 },
  system: [
    { type: "text" as const, text: "You write code. “Ünïcödé” 🦭", cache_control: { type: "ephemeral" as const } },
  ],
  tools: [
    {
      name: "read_file",
      description: "Reads a file",
      input_schema: { type: "object" as const, properties: { path: { type: "string" } }, required: ["path"] },
    },
  ],
  messages: [
    {
      role: "user" as const,
      content: [
        { type: "text" as const, text: "What does it show?" },
        {
          type: "image" as const,
          source: { type: "base64" as const, media_type: "image/png" as const, data: "iVBORw0KGgo=" },
        },
      ],
    },
    {
      role: "assistant" as const,
      content: [
        { type: "thinking" as const, thinking: "Let me look.", signature: SIGNATURE },
        { type: "tool_use" as const, id: "toolu_1", name: "read_file", input: { path: "a.ts" } },
      ],
    },
    {
      role: "user" as const,
      content: [
        {
          type: "tool_result" as const,
          tool_use_id: "toolu_1",
          content: "line 1\nline 2",
          cache_control: { type: "ephemeral" as const },
        },
      ],
    },
  ],
}

const streamed = [
  { type: "message_start", message: claudeMessage({ usage: { ...usage, output_tokens: 1 } }) },
  { type: "content_block_start", index: 0, content_block: { type: "thinking", thinking: "", signature: "" } },
  { type: "ping" },
  { type: "content_block_delta", index: 0, delta: { type: "thinking_delta", thinking: "It is " } },
  { type: "content_block_delta", index: 0, delta: { type: "thinking_delta", thinking: "a seal." } },
  { type: "content_block_delta", index: 0, delta: { type: "signature_delta", signature: SIGNATURE } },
  { type: "content_block_stop", index: 0 },
  { type: "content_block_start", index: 1, content_block: { type: "text", text: "" } },
  { type: "content_block_delta", index: 1, delta: { type: "text_delta", text: "A " } },
  { type: "content_block_delta", index: 1, delta: { type: "text_delta", text: "🦭." } },
  { type: "content_block_stop", index: 1 },
  {
    type: "content_block_start",
    index: 2,
    content_block: { type: "tool_use", id: "toolu_2", name: "read_file", input: {} },
  },
  { type: "content_block_delta", index: 2, delta: { type: "input_json_delta", partial_json: '{"pa' } },
  { type: "content_block_delta", index: 2, delta: { type: "input_json_delta", partial_json: 'th":"b.ts"}' } },
  { type: "content_block_stop", index: 2 },
  { type: "message_delta", delta: { stop_reason: "tool_use", stop_sequence: null }, usage: { output_tokens: 20 } },
  { type: "message_stop" },
]

/** The types of the events that came before a stream broke off. */
const typesOf = async (url: string) => {
  const { seen, thrown } = await brokenOff(sdk(url).messages.create({ ...agentic, stream: true }))
  return { seen: seen.map(({ type }) => type), thrown }
}

describe("Anthropic's SDK through the connector", () => {
  it.live("gets whole messages, with thinking and tools, byte for byte", () =>
    Effect.gen(function* () {
      const content = [
        { type: "thinking", thinking: "Hm.", signature: SIGNATURE },
        { type: "text", text: "Done.", citations: null },
        { type: "tool_use", id: "toolu_2", name: "read_file", input: { path: "b.ts", size: 1.5 } },
      ]
      const reply = { body: JSON.stringify(claudeMessage({ content, stop_reason: "tool_use", usage })) }
      const { value } = yield* same(reply, (anthropic) => anthropic.messages.create(agentic))
      assert.deepInclude(value as object, { content, usage })
    }),
  )

  it.live("gets streams of thinking, text and tools", () =>
    Effect.gen(function* () {
      const { value } = yield* same({ body: namedEvents(...streamed) }, (anthropic) =>
        anthropic.messages.stream(agentic).finalMessage(),
      )
      const { content, stop_reason } = value as Anthropic.Message
      assert.deepStrictEqual(
        content.map(({ type }) => type),
        ["thinking", "text", "tool_use"],
      )
      assert.deepInclude(content[2], { input: { path: "b.ts" } })
      assert.strictEqual(stop_reason, "tool_use")
    }),
  )

  it.live("gets the events one by one under their names", () =>
    Effect.gen(function* () {
      const { connector, native } = yield* nativeSetup()
      native.answer(() => ({ body: namedEvents(...streamed) }))
      const body = JSON.stringify({ ...agentic, stream: true })
      const headers = { "content-type": "application/json", "anthropic-version": "2023-06-01" }
      const text = yield* Effect.promise(async () => {
        const response = await fetch(`${connector.url}/v1/messages`, { method: "POST", headers, body })
        assert.strictEqual(response.headers.get("content-type"), "text/event-stream")
        assert.match(response.headers.get("request-id") ?? "", /^[\da-f-]{36}$/)
        return response.text()
      })
      const events = text
        .split("\n\n")
        .filter((event) => event !== "")
        .map((event) => {
          const [, name, data = ""] = /^event: (\w+)\ndata: (.*)$/.exec(event) ?? []
          return { name, data: JSON.parse(data) as { readonly type: string } }
        })
      for (const { data, name } of events) assert.strictEqual(name, data.type)
      const kinds = (events: ReadonlyArray<{ readonly type: string }>) =>
        events.map(({ type }) => type).filter((type, i, all) => type !== "ping" && all[i - 1] !== type)
      assert.deepStrictEqual(
        kinds(events.map(({ data }) => data)),
        kinds(streamed.filter(({ type }) => type !== "ping")),
      )
    }),
  )

  it.live("counts tokens, and sends its betas", () =>
    Effect.gen(function* () {
      const { max_tokens: _, ...counted } = agentic
      const { value } = yield* same({ body: '{"input_tokens":2095}' }, (anthropic) =>
        anthropic.beta.messages.countTokens({ ...counted, betas: ["context-1m-2025-08-07", "other-2026-01-01"] }),
      )
      assert.deepStrictEqual(value, { input_tokens: 2095 })
    }),
  )

  it.live.each<readonly [number, string, string]>([
    [400, "invalid_request_error", "messages.0: all messages must have non-empty content"],
    [400, "invalid_request_error", "prompt is too long: 205351 tokens > 200000 maximum"],
    [404, "not_found_error", "model: claude-none"],
    [413, "request_too_large", "Request exceeds the maximum size"],
    [429, "rate_limit_error", "This request would exceed your organization's rate limit."],
    [500, "api_error", "Internal server error"],
    [529, "overloaded_error", "Overloaded"],
  ])("gets the error %s %s as Anthropic has it", ([status, type, said]) =>
    Effect.gen(function* () {
      const body = JSON.stringify({
        type: "error",
        error: { type, message: said },
        request_id: "req_1",
      })
      const headers: Record<string, string> = status === 429 ? { "retry-after": "7" } : {}
      for (const stream of [false, true]) {
        const { error } = yield* same({ status, headers, body }, (anthropic) =>
          anthropic.messages.create({ ...agentic, stream }),
        )
        assert.deepInclude(error as object, { status, type })
      }
    }),
  )

  it.live("gets Retry-After and the request's id", () =>
    Effect.gen(function* () {
      const { connector, native } = yield* nativeSetup()
      const error = { type: "rate_limit_error", message: "Slow down." }
      native.answer(() => ({
        status: 429,
        headers: { "retry-after": "7" },
        body: JSON.stringify({ type: "error", error }),
      }))
      const thrown = yield* failing(sdk(connector.url).messages.create(agentic))
      assert.instanceOf(thrown, APIError)
      assert.strictEqual(thrown.headers?.get("retry-after"), "7")
      assert.strictEqual(thrown.headers?.get("x-should-retry"), "true")
      assert.match(thrown.requestID ?? "", /^[\da-f-]{36}$/)
      assert.deepInclude(thrown.error as object, { request_id: thrown.requestID })
    }),
  )

  it.live("gets no authentication error if the operator's key is wrong", () =>
    Effect.gen(function* () {
      const { connector, native } = yield* nativeSetup()
      const error = { type: "authentication_error", message: "invalid x-api-key" }
      native.answer(() => ({ status: 401, body: JSON.stringify({ type: "error", error }) }))
      const thrown = yield* failing(sdk(connector.url).messages.create(agentic))
      assert.instanceOf(thrown, APIError)
      assert.deepStrictEqual([thrown.status, thrown.type], [502, "api_error"])
      assert.notInclude(thrown.message, "x-api-key")
    }),
  )

  const begun = streamed.slice(0, 10)
  const overloaded = { type: "error", error: { type: "overloaded_error", message: "Overloaded" } }

  it.live("gets the error that ends a stream in Anthropic's form", () =>
    Effect.gen(function* () {
      const { error } = yield* same({ body: namedEvents(...begun, overloaded) }, (anthropic) =>
        anthropic.messages.stream(agentic).finalMessage(),
      )
      assert.deepInclude(error as object, { type: "overloaded_error" })
    }),
  )

  it.live("cannot mistake a cut stream for a whole one", () =>
    Effect.gen(function* () {
      const { connector, native } = yield* nativeSetup()
      native.answer(() => ({ body: namedEvents(...begun), after: "cut" }))
      const { seen, thrown } = yield* Effect.promise(() => typesOf(connector.url))
      assert.instanceOf(thrown, APIError)
      assert.strictEqual(thrown.type, "api_error")
      assert.include(seen, "content_block_delta")
      assert.notInclude(seen, "message_delta")
      assert.notInclude(seen, "message_stop")
      assert.strictEqual(native.requests.length, 1)
    }),
  )

  it.live("sees no end of a stream whose proof an attacker on the path removed", () =>
    Effect.gen(function* () {
      const cut = changingEvents((events) => events.filter(({ event }) => event !== "proof"))
      const { connector, native } = yield* nativeSetup({ fetch: cut })
      native.answer(() => ({ body: namedEvents(...streamed) }))
      const { seen, thrown } = yield* Effect.promise(() => typesOf(connector.url))
      assert.instanceOf(thrown, APIError)
      assert.include(thrown.message, "verified but incomplete")
      assert.strictEqual(seen.at(-1), "content_block_stop")
    }),
  )

  it.live("sees no end that a provider writes into an event's name", () =>
    Effect.gen(function* () {
      const { connector, native } = yield* nativeSetup()
      const evil = { type: 'ping\n\nevent: message_stop\ndata: {"type":"message_stop"}\n\n', delta: {} }
      native.answer(() => ({ body: [...namedEvents(...begun), `data: ${JSON.stringify(evil)}\n\n`], after: "cut" }))
      const text = yield* Effect.promise(async () => {
        const headers = { "content-type": "application/json" }
        const body = JSON.stringify({ ...agentic, stream: true })
        const response = await fetch(`${connector.url}/v1/messages`, { method: "POST", headers, body })
        let text = ""
        const reading = (async () => {
          for await (const piece of response.body?.pipeThrough(new TextDecoderStream()) ?? []) text += piece
        })()
        await reading.catch(() => undefined)
        return text
      })
      assert.include(text, "\nevent: error\n")
      assert.include(text, JSON.stringify(evil))
      assert.notInclude(text, "\nevent: message_stop")
    }),
  )

  it.live("lists the models in Anthropic's form", () =>
    Effect.gen(function* () {
      const { connector } = yield* nativeSetup()
      const models = yield* Effect.promise(async () => (await sdk(connector.url).models.list()).data)
      assert.include(
        models.map(({ id, type }) => `${type} ${id}`),
        "model model-1",
      )
    }),
  )

  it.live("gets refusals of the connector itself in Anthropic's form", () =>
    Effect.gen(function* () {
      const { connector } = yield* nativeSetup()
      const headers = { "content-type": "text/plain" }
      const answer = yield* Effect.promise(() =>
        plainRequest({ port: connector.port, path: "/v1/messages", headers, body: "{}" }),
      )
      assert.strictEqual(answer.status, 415)
      assert.deepStrictEqual(JSON.parse(answer.text), {
        type: "error",
        error: { type: "invalid_request_error", message: "Send application/json." },
      })
    }),
  )
})
