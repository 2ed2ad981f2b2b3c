/** The treatment of each member of a Chat Completions request at providers with another format. */
import type { Message, ResponseFormat } from "../../../../domain/chat/chat.ts"

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

/** The rules that all other formats share. Each format adds its own. */
export const REQUEST: MemberRules = {
  model: "translated",
  messages: "translated",
  stream: "translated",
  tools: "translated",
  tool_choice: { type: "translated", function: { name: "translated" } },
  response_format: "translated",
  stop: "translated",
  max_tokens: "translated",
  max_completion_tokens: "translated",
  reasoning_effort: "translated",
  temperature: "translated",
  top_p: "translated",
  top_k: "translated",
  // Prompt cache hints save money, but change nothing else.
  prompt_cache_key: "advisory",
  prompt_cache_options: "advisory",
  prompt_cache_retention: "advisory",
  // Labels for the vendor's dashboard.
  metadata: "advisory",
  store: "advisory",
  // A guess at the answer, which only makes it faster.
  prediction: "advisory",
  // Usage is always reported, and the seal takes care of padding.
  stream_options: "advisory",
  service_tier: ["auto", "default"],
  verbosity: ["medium"],
  logprobs: [false],
  top_logprobs: [0],
  logit_bias: [],
  modalities: ["text"],
}

const TYPE_ONLY: MemberRules = { type: "translated" }

export const RESPONSE_FORMAT: Readonly<Record<ResponseFormat["type"], MemberRules>> = {
  text: TYPE_ONLY,
  json_object: TYPE_ONLY,
  json_schema: {
    type: "translated",
    json_schema: { name: "advisory", description: "translated", schema: "translated", strict: "translated" },
  },
}

const MESSAGE: MemberRules = {
  role: "translated",
  content: "translated",
  refusal: "translated",
  tool_calls: "translated",
  tool_call_id: "translated",
  extra_content: "translated",
  cache_control: "advisory",
  // Members of other services' answers, when callers send them back.
  annotations: "advisory",
  reasoning: "advisory",
  reasoning_content: "advisory",
  reasoning_details: "advisory",
}

/** The name of a result repeats that of its call. */
const RESULT: MemberRules = { ...MESSAGE, name: "advisory" }

export const messageRules = ({ role }: Message): MemberRules => (role === "tool" ? RESULT : MESSAGE)

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
