/**
 * Small readers of the vendors' request formats, written from their documentation and not from the code under test. They
 * insist on what the APIs insist on, and give back what the request means.
 */
import { assert } from "@effect/vitest"
import { Schema } from "effect"
import { type Meaning, resultValue, type Said } from "./Conversations.ts"

const decode = <S extends Schema.ConstraintDecoder<unknown>>(schema: S) => Schema.decodeUnknownSync(schema)
const Json = Schema.Record(Schema.String, Schema.Unknown)

const AnthropicImage = Schema.Struct({
  type: Schema.Literal("image"),
  source: Schema.Union([
    Schema.Struct({ type: Schema.Literal("base64"), media_type: Schema.String, data: Schema.String }),
    Schema.Struct({ type: Schema.Literal("url"), url: Schema.String }),
  ]),
})
const AnthropicText = Schema.Struct({ type: Schema.Literal("text"), text: Schema.NonEmptyString })
const AnthropicBlock = Schema.Union([
  AnthropicText,
  AnthropicImage,
  Schema.Struct({ type: Schema.Literal("tool_use"), id: Schema.String, name: Schema.String, input: Json }),
  Schema.Struct({
    type: Schema.Literal("tool_result"),
    tool_use_id: Schema.String,
    content: Schema.Array(Schema.Union([AnthropicText, AnthropicImage])),
  }),
])
const readAnthropicBody = decode(
  Schema.Struct({
    model: Schema.NonEmptyString,
    max_tokens: Schema.Int.check(Schema.isGreaterThan(0)),
    system: Schema.optionalKey(Schema.Array(AnthropicText)),
    messages: Schema.NonEmptyArray(
      Schema.Struct({ role: Schema.Literals(["user", "assistant"]), content: Schema.NonEmptyArray(AnthropicBlock) }),
    ),
    tools: Schema.optionalKey(
      Schema.Array(
        Schema.Struct({
          name: Schema.String,
          description: Schema.String,
          input_schema: Schema.StructWithRest(Schema.Struct({ type: Schema.Literal("object") }), [Json]),
        }),
      ),
    ),
  }),
)

const anthropicImage = ({ source }: typeof AnthropicImage.Type): string =>
  source.type === "url" ? source.url : `data:${source.media_type};base64,${source.data}`

export const readAnthropic = (body: unknown): Meaning & { readonly tools: ReadonlyArray<unknown> } => {
  const request = readAnthropicBody(body)
  const said: Array<Said> = []
  const calls: Array<{ readonly id: string; readonly name: string }> = []
  let open = new Set<string>()
  for (const [index, { role, content }] of request.messages.entries()) {
    assert.strictEqual(role, index % 2 === 0 ? "user" : "assistant", "turns alternate, and the user begins")
    if (role === "user") {
      const answered = content.flatMap((block) => (block.type === "tool_result" ? [block.tool_use_id] : []))
      assert.sameMembers(answered, [...open], "each call is answered in the next turn, and nothing else is")
      open = new Set()
    }
    for (const block of content) {
      if (block.type === "text") said.push({ who: role, text: block.text })
      else if (block.type === "image") {
        assert.strictEqual(role, "user")
        said.push({ who: "user", image: anthropicImage(block) })
      } else if (block.type === "tool_use") {
        assert.strictEqual(role, "assistant")
        assert.match(block.id, /^[a-zA-Z0-9_-]+$/)
        open.add(block.id)
        said.push({ call: calls.length, name: block.name, args: block.input })
        calls.push(block)
      } else {
        const resultOf = calls.findIndex((call) => call.id === block.tool_use_id)
        const text = block.content.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("")
        const images = block.content.flatMap((part) => (part.type === "image" ? [anthropicImage(part)] : []))
        said.push({ resultOf, name: calls[resultOf]?.name ?? "", value: resultValue(text), images })
      }
    }
  }
  return {
    system: (request.system ?? []).map((block) => block.text),
    said: inOrderOfCalls(said),
    tools: (request.tools ?? []).map(({ name, description, input_schema }) => ({
      name,
      description,
      parameters: input_schema,
    })),
  }
}

