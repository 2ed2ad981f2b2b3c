/**
 * Reads generateContent requests as strictly as the Gemini API does: unknown names are refused, the schema subset of
 * `parameters` and `responseSchema` included. Names are camelCase; the API's second spelling, snake_case, is not taken.
 */
import { Result, Schema } from "effect"
import type { Asked, Turn } from "./Asked.ts"
import type { Received, Refusal } from "./WireFormat.ts"

const Type = Schema.Literals(["STRING", "NUMBER", "INTEGER", "BOOLEAN", "ARRAY", "OBJECT", "NULL"])
const Count = Schema.optionalKey(Schema.Union([Schema.Int, Schema.String.check(Schema.isPattern(/^\d+$/))]))

interface OpenApiSchema {
  readonly type?: string
  readonly items?: OpenApiSchema
  readonly anyOf?: ReadonlyArray<OpenApiSchema>
  readonly properties?: Readonly<Record<string, OpenApiSchema>>
}
/** The OpenAPI subset that the API calls Schema; anything else, `additionalProperties` say, is an unknown name. */
const OpenApiSchema: Schema.Codec<OpenApiSchema> = Schema.Struct({
  type: Schema.optionalKey(
    Schema.Union([Type, Schema.Literals(["string", "number", "integer", "boolean", "array", "object", "null"])]),
  ),
  format: Schema.optionalKey(Schema.String),
  title: Schema.optionalKey(Schema.String),
  description: Schema.optionalKey(Schema.String),
  nullable: Schema.optionalKey(Schema.Boolean),
  enum: Schema.optionalKey(Schema.Array(Schema.String)),
  items: Schema.optionalKey(Schema.suspend(() => OpenApiSchema)),
  minItems: Count,
  maxItems: Count,
  properties: Schema.optionalKey(
    Schema.Record(
      Schema.String,
      Schema.suspend(() => OpenApiSchema),
    ),
  ),
  required: Schema.optionalKey(Schema.Array(Schema.String)),
  minProperties: Count,
  maxProperties: Count,
  minLength: Count,
  maxLength: Count,
  pattern: Schema.optionalKey(Schema.String),
  example: Schema.optionalKey(Schema.Unknown),
  anyOf: Schema.optionalKey(Schema.Array(Schema.suspend(() => OpenApiSchema))),
  propertyOrdering: Schema.optionalKey(Schema.Array(Schema.String)),
  default: Schema.optionalKey(Schema.Unknown),
  minimum: Schema.optionalKey(Schema.Finite),
  maximum: Schema.optionalKey(Schema.Finite),
})

const FunctionName = Schema.String.check(Schema.isPattern(/^[a-zA-Z_][a-zA-Z0-9_.:-]{0,127}$/))
const signed = { thoughtSignature: Schema.optionalKey(Schema.String), thought: Schema.optionalKey(Schema.Boolean) }

