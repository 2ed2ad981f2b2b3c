/** Checks forms: the result is a value to send, or a message for each field with a mistake. */

/** A message for each field with a mistake. */
export type Mistakes<Name extends string> = { readonly [Field in Name]?: string }

/** A checked form: the value to send, or its mistakes. */
export type Checked<A, Name extends string> = { readonly value: A } | { readonly mistakes: Mistakes<Name> }

/** Decimals of a dollar that amounts of money can have. */
export const DOLLAR_DECIMALS = 6

/**
 * A number above zero in units of its last decimal; `undefined` for an empty text, `null` for any other text. Floating
 * point would miss some cents.
 */
export const numberIn = (text: string, most = Number.MAX_SAFE_INTEGER, decimals = 0): number | undefined | null => {
  if (text.trim() === "") return undefined
  const [, whole = "", part = ""] = /^\$?(\d*)(?:\.(\d*))?$/.exec(text.trim()) ?? []
  const isTooFine = Number(part.slice(decimals)) > 0
  const number = isTooFine ? 0 : Number(whole + part.slice(0, decimals).padEnd(decimals, "0"))
  return number > 0 && number <= most ? number : null
}
