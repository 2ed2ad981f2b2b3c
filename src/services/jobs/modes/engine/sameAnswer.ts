/** Which answers are the same and which are not, as far as that needs no model. */

/** White space, case and a full stop at the end do not make another answer; nor do the marks around a number. */
export const plain = (text: string): string => {
  const words = text.trim().replaceAll(/\s+/g, " ").toLowerCase()
  const short = words.endsWith(".") ? words.slice(0, -1) : words
  const number = numberIn(short)
  return number === undefined ? short : String(number)
}

const MAX_NUMBER_CHARS = 40

/** The number that a text is, with or without `$`, `%` and separators of thousands. */
const numberIn = (text: string): number | undefined => {
  if (text.length > MAX_NUMBER_CHARS) return undefined
  const digits = text.replaceAll(/[$€£,%]/g, "").trim()
  const number = Number(digits)
  return digits !== "" && Number.isFinite(number) ? number : undefined
}

const CHOICES: ReadonlySet<string> = new Set(["yes", "no", "true", "false"])

const isChoice = (words: string): boolean => words.length === 1 || CHOICES.has(words) || numberIn(words) !== undefined

/** Whether two answers, as {@link plain} gives them, are certainly different: two numbers, two letters, yes and no. */
export const differ = (a: string, b: string): boolean => a !== b && isChoice(a) && isChoice(b)
