/** What becomes of each member of a Chat Completions request at providers with a format of their own. */
import type { ResponseFormat } from "../../../../domain/chat.ts"

/**
 * - `translated`: the format has it, or an equal of it;
 * - `advisory`: it changes neither the question nor what an answer must look like, so it may be left out;
 * - a list: the values that ask for nothing, and so may be left out, as may lists of nothing else and empty objects. Any
 *   other value is refused;
 * - rules: its own members follow them, if it is an object.
 *
 * A member without a rule is refused, and `null` always means that the member is absent.
 */
export type MemberRule = "translated" | "advisory" | NeutralValues | MemberRules
export type NeutralValues = ReadonlyArray<string | number | boolean>
export interface MemberRules {
  readonly [member: string]: MemberRule
}

const TOOL_CHOICE: MemberRules = { type: "translated", function: { name: "translated" } }

const REQUEST: Readonly<Record<string, readonly [anthropic: MemberRule, gemini: MemberRule]>> = {
  model: ["translated", "translated"],
  messages: ["translated", "translated"],
  stream: ["translated", "translated"],
  tools: ["translated", "translated"],
  tool_choice: [TOOL_CHOICE, TOOL_CHOICE],
  parallel_tool_calls: ["translated", [true]],
  response_format: ["translated", "translated"],
  stop: ["translated", "translated"],
  max_tokens: ["translated", "translated"],
  max_completion_tokens: ["translated", "translated"],
  reasoning_effort: ["translated", "translated"],
  temperature: ["translated", "translated"],
  top_p: ["translated", "translated"],
  top_k: ["translated", "translated"],
  n: [[1], "translated"],
  frequency_penalty: [[0], "translated"],
  presence_penalty: [[0], "translated"],
  // Best effort at OpenAI too, where the same seed may give another answer.
  seed: ["advisory", "translated"],
  // Who asks: for the detection of abuse.
  user: ["translated", "advisory"],
  safety_identifier: ["translated", "advisory"],
  // Where prompt caches may cut, and how long they keep: they save money and change nothing else.
  cache_control: ["translated", "advisory"],
  prompt_cache_key: ["advisory", "advisory"],
  prompt_cache_options: ["advisory", "advisory"],
  prompt_cache_retention: ["advisory", "advisory"],
  // Notes for OpenAI's dashboard.
  metadata: ["advisory", "advisory"],
  store: ["advisory", "advisory"],
  // A guess at the answer that only makes it faster.
  prediction: ["advisory", "advisory"],
  // Usage is always reported, and padding of chunks is what the seal is for.
  stream_options: ["advisory", "advisory"],
  service_tier: [
    ["auto", "default"],
    ["auto", "default"],
  ],
  verbosity: [["medium"], ["medium"]],
  logprobs: [[false], [false]],
  top_logprobs: [[0], [0]],
  logit_bias: [[], []],
  modalities: [["text"], ["text"]],
}

const column = (index: 0 | 1): MemberRules =>
  Object.fromEntries(Object.entries(REQUEST).map(([member, rules]) => [member, rules[index]]))

export const ANTHROPIC_REQUEST = column(0)
export const GEMINI_REQUEST = column(1)

const TYPE_ONLY: MemberRules = { type: "translated" }

/** The rules for a `response_format` of each type. */
export const RESPONSE_FORMAT: Readonly<Record<ResponseFormat["type"], MemberRules>> = {
  text: TYPE_ONLY,
  json_object: TYPE_ONLY,
  json_schema: {
    type: "translated",
    json_schema: { name: "advisory", description: "translated", schema: "translated", strict: "translated" },
  },
}

export const MESSAGE: MemberRules = {
  role: "translated",
  content: "translated",
  refusal: "translated",
  tool_calls: "translated",
  tool_call_id: "translated",
  extra_content: "translated",
  // What answers of other services carry besides their text, when callers send them back as they came.
  annotations: "advisory",
  reasoning: "advisory",
  reasoning_content: "advisory",
  reasoning_details: "advisory",
}

export const TOOL_CALL: MemberRules = {
  id: "translated",
  type: "translated",
  function: { name: "translated", arguments: "translated" },
  extra_content: "translated",
  index: "advisory",
}

export const TOOL: MemberRules = {
  type: "translated",
  function: { name: "translated", description: "translated", parameters: "translated", strict: "translated" },
  cache_control: "advisory",
}

export const PART: MemberRules = {
  type: "translated",
  text: "translated",
  refusal: "translated",
  // `detail` only trades accuracy for tokens.
  image_url: { url: "translated", detail: "advisory" },
  cache_control: "advisory",
  prompt_cache_breakpoint: "advisory",
  annotations: "advisory",
}
