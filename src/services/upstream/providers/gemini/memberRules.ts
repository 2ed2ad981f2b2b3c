/** What becomes of the members of a Chat Completions request in the Gemini API. */
import { type MemberRules, REQUEST } from "../shared/MemberRules.ts"

export const REQUEST_MEMBERS: MemberRules = {
  ...REQUEST,
  parallel_tool_calls: [true],
  n: "translated",
  frequency_penalty: "translated",
  presence_penalty: "translated",
  seed: "translated",
  // Who asks: for the detection of abuse.
  user: "advisory",
  safety_identifier: "advisory",
  // Where prompt caches may cut.
  cache_control: "advisory",
}