const TextPart = Schema.Struct({ text: Schema.String, ...signed })
const InlinePart = Schema.Struct({
  inlineData: Schema.Struct({
    mimeType: Schema.String.check(Schema.isPattern(/^[a-z]+\/[a-z0-9.+-]+$/)),
    data: Schema.String.check(Schema.isPattern(/^[A-Za-z0-9+/]+=*$/)),
  }),
  ...signed,
})
const FilePart = Schema.Struct({
  fileData: Schema.Struct({
    mimeType: Schema.optionalKey(Schema.String),
    fileUri: Schema.String.check(Schema.isPattern(/^(https?|gs):\/\//)),
  }),
  ...signed,
})
const CallPart = Schema.Struct({
  functionCall: Schema.Struct({
    id: Schema.optionalKey(Schema.String),
    name: FunctionName,
    args: Schema.optionalKey(Schema.Record(Schema.String, Schema.Unknown)),
  }),
  ...signed,
})
const ResponsePart = Schema.Struct({
  functionResponse: Schema.Struct({
    id: Schema.optionalKey(Schema.String),
    name: FunctionName,
    response: Schema.Record(Schema.String, Schema.Unknown),
    parts: Schema.optionalKey(Schema.Array(InlinePart)),
  }),
  ...signed,
})
const Part = Schema.Union([TextPart, InlinePart, FilePart, CallPart, ResponsePart])
type Part = typeof Part.Type

const Content = Schema.Struct({
  role: Schema.optionalKey(Schema.Literals(["user", "model"])),
  parts: Schema.Array(Part).check(Schema.isMinLength(1)),
})
type Content = typeof Content.Type

const GenerationConfig = Schema.Struct({
  stopSequences: Schema.optionalKey(Schema.Array(Schema.NonEmptyString).check(Schema.isMaxLength(5))),
  responseMimeType: Schema.optionalKey(Schema.Literals(["text/plain", "application/json", "text/x.enum"])),
  responseSchema: Schema.optionalKey(OpenApiSchema),
  responseJsonSchema: Schema.optionalKey(Schema.Unknown),
  candidateCount: Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 8 }))),
  maxOutputTokens: Schema.optionalKey(Schema.Int.check(Schema.isGreaterThan(0))),
  temperature: Schema.optionalKey(Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 2 }))),
  topP: Schema.optionalKey(Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 1 }))),
  topK: Schema.optionalKey(Schema.Finite),
  seed: Schema.optionalKey(Schema.Int),
  presencePenalty: Schema.optionalKey(Schema.Finite),
  frequencyPenalty: Schema.optionalKey(Schema.Finite),
  responseLogprobs: Schema.optionalKey(Schema.Boolean),
  logprobs: Schema.optionalKey(Schema.Int),
  responseModalities: Schema.optionalKey(Schema.Array(Schema.String)),
  mediaResolution: Schema.optionalKey(Schema.String),
  thinkingConfig: Schema.optionalKey(Schema.Unknown),
})

const Request = Schema.Struct({
  contents: Schema.Array(Content).check(Schema.isMinLength(1)),
  systemInstruction: Schema.optionalKey(
    Schema.Struct({
      role: Schema.optionalKey(Schema.String),
      parts: Schema.Array(TextPart).check(Schema.isMinLength(1)),
    }),
  ),
  tools: Schema.optionalKey(
    Schema.Array(
      Schema.Struct({
        functionDeclarations: Schema.Array(
          Schema.Struct({
            name: FunctionName,
            description: Schema.optionalKey(Schema.String),
            parameters: Schema.optionalKey(OpenApiSchema),
            parametersJsonSchema: Schema.optionalKey(Schema.Unknown),
          }),
        ),
      }),
    ),
  ),
  toolConfig: Schema.optionalKey(
    Schema.Struct({
      functionCallingConfig: Schema.Struct({
        mode: Schema.Literals(["AUTO", "ANY", "NONE", "VALIDATED"]),
        allowedFunctionNames: Schema.optionalKey(Schema.Array(FunctionName)),
      }),
    }),
  ),
  generationConfig: Schema.optionalKey(GenerationConfig),
  safetySettings: Schema.optionalKey(
    Schema.Array(Schema.Struct({ category: Schema.String, threshold: Schema.String })),
  ),
  serviceTier: Schema.optionalKey(Schema.String),
  cachedContent: Schema.optionalKey(Schema.String),
})
type Request = typeof Request.Type

const decode = Schema.decodeUnknownResult(Request, { onExcessProperty: "error" })

const callsOf = (content: Content | undefined) =>
  (content?.parts ?? []).flatMap((part) => ("functionCall" in part ? [part] : []))
const responsesOf = (content: Content | undefined) =>
  (content?.parts ?? []).flatMap((part) => ("functionResponse" in part ? [part.functionResponse] : []))

const unpaired = (contents: ReadonlyArray<Content>): string | undefined => {
  for (const [index, content] of contents.entries()) {
    const calls = callsOf(content)
    const responses = responsesOf(content)
    const asked = callsOf(contents[index - 1])
    if (calls.length > 0 && content.role !== "model") return "Function calls must be in a turn with role model."
    if (calls.length > 0 && (index === 0 || contents[index - 1]?.role === "model")) {
      return "Please ensure that function call turn comes immediately after a user turn or after a function response turn."
    }
    if (responses.length > 0 && content.role === "model") return "Function responses must be in a turn with role user."
    if (responses.length > 0 && asked.length === 0) {
      return "Please ensure that function response turn comes immediately after a function call turn."
    }
    if (asked.length > 0 && responses.length !== asked.length) {
      return "Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn."
    }
    for (const [position, response] of responses.entries()) {
      const match = asked.some(({ functionCall: call }) =>
        response.id === undefined || call.id === undefined
          ? call.name === response.name
          : call.id === response.id && call.name === response.name,
      )
      if (!match) return `contents[${index}].parts[${position}]: the function response answers no function call.`
    }
  }
  return callsOf(contents.at(-1)).length > 0
    ? "Please ensure that function call turn is followed by a function response turn."
    : undefined
}

