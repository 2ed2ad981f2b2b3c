/** What becomes of the members of a Chat Completions request in the Messages API. */
import { type MemberRules, REQUEST } from "../shared/MemberRules.ts"

export const REQUEST_MEMBERS: MemberRules = {
  ...REQUEST,
  parallel_tool_calls: "translated",
  n: [1],
  frequency_penalty: [0],
  presence_penalty: [0],
  // Best effort in Chat Completions too, where the same seed may give another answer.
  seed: "advisory",
  // Who asks: for the detection of abuse.
  user: "translated",
  safety_identifier: "translated",
  cache_control: "translated",
}
