/**
 * Reads Messages API requests as strictly as Anthropic does: unknown members are refused, and so is every message
 * order that the API refuses. Versions 2023-06-01 and 2026-10-21 are known.
 */
import { Result, Schema } from "effect"
import type { Asked, Turn } from "./Asked.ts"
import type { Received, Refusal } from "./WireFormat.ts"

const Id = Schema.String.check(Schema.isPattern(/^[a-zA-Z0-9_-]+$/))
const ToolName = Schema.String.check(Schema.isPattern(/^[a-zA-Z0-9_-]{1,128}$/))
const CacheControl = Schema.optionalKey(Schema.NullOr(Schema.Unknown))

/** Text has to have something but white space in it. */
const Words = Schema.String.check(Schema.isPattern(/\S/))
const Text = Schema.Struct({ type: Schema.Literal("text"), text: Words, cache_control: CacheControl })
const ImageBlock = Schema.Struct({
  type: Schema.Literal("image"),
  source: Schema.Union([
    Schema.Struct({
      type: Schema.Literal("base64"),
      media_type: Schema.Literals(["image/jpeg", "image/png", "image/gif", "image/webp"]),
      data: Schema.String.check(Schema.isPattern(/^[A-Za-z0-9+/]+=*$/)),
    }),
    Schema.Struct({ type: Schema.Literal("url"), url: Schema.String.check(Schema.isPattern(/^https?:\/\//)) }),
  ]),
  cache_control: CacheControl,
})
const ToolUse = Schema.Struct({
  type: Schema.Literal("tool_use"),
  id: Id,
  name: ToolName,
  input: Schema.Record(Schema.String, Schema.Unknown),
  caller: Schema.optionalKey(Schema.Unknown),
  cache_control: CacheControl,
})
const ToolResult = Schema.Struct({
  type: Schema.Literal("tool_result"),
  tool_use_id: Id,
  content: Schema.optionalKey(Schema.Union([Schema.String, Schema.Array(Schema.Union([Text, ImageBlock]))])),
  is_error: Schema.optionalKey(Schema.Boolean),
  cache_control: CacheControl,
})
const Block = Schema.Union([Text, ImageBlock, ToolUse, ToolResult])
type Block = typeof Block.Type

const Message = Schema.Struct({
  role: Schema.Literals(["user", "assistant", "system"]),
  content: Schema.Union([Words, Schema.Array(Block)]),
})
type Message = typeof Message.Type

const Choice = { disable_parallel_tool_use: Schema.optionalKey(Schema.Boolean) }

const Request = Schema.Struct({
  model: Schema.NonEmptyString,
  max_tokens: Schema.Int.check(Schema.isGreaterThanOrEqualTo(0)),
  messages: Schema.Array(Message).check(Schema.isMinLength(1)),
  system: Schema.optionalKey(Schema.Union([Schema.String, Schema.Array(Text)])),
  stream: Schema.optionalKey(Schema.Boolean),
  stop_sequences: Schema.optionalKey(Schema.Array(Words)),
  temperature: Schema.optionalKey(Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 1 }))),
  top_p: Schema.optionalKey(Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 1 }))),
  top_k: Schema.optionalKey(Schema.Int),
  tools: Schema.optionalKey(
    Schema.Array(
      Schema.Struct({
        type: Schema.optionalKey(Schema.NullOr(Schema.Literal("custom"))),
        name: ToolName,
        description: Schema.optionalKey(Schema.String),
        strict: Schema.optionalKey(Schema.Boolean),
        input_schema: Schema.StructWithRest(Schema.Struct({ type: Schema.Literal("object") }), [
          Schema.Record(Schema.String, Schema.Unknown),
        ]),
        cache_control: CacheControl,
      }),
    ),
  ),
  tool_choice: Schema.optionalKey(
    Schema.Union([
      Schema.Struct({ type: Schema.Literals(["auto", "any"]), ...Choice }),
      Schema.Struct({ type: Schema.Literal("tool"), name: ToolName, ...Choice }),
      Schema.Struct({ type: Schema.Literal("none") }),
    ]),
  ),
  output_config: Schema.optionalKey(
    Schema.Struct({
      effort: Schema.optionalKey(Schema.NullOr(Schema.Literals(["low", "medium", "high", "xhigh", "max"]))),
      format: Schema.optionalKey(
        Schema.NullOr(
          Schema.Struct({
            type: Schema.Literal("json_schema"),
            schema: Schema.Record(Schema.String, Schema.Unknown),
          }),
        ),
      ),
    }),
  ),
  metadata: Schema.optionalKey(Schema.Struct({ user_id: Schema.optionalKey(Schema.NullOr(Schema.String)) })),
  thinking: Schema.optionalKey(Schema.Unknown),
  service_tier: Schema.optionalKey(Schema.Literals(["auto", "standard_only"])),
  cache_control: CacheControl,
})
type Request = typeof Request.Type

const decode = Schema.decodeUnknownResult(Request, { onExcessProperty: "error" })

const blocksOf = (content: Message["content"]): ReadonlyArray<Block> =>
  typeof content === "string" ? [{ type: "text", text: content }] : content

const usesOf = (message: Message | undefined) =>
  message === undefined ? [] : blocksOf(message.content).filter((block) => block.type === "tool_use")

const resultsOf = (message: Message | undefined) =>
  message === undefined ? [] : blocksOf(message.content).filter((block) => block.type === "tool_result")

/** Consecutive messages of one role count as one turn. */
const merge = (messages: ReadonlyArray<Message>): ReadonlyArray<Message> => {
  const merged: Array<Message> = []
  for (const message of messages) {
    const last = merged.at(-1)
    if (last?.role === message.role) {
      merged[merged.length - 1] = {
        role: last.role,
        content: [...blocksOf(last.content), ...blocksOf(message.content)],
      }
    } else merged.push(message)
  }
  return merged
}

