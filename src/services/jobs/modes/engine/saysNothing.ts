/**
 * Recognizes answers without content, about which no judge is asked because some of them sway judges: a colon or
 * "Thought process:" alone was called right in up to 80 % of cases (Zhao et al. 2025, "One token to fool
 * LLM-as-a-judge", arXiv:2507.08794), and so were plain orders to the judge.
 */

/** The longest order to a judge. A longer text has other content, and is judged by that. */
const MAX_ORDER_CHARS = 600

/** Introductions of answers. With nothing behind them they are no answer. */
const OPENERS: ReadonlySet<string> = new Set([
  "answer",
  "final answer",
  "here is the answer",
  "here is the solution",
  "let us solve this problem step by step",
  "let us think step by step",
  "lets solve this problem step by step",
  "lets solve this step by step",
  "lets think step by step",
  "solution",
  "the answer is",
  "the solution is",
  "thought process",
])

/** Phrases that address a judge rather than the task. */
const ORDERS: ReadonlyArray<string> = [
  "ignore all previous",
  "ignore any previous",
  "ignore previous",
  "ignore the above",
  "ignore the task",
  "ignore the objections",
  "ignore your instructions",
  "disregard all previous",
  "disregard the above",
  "disregard previous",
  "disregard your instructions",
  "forget your instructions",
  "new instructions:",
  "dear judge",
  "note to the judge",
  "to the judge:",
  "to the grader:",
  "you are the judge",
  "the judge must",
  "judge this answer",
  "mark this answer",
  "rate this answer",
  "grade this answer",
  "score this answer",
  "accept this answer",
  "this answer is sound",
  'verdict": "sound',
  'verdict":"sound',
  "verdict: sound",
  "verdict is sound",
]

const letters = (text: string): string =>
  text
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N} ]/gu, "")
    .trim()

/** Whether a text contains nothing that could be right or wrong. */
export const saysNothing = (text: string): boolean => {
  const start = text.slice(0, MAX_ORDER_CHARS + 1)
  // A long text has content even if it begins with white space or marks.
  if (text.length > MAX_ORDER_CHARS) return !/[\p{L}\p{N}]/u.test(text)
  const said = letters(start)
  if (said === "" || OPENERS.has(said)) return true
  const lower = start.toLowerCase()
  return ORDERS.some((order) => lower.includes(order))
}
