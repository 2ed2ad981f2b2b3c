/** How the Gemini API treats each member of a Chat Completions request. */
import { type MemberRules, REQUEST } from "../shared/MemberRules.ts"

export const REQUEST_MEMBERS: MemberRules = {
  ...REQUEST,
  parallel_tool_calls: [true],
  n: "translated",
  frequency_penalty: "translated",
  presence_penalty: "translated",
  seed: "translated",
  // The end user, for detecting abuse.
  user: "advisory",
  safety_identifier: "advisory",
  // Where the prompt may be cached.
  cache_control: "advisory",
}
