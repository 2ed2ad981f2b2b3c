/** One exchange with every operation of the vendors' APIs. */
import type { Examples } from "../../shared/description/showExample.ts"

const messages = [{ role: "user", content: "Which port does HTTPS use by default?" }]
const model = { id: "gpt-5-mini", object: "model", created: 0, owned_by: "provider1" }

export const CALL_EXAMPLES: Readonly<Record<string, Examples>> = {
  "calls.chat": {
    body: { model: "gpt-5-mini", messages },
    answer: {
      id: "chatcmpl-1",
      object: "chat.completion",
      created: 1_795_000_000,
      model: "gpt-5-mini",
      choices: [{ index: 0, message: { role: "assistant", content: "443" }, finish_reason: "stop" }],
      usage: { prompt_tokens: 16, completion_tokens: 1, total_tokens: 17 },
    },
    stream: { event: "message", data: '{"object":"chat.completion.chunk","choices":[{"delta":{"content":"443"}}]}' },
  },
  "calls.responses": {
    body: { model: "gpt-5-mini", input: messages },
    answer: { id: "resp_1", object: "response", status: "completed", output: [] },
    stream: { event: "response.output_text.delta", data: '{"type":"response.output_text.delta","delta":"443"}' },
  },
  "calls.messages": {
    body: { model: "claude-haiku-5-5", max_tokens: 100, messages },
    answer: { id: "msg_1", type: "message", role: "assistant", content: [{ type: "text", text: "443" }] },
    stream: { event: "message_stop", data: '{"type":"message_stop"}' },
  },
  "calls.countTokens": {
    body: { model: "claude-haiku-5-5", messages },
    answer: { input_tokens: 16 },
  },
  "calls.embeddings": {
    body: { model: "text-embedding-3-small", input: "HTTPS" },
    answer: { object: "list", data: [{ object: "embedding", index: 0, embedding: [0.1, -0.2] }] },
  },
  "calls.models": { answer: { object: "list", data: [model] } },
  "calls.model": { parameters: { id: model.id }, answer: model },
}
