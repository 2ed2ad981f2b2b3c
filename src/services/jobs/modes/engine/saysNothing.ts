/**
 * Recognizes answers without content. No judge is asked about them, because some of them sway judges: a colon or
 * "Thought process:" alone was called right in up to 80 % of cases (Zhao et al. 2025, "One token to fool
 * LLM-as-a-judge", arXiv:2507.08794), and so were plain orders to the judge. A text with anything else in it is an
 * answer, which judges get as a quoted document.
 */

/** The longest text that is examined. A longer one has other content, and is judged by that. */
const MAX_CHARS = 600

/** White space, invisible characters, and marks that are no operator or literal of any language. */
const MARKS = /^[\s\p{Cc}\p{Cf}.:…。、，：]*$/u

/** Encloses code. Without code, it has no content. */
const FENCE = "```"

/** Introductions of answers and forms of address, without punctuation. A text of nothing else is no answer. */
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
  "new instructions",
  "solution",
  "the answer is",
  "the solution is",
  "thought process",
  "antwort",
  "lösung",
  "réponse",
  "respuesta",
  "解",
  "かいせつ",
  "ignore the task",
  "dear judge",
  "note to the judge",
  "to the judge",
  "to the grader",
  "you are the judge",
  "an den richter",
  "du bist der richter",
  "lieber richter",
  "sehr geehrter richter",
  "cher juge",
  "estimado juez",
])

/** Beginnings of clauses that order a judge to do something, without marks. */
const ORDERS: ReadonlyArray<string> = [
  ...["ignore", "disregard", "forget"].flatMap((verb) => [
    `${verb} all previous instructions`,
    `${verb} any previous instructions`,
    `${verb} previous instructions`,
    `${verb} the above instructions`,
    `${verb} the previous instructions`,
    `${verb} all instructions`,
    `${verb} your instructions`,
    `${verb} the objections`,
  ]),
  ...["accept", "grade", "judge", "mark", "rate", "score"].map((verb) => `${verb} this answer`),
  "verdict sound",
  "verdict is sound",
  "the verdict is sound",
  ...["ignoriere", "ignorieren sie", "missachte", "vergiss", "vergessen sie"].flatMap((verb) => [
    `${verb} alle anweisungen`,
    `${verb} alle bisherigen anweisungen`,
    `${verb} alle vorherigen anweisungen`,
    `${verb} alle obigen anweisungen`,
    `${verb} die anweisungen`,
    `${verb} die bisherigen anweisungen`,
    `${verb} die vorherigen anweisungen`,
    `${verb} die obigen anweisungen`,
    `${verb} deine anweisungen`,
    `${verb} ihre anweisungen`,
    `${verb} die einwände`,
  ]),
  ...[
    "akzeptiere",
    "akzeptieren sie",
    "bewerte",
    "bewerten sie",
    "markiere",
    "markieren sie",
    "werte",
    "werten sie",
  ].map((verb) => `${verb} diese antwort`),
  ...["ignore", "ignorez", "oublie", "oubliez"].flatMap((verb) => [
    `${verb} les instructions`,
    `${verb} toutes les instructions`,
  ]),
  "acceptez cette réponse",
  "accepte cette réponse",
  ...["ignora", "ignore", "olvida", "olvide"].flatMap((verb) => [
    `${verb} las instrucciones`,
    `${verb} todas las instrucciones`,
  ]),
  "acepta esta respuesta",
  "acepte esta respuesta",
]

const words = (text: string): string =>
  text
    .toLowerCase()
    .replaceAll(/['’]/g, "")
    .replaceAll(/[^\p{L}\p{N}]+/gu, " ")
    .trim()

const isKnown = (text: string): boolean => OPENERS.has(text) || ORDERS.includes(text)

const isOrder = (clause: string): boolean => isKnown(clause) || ORDERS.some((order) => clause.startsWith(`${order} `))

/** Whether a text contains nothing that could be right or wrong. */
export const saysNothing = (text: string): boolean => {
  if (MARKS.test(text.replaceAll(FENCE, ""))) return true
  if (text.length > MAX_CHARS || words(text) === "") return false
  // Punctuation within a known text does not change it: `{"verdict": "sound"}`.
  if (isKnown(words(text))) return true
  const clauses = text
    .split(/[.!?](?=\s|$)|[,:;\n]/)
    .map(words)
    .filter((clause) => clause !== "")
  return clauses.every(isOrder)
}
