/** Models by script, as coding agents are asked to finish one task: they call for one command, and say that it was done. */
import { claudeMessage, GPT_USAGE, gptResponse, numbered } from "../support/nativeAnswers.ts"
import type { NativeReply, NativeRequest } from "../support/nativeUpstream.ts"
import { namedEvents } from "../support/nativeUpstream.ts"
import { isObject, parseJson } from "../../src/domain/json/json.ts"

/** The models' text after they received the output of their command. */
export const DONE = "The seal is in its file."

const membersOf = (value: unknown): Readonly<Record<string, unknown>> => (isObject(value) ? value : {})
const listOf = (value: unknown): ReadonlyArray<unknown> => (Array.isArray(value) ? value : [])

/** The tool of an agent that runs a command, and what it is given. */
const SHELLS: ReadonlyArray<readonly [name: RegExp, argumentsOf: (command: string) => object]> = [
  [/^(exec_command|shell_command)$/, (command) => ({ cmd: command, command })],
  [/^(shell|local_shell)$/, (command) => ({ command: ["sh", "-c", command] })],
  [/^bash$/i, (command) => ({ command, description: "Writes a file" })],
]

interface Call {
  readonly name: string
  readonly input: object
}

const callIn = (tools: unknown, command: string): Call | undefined => {
  for (const [pattern, argumentsOf] of SHELLS) {
    const name = listOf(tools)
      .map((tool) => String(membersOf(tool)["name"]))
      .find((name) => pattern.test(name))
    if (name !== undefined) return { name, input: argumentsOf(command) }
  }
  return undefined
}

const responses = (model: unknown, item: { readonly type: string; readonly id: string }): NativeReply => {
  const events = [
    { type: "response.created", response: gptResponse("in_progress", { model }) },
    { type: "response.output_item.added", output_index: 0, item },
    { type: "response.output_item.done", output_index: 0, item },
    { type: "response.completed", response: gptResponse("completed", { model, output: [item], usage: GPT_USAGE }) },
  ]
  return { body: namedEvents(...numbered(...events)) }
}

const messages = (model: unknown, start: object, delta: object, stop_reason: string): NativeReply => {
  const usage = { input_tokens: 100, cache_read_input_tokens: 800, cache_creation_input_tokens: 0, output_tokens: 1 }
  const events = [
    { type: "message_start", message: claudeMessage({ model, usage }) },
    { type: "content_block_start", index: 0, content_block: start },
    { type: "content_block_delta", index: 0, delta },
    { type: "content_block_stop", index: 0 },
    { type: "message_delta", delta: { stop_reason, stop_sequence: null }, usage: { output_tokens: 20 } },
    { type: "message_stop" },
  ]
  return { body: namedEvents(...events) }
}

const answerResponses = (body: Readonly<Record<string, unknown>>, command: string): NativeReply => {
  const told = listOf(body["input"]).some((item) => String(membersOf(item)["type"]).endsWith("_call_output"))
  const call = told ? undefined : callIn(body["tools"], command)
  if (call === undefined) {
    const content = [{ type: "output_text", text: DONE, annotations: [] }]
    const item = { type: "message", id: "msg_1", role: "assistant", status: "completed", content }
    return responses(body["model"], item)
  }
  const { input, name } = call
  const item = { type: "function_call", id: "fc_1", call_id: "call_1", name, arguments: JSON.stringify(input) }
  return responses(body["model"], item)
}

const answerMessages = (body: Readonly<Record<string, unknown>>, command: string): NativeReply => {
  const told = listOf(body["messages"])
    .flatMap((message) => listOf(membersOf(message)["content"]))
    .some((block) => membersOf(block)["type"] === "tool_result")
  const call = told ? undefined : callIn(body["tools"], command)
  if (call === undefined) {
    return messages(body["model"], { type: "text", text: "" }, { type: "text_delta", text: DONE }, "end_turn")
  }
  const start = { type: "tool_use", id: "toolu_1", name: call.name, input: {} }
  const delta = { type: "input_json_delta", partial_json: JSON.stringify(call.input) }
  return messages(body["model"], start, delta, "tool_use")
}

/** Has agents run `command`, over whichever API they ask. */
export const scriptedModel =
  (command: string) =>
  ({ body, path }: NativeRequest): NativeReply => {
    const asked = membersOf(parseJson(body))
    const [route] = path.split("?")
    if (route === "/v1/responses") return answerResponses(asked, command)
    if (route === "/v1/messages") return answerMessages(asked, command)
    if (route === "/v1/messages/count_tokens") return { body: '{"input_tokens":900}' }
    return { status: 404, body: JSON.stringify({ error: { message: `There is no ${path}.` } }) }
  }
