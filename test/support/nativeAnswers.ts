/** Templates for answers of the Messages and the Responses API, which tests complete. */

export interface NativeEvent {
  readonly type: string
  readonly [member: string]: unknown
}

/** A message without content. */
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

/** A response without output. */
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

/** Usage of a response whose input was mostly cached. */
export const GPT_USAGE = {
  input_tokens: 900,
  input_tokens_details: { cached_tokens: 800 },
  output_tokens: 20,
  output_tokens_details: { reasoning_tokens: 8 },
  total_tokens: 920,
}

/** Numbers events like those of Responses. */
export const numbered = (...events: ReadonlyArray<NativeEvent>): ReadonlyArray<NativeEvent> =>
  events.map((event, sequence_number) => ({ ...event, sequence_number }))
