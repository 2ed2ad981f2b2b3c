/** Files of `NAME=value` lines. */

const NAME = /^[A-Za-z_]\w*$/
const EXPORT = /^export\s+/
/** As compose files have it: without a space before it, `#` belongs to the value. */
const COMMENT = /\s#/

/** The value behind `=`, without its quotes and a comment; `undefined` if a quote stands alone. */
const valueOf = (text: string): string | undefined => {
  const quote = text[0]
  if (quote !== '"' && quote !== "'") return text.split(COMMENT, 1)[0]?.trimEnd()
  const end = text.indexOf(quote, 1)
  if (end < 0) return undefined
  const rest = text.slice(end + 1)
  return rest.trim() === "" || /^\s+#/.test(rest) ? text.slice(1, end) : undefined
}

/** Names and values, and the lines that are neither those nor comments. Their text may be a secret, so only their numbers are told. */
export const parseEnvFile = (
  text: string,
): { readonly values: Readonly<Record<string, string>>; readonly mistakes: ReadonlyArray<string> } => {
  const values: Record<string, string> = {}
  const mistakes: Array<string> = []
  for (const [i, line] of text.split(/\r\n|\r|\n/).entries()) {
    const said = line.trim().replace(EXPORT, "")
    if (said === "" || said.startsWith("#")) continue
    const at = said.indexOf("=")
    const name = said.slice(0, Math.max(0, at)).trimEnd()
    const value = valueOf(said.slice(at + 1).trimStart())
    if (at < 0 || !NAME.test(name)) mistakes.push(`line ${i + 1}: expected NAME=value, or # before a comment`)
    else if (value === undefined) mistakes.push(`line ${i + 1}: the quotes around the value of ${name} do not match`)
    else values[name] = value
  }
  return { values, mistakes }
}
