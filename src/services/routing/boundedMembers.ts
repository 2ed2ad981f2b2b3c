/** Members of requests that cost no more than their length and output limit, at the named model's usual prices. */
import { type ApiName, CHAT_COMPLETIONS } from "../../domain/upstream/apis.ts"

const SHARED = [
  "model",
  "stream",
  "stream_options",
  "metadata",
  "user",
  "safety_identifier",
  "service_tier",
  "tools",
  "tool_choice",
  "parallel_tool_calls",
  "temperature",
  "top_p",
  "top_k",
  "top_logprobs",
  "reasoning",
  "thinking",
  "store",
  "cache_control",
  "prompt_cache_key",
  "prompt_cache_options",
  "prompt_cache_retention",
]

const MESSAGES: ReadonlySet<string> = new Set([
  ...SHARED,
  "messages",
  "system",
  "max_tokens",
  "stop_sequences",
  "context_management",
  "output_config",
  "output_format",
  "diagnostics",
])

export const MEMBERS: Readonly<Record<ApiName, ReadonlySet<string>>> = {
  [CHAT_COMPLETIONS]: new Set([
    ...SHARED,
    "messages",
    "max_tokens",
    "max_completion_tokens",
    "n",
    "stop",
    "seed",
    "functions",
    "function_call",
    "response_format",
    "modalities",
    "verbosity",
    "reasoning_effort",
    "frequency_penalty",
    "presence_penalty",
    "logit_bias",
    "logprobs",
    // Members of servers with the same API.
    "min_p",
    "min_tokens",
    "top_a",
    "repetition_penalty",
    "random_seed",
    "safe_prompt",
    "prompt_mode",
    "include_reasoning",
    "reasoning_format",
    "enable_thinking",
    "thinking_budget",
    "chat_template_kwargs",
    "structured_outputs",
    "guided_json",
    "guided_regex",
    "guided_choice",
    "guided_grammar",
    "usage",
  ]),
  responses: new Set([
    ...SHARED,
    "input",
    "instructions",
    "max_output_tokens",
    "max_tool_calls",
    "include",
    "text",
    "truncation",
    "background",
    "client_metadata",
  ]),
  messages: MESSAGES,
  "messages.count_tokens": MESSAGES,
  embeddings: new Set([
    "model",
    "stream",
    "metadata",
    "user",
    "input",
    "input_type",
    "dimensions",
    "encoding_format",
    "output_dtype",
    "truncate",
    "truncation",
    "task",
  ]),
}

/** Types of tools that the client runs. Anthropic's have a date. */
export const CLIENT_TOOL =
  /^(function|custom|local_shell|apply_patch|computer|computer_use_preview|(bash|text_editor|computer|memory)_\d+)$/

/** Types of the items of an input whose content is in the request. */
export const INPUT_ITEMS: ReadonlySet<unknown> = new Set([
  "message",
  "reasoning",
  "additional_tools",
  ...[
    "function_call",
    "custom_tool_call",
    "local_shell_call",
    "shell_call",
    "apply_patch_call",
    "computer_call",
  ].flatMap((call) => [call, `${call}_output`]),
  "tool_search_call",
  "tool_search_output",
])

/** Edits of an earlier conversation that only remove parts. */
export const CLEARING_EDIT = /^clear_(tool_uses|thinking)_\d+$/

export const USUAL_TIERS: ReadonlySet<unknown> = new Set(["auto", "default", "standard_only"])
