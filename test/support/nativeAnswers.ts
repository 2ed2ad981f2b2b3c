/** What the Messages and the Responses API answer with, as Anthropic and OpenAI write it. A test adds what it is about. */

export interface NativeEvent {
  readonly type: string
  readonly [member: string]: unknown
}

/** A message that has no content yet. */
export const claudeMessage = (more: object = {}) => ({
  id: "msg_1",
  type: "message",
  role: "assistant",
  model: "claude-x",
  content: [],
  stop_reason: null,
  stop_sequence: null,
  ...more,
})

/** A response that has no output yet. */
export const gptResponse = (status: string, more: object = {}) => ({
  id: "resp_1",
  object: "response",
  created_at: 1_760_000_000,
  status,
  error: null,
  incomplete_details: null,
  model: "gpt-x",
  output: [],
  usage: null,
  ...more,
})

/** What a response cost that found most of its input in the cache. */
export const GPT_USAGE = {
  input_tokens: 900,
  input_tokens_details: { cached_tokens: 800 },
  output_tokens: 20,
  output_tokens_details: { reasoning_tokens: 8 },
  total_tokens: 920,
}

/** Events with the numbers that those of Responses have. */
export const numbered = (...events: ReadonlyArray<NativeEvent>): ReadonlyArray<NativeEvent> =>
  events.map((event, sequence_number) => ({ ...event, sequence_number }))
