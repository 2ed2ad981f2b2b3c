/** Reads Chat Completions requests: the members that an answer depends on. All others are let through. */
import assert from "node:assert/strict"
import { Schema } from "effect"
import type { Meaning, Said } from "./Meaning.ts"
import type { Received } from "./WireFormat.ts"

const optional = <S extends Schema.Constraint>(schema: S) => Schema.optionalKey(Schema.NullOr(schema))

const Part = Schema.Struct({ type: Schema.String, text: Schema.optionalKey(Schema.String) })
const Named = Schema.Struct({ name: Schema.NonEmptyString })

const decode = Schema.decodeUnknownSync(
  Schema.Struct({
    model: Schema.NonEmptyString,
    messages: Schema.NonEmptyArray(
      Schema.Struct({
        role: Schema.Literals(["system", "developer", "user", "assistant", "tool"]),
        content: optional(Schema.Union([Schema.String, Schema.Array(Part)])),
        tool_calls: Schema.optionalKey(Schema.Array(Schema.Struct({ id: Schema.NonEmptyString, function: Named }))),
        tool_call_id: Schema.optionalKey(Schema.NonEmptyString),
      }),
    ),
    stream: optional(Schema.Boolean),
    stream_options: optional(Schema.Struct({ include_usage: Schema.optionalKey(Schema.Boolean) })),
    tools: Schema.optionalKey(Schema.Array(Schema.Struct({ function: Named }))),
    response_format: Schema.optionalKey(
      Schema.Struct({
        type: Schema.Literals(["text", "json_object", "json_schema"]),
        json_schema: Schema.optionalKey(Schema.Struct({ schema: Schema.optionalKey(Schema.Unknown) })),
      }),
    ),
    n: optional(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 128 }))),
  }),
)

const textOf = (content: string | ReadonlyArray<typeof Part.Type> | null | undefined): string =>
  typeof content === "string" ? content : (content ?? []).map(({ text = "" }) => text).join("")

const jsonOf = ({
  json_schema,
  type,
}: {
  readonly json_schema?: { readonly schema?: unknown }
  readonly type: string
}) => (type === "text" ? undefined : (json_schema?.schema ?? "any"))

export const readOpenAi = ({ body }: Pick<Received, "body">): Meaning => {
  const { messages, ...request } = decode(body)
  assert.ok(request.stream === true || request.stream_options == null, "only streams have stream_options")
  let open: ReadonlyArray<string> = []
  const said = messages.map(({ content, role, tool_call_id = "", tool_calls = [] }): Said => {
    const text = textOf(content)
    if (role === "tool") {
      assert.ok(open.includes(tool_call_id), "a result answers a call before it")
      open = open.filter((id) => id !== tool_call_id)
      return { resultOf: -1, name: "", value: text, images: [] }
    }
    assert.deepEqual(open, [], "each call is answered before anything else is said")
    open = tool_calls.map(({ id }) => id)
    return { who: role === "developer" ? "system" : role, text }
  })
  assert.deepEqual(open, [], "each call is answered")
  const leading = said.findIndex((one) => !("who" in one && one.who === "system"))
  const system = leading === -1 ? said : said.slice(0, leading)
  return {
    model: request.model,
    stream: request.stream === true,
    system: system.map((one) => ("text" in one ? one.text : "")),
    messages: said.slice(system.length).map((one) => [one]),
    tools: (request.tools ?? []).map((tool) => tool.function),
    json: request.response_format && jsonOf(request.response_format),
    choices: request.n ?? 1,
    usage: request.stream !== true || request.stream_options?.include_usage === true,
  }
}
