/** How the Messages API treats each member of a Chat Completions request. */
import { type MemberRules, REQUEST } from "../shared/MemberRules.ts"

export const REQUEST_MEMBERS: MemberRules = {
  ...REQUEST,
  parallel_tool_calls: "translated",
  n: [1],
  frequency_penalty: [0],
  presence_penalty: [0],
  // The seed is best effort in Chat Completions too: the same seed may give another answer.
  seed: "advisory",
  // The end user, for detecting abuse.
  user: "translated",
  safety_identifier: "translated",
  cache_control: "translated",
}