/** Returns the error in the order of tool uses and results, if any. */
const unpaired = (messages: ReadonlyArray<Message>): string | undefined => {
  const seen = new Set<string>()
  for (const [index, message] of messages.entries()) {
    const previous = messages[index - 1]
    const at = `messages.${index}`
    const results = resultsOf(message).map((block) => block.tool_use_id)
    const expected = usesOf(previous).map((block) => block.id)
    for (const id of results) {
      if (!expected.includes(id)) {
        return `${at}.content: unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${id}. Each \`tool_result\` block must have a corresponding \`tool_use\` block in the previous message.`
      }
    }
    const missing = expected.filter((id) => !results.includes(id))
    if (missing.length > 0) {
      return `messages.${index - 1}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${missing.join(", ")}. Each \`tool_use\` block must have a corresponding \`tool_result\` block in the next message.`
    }
    if (new Set(results).size < results.length) return `${at}: each tool_use must have a single result.`
    const blocks = blocksOf(message.content)
    if (blocks.slice(0, results.length).some((block) => block.type !== "tool_result")) {
      return `${at}: \`tool_result\` blocks must come before any other content of their message.`
    }
    for (const { id } of usesOf(message)) {
      if (seen.has(id)) return `${at}: \`tool_use\` ids must be unique`
      seen.add(id)
    }
  }
  const open = usesOf(messages.at(-1))
  return open.length === 0
    ? undefined
    : `messages.${messages.length - 1}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${open.map((block) => block.id).join(", ")}.`
}

const misplaced = (messages: ReadonlyArray<Message>): string | undefined => {
  if (messages[0]?.role !== "user") return 'messages: first message must use the "user" role'
  for (const [index, message] of messages.entries()) {
    const blocks = blocksOf(message.content)
    if (blocks.length === 0 && !(message.role === "assistant" && index === messages.length - 1)) {
      return `messages.${index}: all messages must have non-empty content except for the optional final assistant message`
    }
    const allowed = { user: ["text", "image", "tool_result"], assistant: ["text", "tool_use"], system: ["text"] }
    const stray = blocks.find((block) => !allowed[message.role].includes(block.type))
    if (stray !== undefined)
      return `messages.${index}.content: \`${stray.type}\` blocks are not allowed in ${message.role} messages`
    if (message.role === "system" && messages[index - 1]?.role !== "user") {
      return `messages.${index}: role 'system' must directly follow a user message`
    }
  }
  const last = messages.at(-1)
  const text = last === undefined ? undefined : blocksOf(last.content).at(-1)
  return last?.role === "assistant" && text?.type === "text" && /\s$/.test(text.text)
    ? "messages: final assistant content cannot end with trailing whitespace"
    : undefined
}

const wrong = (request: Request, version: string): string | undefined => {
  if (version === "2026-10-21") {
    const removed = (["temperature", "top_p", "top_k"] as const).find((name) => request[name] !== undefined)
    if (removed !== undefined) return `${removed}: Extra inputs are not permitted`
  }
  if (request.tool_choice !== undefined && (request.tools ?? []).length === 0) {
    return "tool_choice: tool_choice may only be specified while providing tools"
  }
  const named = request.tool_choice?.type === "tool" ? request.tool_choice.name : undefined
  if (named !== undefined && !request.tools?.some((tool) => tool.name === named)) {
    return `tool_choice.name: Tool '${named}' not found in provided tools`
  }
  const names = (request.tools ?? []).map((tool) => tool.name)
  if (new Set(names).size < names.length) return "tools: Tool names must be unique."
  const merged = merge(request.messages)
  return misplaced(merged) ?? unpaired(merged)
}

const textOf = (blocks: string | ReadonlyArray<Block> | undefined): string =>
  blocks === undefined || typeof blocks === "string"
    ? (blocks ?? "")
    : blocks.map((block) => (block.type === "text" ? block.text : "")).join("")

const turnsOf = (message: Message): ReadonlyArray<Turn> => {
  const spoken = blocksOf(message.content).filter((block) => block.type !== "tool_result")
  return [
    ...resultsOf(message).map((block) => ({ role: "tool" as const, text: textOf(block.content) })),
    ...(spoken.length === 0 ? [] : [{ role: message.role, text: textOf(spoken) }]),
  ]
}

export const readAnthropic = (received: Received, key: string): Asked | Refusal => {
  const refuse = (message: string): Refusal => ({ objection: "invalid-request", message })
  const version = received.headers["anthropic-version"]
  if (version === undefined) return refuse("anthropic-version: header is required")
  if (version !== "2023-06-01" && version !== "2026-10-21") {
    return refuse(`anthropic-version: "${version}" is not a valid version`)
  }
  const decoded = decode(received.body)
  if (Result.isFailure(decoded)) return refuse(decoded.failure.message)
  const request = decoded.success
  const objection = wrong(request, version)
  if (objection !== undefined) return refuse(objection)
  const turns = request.messages.flatMap(turnsOf)
  const format = request.output_config?.format
  return {
    wire: "anthropic",
    key,
    headers: received.headers,
    body: received.body,
    model: request.model,
    stream: request.stream === true,
    system:
      typeof request.system === "object"
        ? request.system.map((block) => block.text).join("\n\n")
        : (request.system ?? ""),
    turns,
    text: turns.at(-1)?.text ?? "",
    tools: request.tools ?? [],
    stop: request.stop_sequences ?? [],
    json: format?.schema,
    choices: 1,
    usage: true,
    signatures: new Map(),
  }
}
