/**
 * Reads Chat Completions requests as strictly as OpenAI does. Members unknown here are let through, because
 * OpenAI-compatible vendors each have their own.
 */
import { Result, Schema } from "effect"
import type { Asked, Turn } from "./Asked.ts"
import type { Received, Refusal } from "./WireFormat.ts"

const FunctionName = Schema.String.check(Schema.isPattern(/^[a-zA-Z0-9_-]{1,64}$/))
const Nullable = <S extends Schema.Constraint>(schema: S) => Schema.optionalKey(Schema.NullOr(schema))

const TextPart = Schema.Struct({ type: Schema.Literal("text"), text: Schema.String })
const RefusalPart = Schema.Struct({ type: Schema.Literal("refusal"), refusal: Schema.String })
const ImagePart = Schema.Struct({
  type: Schema.Literal("image_url"),
  image_url: Schema.Struct({
    url: Schema.String.check(Schema.isPattern(/^(https?:\/\/|data:image\/[a-z+.-]+;base64,[A-Za-z0-9+/]+=*$)/)),
    detail: Schema.optionalKey(Schema.Literals(["auto", "low", "high", "original"])),
  }),
})
const OtherPart = Schema.Struct({ type: Schema.Literals(["input_audio", "file"]) })

/** A string, or a list of the parts that this kind of message may have. */
const content = <const Parts extends ReadonlyArray<Schema.Constraint>>(parts: Parts) =>
  Schema.Union([Schema.String, Schema.Array(Schema.Union(parts)).check(Schema.isMinLength(1))])
const TextContent = content([TextPart])
const UserContent = content([TextPart, ImagePart, OtherPart])
const AssistantContent = content([TextPart, RefusalPart])
type Content = typeof UserContent.Type | typeof AssistantContent.Type

const Call = Schema.Struct({
  id: Schema.NonEmptyString,
  type: Schema.Literal("function"),
  function: Schema.Struct({ name: FunctionName, arguments: Schema.String }),
  extra_content: Schema.optionalKey(
    Schema.Struct({
      google: Schema.optionalKey(Schema.Struct({ thought_signature: Schema.optionalKey(Schema.String) })),
    }),
  ),
})

const Message = Schema.Union([
  Schema.Struct({ role: Schema.Literals(["system", "developer"]), content: TextContent }),
  Schema.Struct({ role: Schema.Literal("user"), content: UserContent }),
  Schema.Struct({
    role: Schema.Literal("assistant"),
    content: Nullable(AssistantContent),
    refusal: Nullable(Schema.String),
    tool_calls: Schema.optionalKey(Schema.Array(Call).check(Schema.isMinLength(1))),
  }),
  Schema.Struct({ role: Schema.Literal("tool"), tool_call_id: Schema.NonEmptyString, content: TextContent }),
])
type Message = typeof Message.Type

const ResponseFormat = Schema.Union([
  Schema.Struct({ type: Schema.Literal("text") }),
  Schema.Struct({ type: Schema.Literal("json_object") }),
  Schema.Struct({
    type: Schema.Literal("json_schema"),
    json_schema: Schema.Struct({
      name: FunctionName,
      schema: Schema.optionalKey(Schema.Unknown),
      strict: Nullable(Schema.Boolean),
    }),
  }),
])

const Request = Schema.Struct({
  model: Schema.NonEmptyString,
  messages: Schema.Array(Message).check(Schema.isMinLength(1)),
  stream: Nullable(Schema.Boolean),
  stream_options: Nullable(Schema.Struct({ include_usage: Schema.optionalKey(Schema.Boolean) })),
  tools: Schema.optionalKey(
    Schema.Array(
      Schema.Struct({
        type: Schema.Literal("function"),
        function: Schema.Struct({
          name: FunctionName,
          description: Schema.optionalKey(Schema.String),
          parameters: Schema.optionalKey(Schema.Record(Schema.String, Schema.Unknown)),
          strict: Nullable(Schema.Boolean),
        }),
      }),
    ).check(Schema.isMinLength(1)),
  ),
  tool_choice: Schema.optionalKey(
    Schema.Union([
      Schema.Literals(["none", "auto", "required"]),
      Schema.Struct({ type: Schema.Literal("function"), function: Schema.Struct({ name: FunctionName }) }),
    ]),
  ),
  parallel_tool_calls: Schema.optionalKey(Schema.Boolean),
  response_format: Schema.optionalKey(ResponseFormat),
  stop: Nullable(Schema.Union([Schema.String, Schema.Array(Schema.String).check(Schema.isMaxLength(4))])),
  max_tokens: Nullable(Schema.Int.check(Schema.isGreaterThan(0))),
  max_completion_tokens: Nullable(Schema.Int.check(Schema.isGreaterThan(0))),
  temperature: Nullable(Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 2 }))),
  top_p: Nullable(Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 1 }))),
  n: Nullable(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 128 }))),
})
type Request = typeof Request.Type

