import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { Agent, CreateAgent } from "../../../src/domain/jobs/agent.ts"

const decode = Schema.decodeUnknownSync(CreateAgent)

const tool = { name: "add", description: "Adds.", input_schema: { type: "object" }, url: "https://tools.example.com/" }

const nested = (levels: number): object => (levels === 1 ? {} : { properties: nested(levels - 1) })

const REFUSED: ReadonlyArray<readonly [why: string, members: object, message: RegExp]> = [
  ["a name that providers refuse", { name: "add numbers" }, /letters, digits/],
  ["an empty description", { description: "" }, /length/],
  ["a schema that is no object's", { input_schema: { type: "string" } }, /set "type" to "object"/],
  ["a schema nested too deeply", { input_schema: { type: "object", ...nested(17) } }, /nest at most 16 levels/],
  ["a schema nested without end", { input_schema: { type: "object", ...nested(5000) } }, /nest at most 16 levels/],
  ["a schema that is too long", { input_schema: { type: "object", title: "x".repeat(16_384) } }, /16384 characters/],
  ["a schema with half a million values", { input_schema: { type: "object", enum: Array(500_000).fill(0) } }, /16384/],
  [
    "a schema that refers to another document",
    { input_schema: { type: "object", properties: { a: { $ref: "https://example.com/bomb" } } } },
    /begin with #/,
  ],
  [
    "a property name that a provider refuses",
    { input_schema: { type: "object", anyOf: [{ properties: { "filter[id]": { type: "string" } } }] } },
    /add: name each property .* unlike "filter\[id\]"/,
  ],
  ["a URL with a password", { url: "https://user:secret@tools.example.com/" }, /without user and password/],
  ["a URL with U+0000", { url: "https://tools.example.com/\u0000x" }, /without control characters/],
  ["a URL of another scheme", { url: "file:///etc/passwd" }, /https URL/],
  ["text that is no URL", { url: "tools.example.com" }, /absolute URL/],
]

describe("a tool", () => {
  it("is accepted within its bounds", () => {
    const input_schema: Record<string, unknown> = { type: "object", ...nested(16), $defs: { a: { $ref: "#/$defs/a" } } }
    const tools = [
      tool,
      { ...tool, name: "other", input_schema, method: "GET" as const, read_only: true, timeout_seconds: 5 },
    ]
    assert.deepStrictEqual(decode({ name: "a", tools }).tools, tools)
  })

  for (const [why, members, message] of REFUSED) {
    it(`is refused for ${why}`, () => {
      assert.throws(() => decode({ name: "a", tools: [{ ...tool, ...members }] }), message)
    })
  }

  it("is decoded with earlier property names, if it was stored", () => {
    const schema = { type: "object", properties: { "filter[id]": { type: "string" } } }
    const tools = [{ ...tool, input_schema: schema }]
    assert.deepStrictEqual(Schema.decodeUnknownSync(Agent.fields.tools)(tools), tools)
  })

  it("is refused if it has the name of another, or if there are more than 32", () => {
    assert.throws(() => decode({ name: "a", tools: [tool, tool] }), /add occurs twice/)
    const many = Array.from({ length: 33 }, (_, i) => ({ ...tool, name: `tool${i}` }))
    assert.throws(() => decode({ name: "a", tools: many }), /length/)
  })
})
