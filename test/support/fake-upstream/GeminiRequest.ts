/**
 * Reads `generateContent` requests. Written from the API's documentation, and not from the code under test: fails if a
 * request lacks what the API demands.
 */
import assert from "node:assert/strict"
import { Schema } from "effect"
import type { Meaning, Said } from "./Meaning.ts"
import type { Received } from "./WireFormat.ts"

const Json = Schema.Record(Schema.String, Schema.Unknown)
const Media = Schema.Union([
  Schema.Struct({ inlineData: Schema.Struct({ mimeType: Schema.String, data: Schema.String }) }),
  Schema.Struct({ fileData: Schema.Struct({ mimeType: Schema.optionalKey(Schema.String), fileUri: Schema.String }) }),
])
const Text = Schema.Struct({ text: Schema.String })
const Part = Schema.Union([
  Text,
  Media,
  Schema.Struct({
    functionCall: Schema.Struct({ id: Schema.optionalKey(Schema.String), name: Schema.String, args: Json }),
  }),
  Schema.Struct({
    functionResponse: Schema.Struct({
      id: Schema.optionalKey(Schema.String),
      name: Schema.String,
      response: Json,
      parts: Schema.optionalKey(Schema.Array(Media)),
    }),
  }),
])

const decode = Schema.decodeUnknownSync(
  Schema.Struct({
    systemInstruction: Schema.optionalKey(Schema.Struct({ parts: Schema.Array(Text) })),
    contents: Schema.NonEmptyArray(
      Schema.Struct({
        role: Schema.optionalKey(Schema.Literals(["user", "model"])),
        parts: Schema.NonEmptyArray(Part),
      }),
    ),
    tools: Schema.optionalKey(
      Schema.Tuple([
        Schema.Struct({
          functionDeclarations: Schema.Array(
            Schema.Struct({
              name: Schema.String,
              description: Schema.optionalKey(Schema.String),
              parametersJsonSchema: Schema.optionalKey(Json),
            }),
          ),
        }),
      ]),
    ),
    generationConfig: Schema.optionalKey(
      Schema.Struct({
        candidateCount: Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 8 }))),
        responseMimeType: Schema.optionalKey(Schema.String),
        responseJsonSchema: Schema.optionalKey(Json),
      }),
    ),
  }),
)

const mediaUrl = (media: typeof Media.Type): string =>
  "fileData" in media ? media.fileData.fileUri : `data:${media.inlineData.mimeType};base64,${media.inlineData.data}`

/** Google's SDK calls version `v1` by default, most other clients `v1beta`. */
const PATH = /^\/v1(?:beta|alpha)?\/models\/([^/:]+):(generateContent|streamGenerateContent)$/

export const ownsGemini = (path: string): boolean => PATH.test(path)

export const readGemini = ({ body, path }: Pick<Received, "body" | "path">): Meaning => {
  const request = decode(body)
  let calls = 0
  let open: ReadonlyArray<{ readonly call: number; readonly id: string | undefined; readonly name: string }> = []
  const messages = request.contents.map(({ parts, role = "user" }) => {
    const responses = parts.filter((part) => "functionResponse" in part)
    assert.equal(responses.length, open.length, "calls are answered in the next content, all of them")
    if (responses.length > 0) assert.equal(responses.length, parts.length, "results stand alone")
    return parts.map((part): Said => {
      if ("text" in part) return { who: role === "user" ? "user" : "assistant", text: part.text }
      if ("functionCall" in part) {
        assert.equal(role, "model")
        const { args, id, name } = part.functionCall
        open = [...open, { call: calls, id, name }]
        return { call: calls++, name, args }
      }
      if ("functionResponse" in part) {
        const { id, name, response, parts: media = [] } = part.functionResponse
        // Results without ids answer the calls in their order.
        const call = id === undefined ? open[0] : open.find((each) => each.id === id)
        open = open.filter((each) => each !== call)
        assert.equal(call?.name, name)
        const value = "output" in response ? response["output"] : response
        return { resultOf: call?.call ?? -1, name, value, images: media.map(mediaUrl) }
      }
      assert.equal(role, "user")
      return { who: "user", image: mediaUrl(part) }
    })
  })
  const [, model = "", method] = PATH.exec(path) ?? []
  const { candidateCount = 1, responseJsonSchema = "any", responseMimeType } = request.generationConfig ?? {}
  return {
    model: decodeURIComponent(model),
    stream: method === "streamGenerateContent",
    system: (request.systemInstruction?.parts ?? []).map((part) => part.text),
    messages,
    tools: (request.tools?.[0].functionDeclarations ?? []).map(({ parametersJsonSchema, ...tool }) => ({
      ...tool,
      parameters: parametersJsonSchema,
    })),
    json: responseMimeType === "application/json" ? responseJsonSchema : undefined,
    choices: candidateCount,
  }
}
