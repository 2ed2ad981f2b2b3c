/**
 * Reads Messages API requests. Written from the API's documentation, and not from the code under test: fails if a request
 * lacks what the API demands.
 */
import assert from "node:assert/strict"
import { Schema } from "effect"
import { type Meaning, resultValue, type Said } from "./Meaning.ts"
import type { Received } from "./WireFormat.ts"

const Json = Schema.Record(Schema.String, Schema.Unknown)
const Spoken = Schema.String.check(Schema.isPattern(/\S/))
const Text = Schema.Struct({ type: Schema.Literal("text"), text: Spoken })
const Image = Schema.Struct({
  type: Schema.Literal("image"),
  source: Schema.Union([
    Schema.Struct({ type: Schema.Literal("base64"), media_type: Schema.String, data: Schema.String }),
    Schema.Struct({ type: Schema.Literal("url"), url: Schema.String }),
  ]),
})
const Id = Schema.String.check(Schema.isPattern(/^[a-zA-Z0-9_-]+$/))

/** A text stands for a list with one text block. */
const content = <const Block extends Schema.Constraint>(block: Block) => Schema.Union([Spoken, Schema.Array(block)])
const Block = Schema.Union([
  Text,
  Image,
  Schema.Struct({ type: Schema.Literal("tool_use"), id: Id, name: Schema.String, input: Json }),
  Schema.Struct({
    type: Schema.Literal("tool_result"),
    tool_use_id: Id,
    content: content(Schema.Union([Text, Image])),
  }),
])

const decode = Schema.decodeUnknownSync(
  Schema.Struct({
    model: Schema.NonEmptyString,
    max_tokens: Schema.Int.check(Schema.isGreaterThan(0)),
    stream: Schema.optionalKey(Schema.Boolean),
    system: Schema.optionalKey(content(Text)),
    messages: Schema.NonEmptyArray(
      Schema.Struct({ role: Schema.Literals(["user", "assistant"]), content: content(Block) }),
    ),
    temperature: Schema.optionalKey(Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 1 }))),
    tools: Schema.optionalKey(
      Schema.Array(
        Schema.Struct({
          name: Schema.String,
          description: Schema.optionalKey(Schema.String),
          input_schema: Schema.StructWithRest(Schema.Struct({ type: Schema.Literal("object") }), [Json]),
        }),
      ),
    ),
    output_config: Schema.optionalKey(
      Schema.Struct({
        format: Schema.optionalKey(Schema.Struct({ type: Schema.Literal("json_schema"), schema: Json })),
      }),
    ),
  }),
)

const blocksOf = <Block>(blocks: string | ReadonlyArray<Block>): ReadonlyArray<Block | typeof Text.Type> =>
  typeof blocks === "string" ? [{ type: "text", text: blocks }] : blocks

const imageUrl = ({ source }: typeof Image.Type): string =>
  source.type === "url" ? source.url : `data:${source.media_type};base64,${source.data}`

export const readAnthropic = ({ body }: Pick<Received, "body">): Meaning => {
  const request = decode(body)
  const calls: Array<{ readonly id: string; readonly name: string }> = []
  let open = new Set<string>()
  const messages = request.messages.map(({ content, role }, index) => {
    assert.equal(role, index % 2 === 0 ? "user" : "assistant", "turns alternate, and the user begins")
    const blocks = blocksOf(content)
    if (role === "user") {
      const answered = blocks.flatMap((block) => (block.type === "tool_result" ? [block.tool_use_id] : []))
      assert.deepEqual(
        answered.toSorted(),
        [...open].toSorted(),
        "each call is answered in the next turn, and nothing else is",
      )
      open = new Set()
    }
    return blocks.map((block): Said => {
      switch (block.type) {
        case "text":
          return { who: role, text: block.text }
        case "image":
          assert.equal(role, "user")
          return { who: "user", image: imageUrl(block) }
        case "tool_use":
          assert.equal(role, "assistant")
          open.add(block.id)
          calls.push(block)
          return { call: calls.length - 1, name: block.name, args: block.input }
        case "tool_result": {
          const resultOf = calls.findLastIndex((call) => call.id === block.tool_use_id)
          const parts = blocksOf(block.content)
          const text = parts.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("")
          const images = parts.flatMap((part) => (part.type === "image" ? [imageUrl(part)] : []))
          return { resultOf, name: calls[resultOf]?.name ?? "", value: resultValue(text), images }
        }
      }
    })
  })
  return {
    model: request.model,
    stream: request.stream === true,
    system: blocksOf(request.system ?? []).map((block) => block.text),
    messages,
    tools: (request.tools ?? []).map(({ input_schema, ...tool }) => ({ ...tool, parameters: input_schema })),
    json: request.output_config?.format?.schema,
  }
}
