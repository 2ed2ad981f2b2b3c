/**
 * How much a model thinks. The setting depends on the model: a level from Gemini 3 on; a token budget in Gemini 2.5,
 * which refuses levels; nothing before (https://ai.google.dev/gemini-api/docs/generate-content/thinking).
 */
import type { Unsupported } from "../shared/Unsupported.ts"

type ThinkingConfig = { readonly thinkingLevel: string } | { readonly thinkingBudget: number }

/**
 * OpenAI's levels as Google's own OpenAI-compatible interface reads them
 * (https://ai.google.dev/gemini-api/docs/openai#thinking), and those beyond its scale as its end. Every model of Gemini
 * 2.5 takes these budgets.
 */
const LEVELS = new Map<unknown, { readonly level: string; readonly budget: number }>([
  ["minimal", { level: "MINIMAL", budget: 1024 }],
  ["low", { level: "LOW", budget: 1024 }],
  ["medium", { level: "MEDIUM", budget: 8192 }],
  ["high", { level: "HIGH", budget: 24_576 }],
  ["xhigh", { level: "HIGH", budget: 24_576 }],
  ["max", { level: "HIGH", budget: 24_576 }],
])

const THINKS_NEVER = /^(models\/)?gemini-(1|2\.0)\b/
const TAKES_BUDGET = /^(models\/)?gemini-2\.5\b/
const CAN_STOP = /^(models\/)?gemini-2\.5-flash\b/
/** Pro models, and Flash models from 3.7 on, refuse the lowest level; all accept `LOW`. */
const TAKES_MINIMAL = /^(models\/)?gemini-3(\.[0-6])?-flash\b/

/** The config for OpenAI's `reasoning_effort`; none if it was not set or is the model's default. */
export const toThinking = (effort: unknown, model: string, unsupported: Unsupported): ThinkingConfig | undefined => {
  const refuse = (why: string) => {
    unsupported.add("reasoning_effort", why)
    return undefined
  }
  if (effort == null) return undefined
  if (effort === "none") {
    if (THINKS_NEVER.test(model)) return undefined
    return CAN_STOP.test(model) ? { thinkingBudget: 0 } : refuse("this model always thinks; minimal is the least")
  }
  const asked = LEVELS.get(effort)
  if (asked === undefined) return refuse("not a level that is known here")
  if (THINKS_NEVER.test(model)) return refuse("this model does not think")
  if (TAKES_BUDGET.test(model)) return { thinkingBudget: asked.budget }
  return { thinkingLevel: asked.level === "MINIMAL" && !TAKES_MINIMAL.test(model) ? "LOW" : asked.level }
}
