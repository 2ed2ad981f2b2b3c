import { assert, describe, it } from "@effect/vitest"
import { Result, Schema } from "effect"
import { ChatInput } from "../../../src/domain/chat/chat.ts"
import { ExecuteRequest } from "../../../src/domain/jobs/job.ts"
import { RpcMessage } from "../../../src/api/gateway/JsonRpc.ts"
import { schemaIssues } from "../../../src/domain/json/schemaIssues.ts"

const of = <A, I>(schema: Schema.Codec<A, I>, value: unknown) =>
  Result.match(Schema.decodeUnknownResult(schema)(value, { errors: "all", onExcessProperty: "error" }), {
    onSuccess: () => [],
    onFailure: ({ issue }) => schemaIssues(issue, ["payload"]).map(({ message, path }) => `${path}: ${message}`),
  })

const user = { role: "user", content: "x" }

const NO_MEMBER = {
  messages:
    "payload.foo: There is no such member; possible are concurrency, messages, metadata, mode, options, priority, thread_id, webhook_url",
  task: "payload.foo: There is no such member; possible are concurrency, metadata, mode, options, priority, task, thread_id, webhook_url",
}

describe("schemaIssues", () => {
  it.each<readonly [unknown, ReadonlyArray<string>]>([
    [{ mode: "de bate", task: "x" }, ["payload.mode: Expected the name of a mode"]],
    [{ task: "" }, ["payload.task: Expected a value with a length of at least 1"]],
    [{ messages: "x" }, ["payload.messages: Expected array"]],
    [{ messages: [user], foo: 1 }, [NO_MEMBER.messages]],
    [
      { task: "x", options: { rounds: 9 }, foo: 1 },
      ["payload.options.rounds: Expected a value between 1 and 3", NO_MEMBER.task],
    ],
    [5, ["payload: Expected object"]],
  ])("reports the form that was meant in %j", (value, expected) =>
    assert.sameMembers([...of(ExecuteRequest, value)], [...expected]),
  )

  it.each<readonly [unknown, ReadonlyArray<string>]>([
    [{ prompt: "x", model: 5 }, ["payload.model: Expected string"]],
    [{ messages: [user], tool_choice: { type: "function" } }, ["payload.tool_choice.function: Missing key"]],
    [
      { messages: [user], response_format: { type: "json_schema" } },
      ["payload.response_format.json_schema: Missing key"],
    ],
    [{ messages: [{ role: "user" }] }, ["payload.messages.0.content: Missing key"]],
    [{ messages: [{ ...user, content: 5 }] }, ["payload.messages.0.content: Expected string | array"]],
    [
      { messages: [{ ...user, content: [{ type: "text" }, { type: "image_url" }] }] },
      ["payload.messages.0.content.0.text: Missing key", "payload.messages.0.content.1.image_url: Missing key"],
    ],
    [{ messages: [{ content: "x" }] }, ["payload.messages.0.role: Missing key"]],
  ])("reports the form that the literals name in %j", (value, expected) =>
    assert.sameMembers([...of(ChatInput, value)], [...expected]),
  )

  it("names the missing literal, if no form of a union has the given one", () => {
    assert.deepStrictEqual(of(Schema.Union([RpcMessage]), { hello: 1 }), [`payload.jsonrpc: Expected "2.0"`])
  })

  it("names every form of a union if none was clearly meant", () => {
    assert.deepStrictEqual(of(ExecuteRequest, {}), ["payload: Missing key, one of messages, task"])
    assert.deepStrictEqual(of(ExecuteRequest, { task: "x", messages: [user] }), [
      "payload: Expected only one of messages, task",
    ])
    assert.deepStrictEqual(of(ChatInput, { messages: [{ ...user, role: "robot" }] }), [
      `payload.messages.0.role: Expected "system" | "developer" | "user" | "assistant" | "tool"`,
    ])
  })

  it("reports a limited number of issues", () => {
    const messages = Array.from({ length: 1000 }, () => ({ role: "user" }))
    const told = of(ExecuteRequest, { messages })
    assert.strictEqual(told.length, 64)
    assert.strictEqual(told.at(-1), "payload.messages.63.content: Missing key")
  })
})
