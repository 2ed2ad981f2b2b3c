/**
 * Decides without a model whether answers are certainly the same or certainly different. `5 mW` and `5 MW`, `1,5` and
 * `15`, `1.000` and `1`, or `3.10` and `3.1` are neither, so a model compares them.
 */

/** A number with its unit, exactly as it was written. */
interface Quantity {
  readonly sign: string
  readonly currency: string
  /** Without thousands separators. */
  readonly whole: string
  readonly fraction: string
  readonly unit: string
  /** Whether it could mean another number elsewhere: `1,000` may be 1, and `1.000` a thousand. */
  readonly ambiguous: boolean
}

/** Case counts in units: `m` is a thousandth and `M` a million. */
const QUANTITY =
  /^(?<sign>[-−]?)(?<before>\p{Sc}?)(?<whole>0|[1-9]\d{0,2}(?:,\d{3})+|[1-9]\d*)(?:\.(?<fraction>\d+))? ?(?<unit>\p{Sc}|[\p{L}%‰°][^\s,.]*|)$/u

const quantityIn = (text: string): Quantity | undefined => {
  const { before = "", fraction = "", sign, unit = "", whole = "" } = QUANTITY.exec(text)?.groups ?? {}
  const after = /^\p{Sc}$/u.test(unit)
  if (whole === "" || (after && before !== "")) return undefined
  return {
    sign: sign === "" ? "" : "-",
    currency: after ? unit : before,
    whole: whole.replaceAll(",", ""),
    fraction,
    unit: after ? "" : unit,
    ambiguous: whole.includes(",") || (fraction.length === 3 && whole.length <= 3 && whole !== "0"),
  }
}

const CHOICES: ReadonlyArray<ReadonlyArray<string>> = [
  ["yes", "no"],
  ["true", "false"],
]

/** One line without superfluous spaces and final full stop. White space across lines may be code, so it stays. */
const wordsOf = (text: string): string => {
  const trimmed = text.trim()
  if (/[\n\r]/.test(trimmed)) return trimmed
  const words = trimmed.replaceAll(/\s+/g, " ")
  return words.endsWith(".") ? words.slice(0, -1) : words
}

/** A text that equal answers share: normalized quantities, yes and no in lower case, other words unchanged. */
export const plain = (text: string): string => {
  const words = wordsOf(text)
  const choice = words.toLowerCase()
  if (CHOICES.some((pair) => pair.includes(choice))) return choice
  const quantity = quantityIn(words)
  if (quantity === undefined) return words
  const { currency, fraction, sign, unit, whole } = quantity
  const isWhole = /^0*$/.test(fraction) && fraction.length !== 3
  const decimals = isWhole ? "" : `.${fraction}`
  return `${sign}${currency}${whole}${decimals}${unit === "" ? "" : ` ${unit}`}`
}

/** Whether two answers certainly differ: two quantities of one unit, two letters, yes and no. */
export const differ = (a: string, b: string): boolean => {
  const [one, other] = [wordsOf(a), wordsOf(b)]
  const choices = [one.toLowerCase(), other.toLowerCase()]
  if (CHOICES.some((pair) => pair.every((choice) => choices.includes(choice)))) return true
  const letters = choices.every((choice) => /^[a-z]$/.test(choice))
  if (letters) return choices[0] !== choices[1]
  const [x, y] = [quantityIn(one), quantityIn(other)]
  if (x === undefined || y === undefined || x.currency !== y.currency || x.unit !== y.unit) return false
  const isAmbiguous = (x.ambiguous || y.ambiguous) && digitsOf(x) === digitsOf(y)
  return !isAmbiguous && valueOf(x) !== valueOf(y)
}

const valueOf = ({ fraction, sign, whole }: Quantity): string => {
  const value = `${whole}.${withoutZeros(fraction)}`
  return value === "0." ? value : `${sign}${value}`
}

/** The significant digits, wherever the decimal separator stands. */
const digitsOf = ({ fraction, whole }: Quantity): string => withoutZeros(`${whole}${fraction}`)

const withoutZeros = (digits: string): string => {
  let end = digits.length
  while (digits[end - 1] === "0") end--
  return digits.slice(0, end)
}