const wrong = (request: Request): string | undefined => {
  const config = request.generationConfig ?? {}
  const schemas = [config.responseSchema, config.responseJsonSchema].filter((schema) => schema !== undefined).length
  if (schemas > 1) return "Only one of response_schema and response_json_schema may be set."
  if (schemas > 0 && config.responseMimeType !== "application/json") {
    return "Function calling config or response schema requires response_mime_type 'application/json'."
  }
  const declared = (request.tools ?? []).flatMap((tool) => tool.functionDeclarations)
  if (declared.some((tool) => tool.parameters !== undefined && tool.parametersJsonSchema !== undefined)) {
    return "parameters and parameters_json_schema must not both be set."
  }
  const calling = request.toolConfig?.functionCallingConfig
  const allowed = calling?.allowedFunctionNames ?? []
  if (calling?.mode === "ANY" && declared.length === 0) {
    return "Function calling config is set without function_declarations."
  }
  if (allowed.length > 0 && calling?.mode !== "ANY" && calling?.mode !== "VALIDATED") {
    return "Allowed function names should be set only when the function calling mode is ANY or VALIDATED."
  }
  if (allowed.some((name) => !declared.some((tool) => tool.name === name))) {
    return "Allowed function names must be a subset of the declared functions."
  }
  return unpaired(request.contents)
}

const turnsOf = (content: Content): ReadonlyArray<Turn> => {
  const spoken = content.parts.filter((part) => !("functionResponse" in part))
  const text = spoken.map((part) => ("text" in part ? part.text : "")).join("")
  return [
    ...responsesOf(content).map(({ response }): Turn => {
      // The field's custom is one member that holds the text; anything else is the response itself.
      const { output, result, content: value, error } = response
      const text = [output, result, value, error].find((value) => typeof value === "string")
      return { role: "tool", text: typeof text === "string" ? text : JSON.stringify(response) }
    }),
    ...(spoken.length === 0
      ? []
      : [{ role: content.role === "model" ? ("assistant" as const) : ("user" as const), text }]),
  ]
}

/** Google's SDK calls version `v1` by default, most other clients `v1beta`. */
const PATH = /^\/v1(?:beta|alpha)?\/models\/([^/:]+):(generateContent|streamGenerateContent)$/

export const readGemini = (received: Received, key: string): Asked | Refusal => {
  const refuse = (message: string): Refusal => ({ objection: "invalid-request", message })
  const [, model = "", method] = PATH.exec(received.path) ?? []
  const stream = method === "streamGenerateContent"
  if (stream && received.query.get("alt") !== "sse") return refuse("The fake upstream streams with alt=sse only.")
  const decoded = decode(received.body)
  if (Result.isFailure(decoded)) return refuse(`Invalid JSON payload received. ${decoded.failure.message}`)
  const request = decoded.success
  const objection = wrong(request)
  if (objection !== undefined) return refuse(objection)
  const config = request.generationConfig ?? {}
  const turns = request.contents.flatMap(turnsOf)
  return {
    wire: "gemini",
    key,
    headers: received.headers,
    body: received.body,
    model: decodeURIComponent(model),
    stream,
    system: (request.systemInstruction?.parts ?? []).map((part) => part.text).join("\n\n"),
    turns,
    text: turns.at(-1)?.text ?? "",
    tools: (request.tools ?? []).flatMap((tool) => tool.functionDeclarations),
    stop: config.stopSequences ?? [],
    json:
      config.responseMimeType === "application/json"
        ? (config.responseJsonSchema ?? config.responseSchema ?? "any")
        : undefined,
    choices: config.candidateCount ?? 1,
    usage: true,
    signatures: new Map(
      request.contents.flatMap((content) =>
        callsOf(content).map(
          (part) => [part.functionCall.id ?? part.functionCall.name, part.thoughtSignature] as const,
        ),
      ),
    ),
  }
}

export const ownsGemini = (path: string): boolean => PATH.test(path)