const decode = Schema.decodeUnknownResult(Request)

const textOf = (content: Content | null | undefined): string =>
  content == null
    ? ""
    : typeof content === "string"
      ? content
      : content.map((part) => (part.type === "text" ? part.text : "")).join("")

const turnOf = (message: Message): Turn => ({
  role: message.role === "developer" ? "system" : message.role,
  text: textOf(message.content),
})

/** Returns the error in the order of calls and results, if any. */
const unpaired = (messages: ReadonlyArray<Message>): string | undefined => {
  let open: ReadonlyArray<string> = []
  for (const [index, message] of messages.entries()) {
    if (message.role === "tool") {
      if (!open.includes(message.tool_call_id)) {
        return `Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'. (messages[${index}])`
      }
      open = open.filter((id) => id !== message.tool_call_id)
      continue
    }
    if (open.length > 0) break
    open = message.role === "assistant" ? (message.tool_calls ?? []).map((call) => call.id) : []
  }
  return open.length === 0
    ? undefined
    : `An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: ${open.join(", ")}`
}

const wrong = ({ messages, ...request }: Request): string | undefined => {
  if (request.tools === undefined) {
    for (const name of ["tool_choice", "parallel_tool_calls"] as const) {
      if (request[name] !== undefined)
        return `Invalid value for '${name}': '${name}' is only allowed when 'tools' are specified.`
    }
  }
  if (request.stream_options != null && request.stream !== true) {
    return "The 'stream_options' parameter is only allowed when 'stream' is enabled."
  }
  if (request.max_tokens != null && request.max_completion_tokens != null) {
    return "Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported."
  }
  const named = typeof request.tool_choice === "object" ? request.tool_choice.function.name : undefined
  if (named !== undefined && !request.tools?.some((tool) => tool.function.name === named)) {
    return "Invalid value for 'tool_choice': the function is not in 'tools'."
  }
  const says = messages.map((message) => textOf(message.content)).join(" ")
  if (request.response_format?.type === "json_object" && !/json/i.test(says)) {
    return "'messages' must contain the word 'json' in some form, to use 'response_format' of type 'json_object'."
  }
  return unpaired(messages)
}

const jsonOf = (format: Request["response_format"]): unknown =>
  format === undefined || format.type === "text"
    ? undefined
    : format.type === "json_object"
      ? "any"
      : (format.json_schema.schema ?? "any")

export const readOpenAi = (received: Received, key: string): Asked | Refusal => {
  const decoded = decode(received.body)
  if (Result.isFailure(decoded)) return { objection: "invalid-request", message: decoded.failure.message }
  const request = decoded.success
  const objection = wrong(request)
  if (objection !== undefined) return { objection: "invalid-request", message: objection }
  const turns = request.messages.map(turnOf)
  const leading = turns.findIndex((turn) => turn.role !== "system")
  const spoken = leading === -1 ? [] : turns.slice(leading)
  return {
    wire: "openai",
    key,
    headers: received.headers,
    body: received.body,
    model: request.model,
    stream: request.stream === true,
    system: turns
      .slice(0, turns.length - spoken.length)
      .map((turn) => turn.text)
      .join("\n\n"),
    turns: spoken,
    text: turns.at(-1)?.text ?? "",
    tools: (request.tools ?? []).map((tool) => tool.function),
    stop: typeof request.stop === "string" ? [request.stop] : (request.stop ?? []),
    json: jsonOf(request.response_format),
    choices: request.n ?? 1,
    usage: request.stream !== true || request.stream_options?.include_usage === true,
    signatures: new Map(
      request.messages.flatMap((message) =>
        message.role === "assistant"
          ? (message.tool_calls ?? []).map((call) => [call.id, call.extra_content?.google?.thought_signature] as const)
          : [],
      ),
    ),
  }
}
