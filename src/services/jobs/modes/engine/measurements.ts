/**
 * Written by `npm run eval -- --write`, from eval/data/mmlu-pairs.csv; the judges by `npm run eval -- --live`.
 */
import type { Measurements } from "./errorModel.ts"

export const MEASUREMENTS: Measurements = {
  models: {
    "gemini-1.5-pro-002": {
      accuracy: 0.8641,
      difficulty: 0.7656,
    },
    "qwen2.5-72b-instruct-turbo": {
      accuracy: 0.8331,
      difficulty: 0.81,
    },
    "llama-3.1-405b-instruct-turbo": {
      accuracy: 0.849,
      difficulty: 0.81,
    },
    "claude-3-5-sonnet-20241022": {
      accuracy: 0.8764,
      difficulty: 0.7877,
    },
    "gpt-4o-mini-2024-07-18": {
      accuracy: 0.7577,
      difficulty: 0.6602,
    },
    "llama-3.1-8b-instruct-turbo": {
      accuracy: 0.5421,
      difficulty: 0.2756,
    },
    "gemini-1.5-flash-002": {
      accuracy: 0.7402,
      difficulty: 0.6602,
    },
    "mistral-large-2407": {
      accuracy: 0.8066,
      difficulty: 0.7877,
    },
    "gpt-4o-2024-08-06": {
      accuracy: 0.8495,
      difficulty: 0.7877,
    },
  },
  sameWrong: {
    "gemini-1.5-pro-002 qwen2.5-72b-instruct-turbo": 0.7502,
    "llama-3.1-405b-instruct-turbo qwen2.5-72b-instruct-turbo": 0.7709,
    "claude-3-5-sonnet-20241022 qwen2.5-72b-instruct-turbo": 0.75,
    "gpt-4o-mini-2024-07-18 qwen2.5-72b-instruct-turbo": 0.7265,
    "llama-3.1-8b-instruct-turbo qwen2.5-72b-instruct-turbo": 0.4786,
    "gemini-1.5-flash-002 qwen2.5-72b-instruct-turbo": 0.6961,
    "mistral-large-2407 qwen2.5-72b-instruct-turbo": 0.7319,
    "gpt-4o-2024-08-06 qwen2.5-72b-instruct-turbo": 0.7725,
    "gemini-1.5-pro-002 llama-3.1-405b-instruct-turbo": 0.7423,
    "claude-3-5-sonnet-20241022 gemini-1.5-pro-002": 0.7844,
    "gemini-1.5-pro-002 gpt-4o-mini-2024-07-18": 0.6896,
    "gemini-1.5-pro-002 llama-3.1-8b-instruct-turbo": 0.437,
    "gemini-1.5-flash-002 gemini-1.5-pro-002": 0.6791,
    "gemini-1.5-pro-002 mistral-large-2407": 0.7166,
    "gemini-1.5-pro-002 gpt-4o-2024-08-06": 0.7749,
    "claude-3-5-sonnet-20241022 llama-3.1-405b-instruct-turbo": 0.7704,
    "gpt-4o-mini-2024-07-18 llama-3.1-405b-instruct-turbo": 0.7,
    "llama-3.1-405b-instruct-turbo llama-3.1-8b-instruct-turbo": 0.5227,
    "gemini-1.5-flash-002 llama-3.1-405b-instruct-turbo": 0.6971,
    "llama-3.1-405b-instruct-turbo mistral-large-2407": 0.7371,
    "gpt-4o-2024-08-06 llama-3.1-405b-instruct-turbo": 0.7667,
    "claude-3-5-sonnet-20241022 gpt-4o-mini-2024-07-18": 0.6816,
    "claude-3-5-sonnet-20241022 llama-3.1-8b-instruct-turbo": 0.4779,
    "claude-3-5-sonnet-20241022 gemini-1.5-flash-002": 0.6584,
    "claude-3-5-sonnet-20241022 mistral-large-2407": 0.7312,
    "claude-3-5-sonnet-20241022 gpt-4o-2024-08-06": 0.7729,
    "gpt-4o-mini-2024-07-18 llama-3.1-8b-instruct-turbo": 0.4412,
    "gemini-1.5-flash-002 gpt-4o-mini-2024-07-18": 0.6453,
    "gpt-4o-mini-2024-07-18 mistral-large-2407": 0.6588,
    "gpt-4o-2024-08-06 gpt-4o-mini-2024-07-18": 0.7389,
    "gemini-1.5-flash-002 llama-3.1-8b-instruct-turbo": 0.4757,
    "llama-3.1-8b-instruct-turbo mistral-large-2407": 0.5237,
    "gpt-4o-2024-08-06 llama-3.1-8b-instruct-turbo": 0.4523,
    "gemini-1.5-flash-002 mistral-large-2407": 0.7457,
    "gemini-1.5-flash-002 gpt-4o-2024-08-06": 0.6633,
    "gpt-4o-2024-08-06 mistral-large-2407": 0.6983,
  },
  others: {
    accuracy: 0.8331,
    difficulty: 0.7877,
    sameWrong: 0.6991,
  },
  judges: {},
}
