/** Answers of servers that leave members out, empty or in another type, sealed from end to end: their receipts must agree with them. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { proveExchange, SealedClient } from "../../src/client/index.ts"
import type { ApiName } from "../../src/domain/upstream/apis.ts"
import { claudeMessage, gptResponse, type NativeEvent } from "../support/nativeAnswers.ts"
import { nativeSetup } from "../support/nativeSetup.ts"

const QUESTIONS = {
  messages: { model: "claude-x", max_tokens: 9, messages: [{ role: "user", content: "Hi" }] },
  responses: { model: "gpt-x", input: "Hi" },
  embeddings: { model: "embed-x", input: "Hi" },
} as const satisfies Partial<Record<ApiName, object>>
type Api = keyof typeof QUESTIONS

const message = (more: object) =>
  claudeMessage({ content: [{ type: "text", text: "Hi" }], stop_reason: "end_turn", ...more })
const vectors = (more: object) => ({
  object: "list",
  data: [{ object: "embedding", index: 0, embedding: [1] }],
  ...more,
})

/** The events of a message; `ends` are the deltas that end it. */
const messageEvents = (begins: object, ...ends: ReadonlyArray<object>): ReadonlyArray<NativeEvent> => [
  { type: "message_start", message: claudeMessage(begins) },
  { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
  { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "Hi" } },
  { type: "content_block_stop", index: 0 },
  ...ends.map((delta) => ({ type: "message_delta", delta })),
  { type: "message_stop" },
]

const responseEvents = (type: string, response: object): ReadonlyArray<NativeEvent> => [
  { type: "response.created", response: gptResponse("in_progress") },
  { type: "response.output_text.delta", item_id: "i", output_index: 0, content_index: 0, delta: "Hi" },
  { type, response },
]

const cut = (reason: unknown) => gptResponse("incomplete", { incomplete_details: { reason } })

describe("a whole answer", () => {
  it.live.each([
    ["messages", "names no model", message({ model: "" }), "claude-x", ["end_turn"]],
    ["messages", "names its model by a number", message({ model: 5 }), "claude-x", ["end_turn"]],
    ["responses", "names no model", gptResponse("completed", { model: "" }), "gpt-x", ["completed"]],
    ["responses", "is cut for an empty reason", cut(""), "gpt-x", ["incomplete"]],
    ["responses", "is cut for a reason that is a number", cut(3), "gpt-x", ["incomplete"]],
    ["responses", "has a stop reason", gptResponse("completed", { stop_reason: "stop" }), "gpt-x", ["completed"]],
    ["embeddings", "names no model", vectors({ model: "" }), "embed-x", []],
    ["embeddings", "has a status", vectors({ model: "embed-x", status: "ok" }), "embed-x", []],
  ] as const)("of %s that %s is verified", ([api, , answer, model, reasons]) => verified(api, answer, model, reasons))
})

describe("a streamed answer", () => {
  const END = { stop_reason: "end_turn" }
  const details = { incomplete_details: { reason: "max_output_tokens" } }
  it.live.each([
    ["messages", "names no model", messageEvents({ model: "" }, END), "claude-x", ["end_turn"]],
    ["messages", "lacks a model", messageEvents({ model: undefined }, END), "claude-x", ["end_turn"]],
    ["messages", "ends twice", messageEvents({}, END, { stop_reason: "" }), "claude-x", ["end_turn"]],
    ["responses", "abbreviates its end", responseEvents("response.completed", { id: "r" }), "gpt-x", ["completed"]],
    [
      "responses",
      "abbreviates that it is cut",
      responseEvents("response.incomplete", { id: "r", ...details }),
      "gpt-x",
      ["max_output_tokens"],
    ],
    [
      "responses",
      "names no model at its end",
      responseEvents("response.completed", gptResponse("completed", { model: "" })),
      "gpt-x",
      ["completed"],
    ],
    [
      "responses",
      "is cut for an empty reason",
      responseEvents("response.incomplete", cut("")),
      "gpt-x",
      ["incomplete"],
    ],
  ] as const)("of %s that %s is verified", ([api, , events, model, reasons]) => verified(api, events, model, reasons))
})

/** Serves `answer`, and checks that its receipt says `model` and `reasons`, also to a third party. */
const verified = (api: Api, answer: object, model: string, reasons: ReadonlyArray<string>) =>
  Effect.gen(function* () {
    const { native, options, proxy } = yield* nativeSetup()
    const client = new SealedClient(options())
    native.answer(() => ({
      body: Array.isArray(answer)
        ? answer.map((event: NativeEvent) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)
        : JSON.stringify(answer),
    }))
    const { evidence, receipt } = yield* Effect.promise(async () => {
      if (!Array.isArray(answer)) return client.request(api, QUESTIONS[api])
      const stream = await client.requestStream(api, QUESTIONS[api])
      assert.strictEqual(await stream.text(), "Hi")
      return stream.end
    })
    assert.deepStrictEqual([receipt.model, receipt.finish_reasons], [model, reasons])
    yield* Effect.promise(() => proveExchange(evidence, { pins: [proxy.kid], keys: client.keySet }))
  })