/** Results of parallel calls may come in any order; what each answers is said by its id. */
const inOrderOfCalls = (said: ReadonlyArray<Said>): ReadonlyArray<Said> => {
  const sorted: Array<Said> = []
  let run: Array<Said & { readonly resultOf: number }> = []
  const flush = () => {
    sorted.push(...run.toSorted((a, b) => a.resultOf - b.resultOf))
    run = []
  }
  for (const one of said) {
    if ("resultOf" in one) run.push(one)
    else {
      flush()
      sorted.push(one)
    }
  }
  flush()
  return sorted
}

const GeminiMedia = Schema.Union([
  Schema.Struct({ inlineData: Schema.Struct({ mimeType: Schema.String, data: Schema.String }) }),
  Schema.Struct({ fileData: Schema.Struct({ mimeType: Schema.String, fileUri: Schema.String }) }),
])
const GeminiText = Schema.Struct({ text: Schema.String })
const GeminiPart = Schema.Union([
  GeminiText,
  GeminiMedia,
  Schema.Struct({
    functionCall: Schema.Struct({ id: Schema.optionalKey(Schema.String), name: Schema.String, args: Json }),
    thoughtSignature: Schema.optionalKey(Schema.String),
  }),
  Schema.Struct({
    functionResponse: Schema.Struct({
      id: Schema.optionalKey(Schema.String),
      name: Schema.String,
      response: Json,
      parts: Schema.optionalKey(Schema.Array(GeminiMedia)),
    }),
  }),
])
const readGeminiBody = decode(
  Schema.Struct({
    systemInstruction: Schema.optionalKey(Schema.Struct({ parts: Schema.Array(GeminiText) })),
    contents: Schema.NonEmptyArray(
      Schema.Struct({ role: Schema.Literals(["user", "model"]), parts: Schema.NonEmptyArray(GeminiPart) }),
    ),
    tools: Schema.optionalKey(
      Schema.Tuple([
        Schema.Struct({
          functionDeclarations: Schema.Array(
            Schema.Struct({ name: Schema.String, description: Schema.String, parametersJsonSchema: Json }),
          ),
        }),
      ]),
    ),
  }),
)

const geminiMedia = (media: typeof GeminiMedia.Type): string =>
  "fileData" in media ? media.fileData.fileUri : `data:${media.inlineData.mimeType};base64,${media.inlineData.data}`

/** A response is its `output` where it has one, else all of it. */
const geminiOutput = (response: Readonly<Record<string, unknown>>): unknown =>
  "output" in response ? response["output"] : response

export const readGemini = (body: unknown): Meaning & { readonly tools: ReadonlyArray<unknown> } => {
  const request = readGeminiBody(body)
  const said: Array<Said> = []
  let calls = 0
  let open: Array<{ readonly n: number; readonly id: string | undefined; readonly name: string }> = []
  for (const { role, parts } of request.contents) {
    const who = role === "user" ? ("user" as const) : ("assistant" as const)
    const responses = parts.filter((part) => "functionResponse" in part)
    assert.strictEqual(responses.length, open.length, "calls are answered in the next content, all of them")
    if (responses.length > 0) assert.strictEqual(responses.length, parts.length, "results stand alone")
    for (const part of parts) {
      if ("text" in part) said.push({ who, text: part.text })
      else if ("functionCall" in part) {
        assert.strictEqual(role, "model")
        open.push({ n: calls, id: part.functionCall.id, name: part.functionCall.name })
        said.push({ call: calls++, name: part.functionCall.name, args: part.functionCall.args })
      } else if ("functionResponse" in part) {
        const { id, name, response, parts: media = [] } = part.functionResponse
        const at = id === undefined ? 0 : open.findIndex((call) => call.id === id)
        const [call] = open.splice(at, 1)
        assert.strictEqual(call?.name, name)
        said.push({ resultOf: call?.n ?? -1, name, value: geminiOutput(response), images: media.map(geminiMedia) })
      } else {
        assert.strictEqual(role, "user")
        said.push({ who: "user", image: geminiMedia(part) })
      }
    }
  }
  return {
    system: (request.systemInstruction?.parts ?? []).map((part) => part.text),
    said: inOrderOfCalls(said),
    tools: (request.tools?.[0].functionDeclarations ?? []).map(({ name, description, parametersJsonSchema }) => ({
      name,
      description,
      parameters: parametersJsonSchema,
    })),
  }
}
