/** Files of `NAME=value` lines. */

const NAME = /^[A-Za-z_]\w*$/
const EXPORT = /^export\s+/
/** As in compose files: without a space before it, `#` belongs to the value. */
const COMMENT = /\s#/

/** Returns the value after `=`, without quotes and comment; `undefined` if a quote is not closed. */
const valueOf = (text: string): string | undefined => {
  const quote = text[0]
  if (quote !== '"' && quote !== "'") return text.split(COMMENT, 1)[0]?.trimEnd()
  const end = text.indexOf(quote, 1)
  if (end < 0) return undefined
  const rest = text.slice(end + 1)
  return rest.trim() === "" || /^\s+#/.test(rest) ? text.slice(1, end) : undefined
}

export interface ParsedFile {
  readonly values: Readonly<Record<string, string>>
  readonly mistakes: ReadonlyArray<string>
}

/** Parses `NAME=value` lines and comments. Mistakes name line numbers only, because a line may hold a secret. */
export const parseEnvFile = (text: string): ParsedFile => {
  const values: Record<string, string> = {}
  const mistakes: Array<string> = []
  for (const [i, line] of text.split(/\r\n|\r|\n/).entries()) {
    const assignment = line.trim().replace(EXPORT, "")
    if (assignment === "" || assignment.startsWith("#")) continue
    const at = assignment.indexOf("=")
    const name = assignment.slice(0, Math.max(0, at)).trimEnd()
    const value = valueOf(assignment.slice(at + 1).trimStart())
    if (at < 0 || !NAME.test(name)) mistakes.push(`line ${i + 1}: expected NAME=value, or # before a comment`)
    else if (value === undefined) mistakes.push(`line ${i + 1}: the quotes around the value of ${name} do not match`)
    else values[name] = value
  }
  return { values, mistakes }
}
