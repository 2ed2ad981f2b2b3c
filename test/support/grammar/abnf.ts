/** Reads the ABNF (RFC 5234, with the strings of RFC 7405) of rules that do not refer to themselves, as regular expressions. */

const TOKEN =
  /(?<space>\s+)|(?<string>(?<sensitive>%s)?"(?<text>[^"]*)")|%x(?<from>[0-9A-Fa-f]+)(?:-(?<to>[0-9A-Fa-f]+))?|(?<repeat>\d*\*\d*|\d+)(?=[A-Za-z("%[])|(?<name>[A-Za-z][A-Za-z0-9-]*)|(?<sign>[/()[\]])/y

const escaped = (code: number): string => `\\x${code.toString(16).padStart(2, "0")}`

/** Letters without regard to case, unless the string is a sensitive one. */
const literal = (text: string, sensitive: boolean): string =>
  [...text]
    .map((each) => {
      const other = each === each.toLowerCase() ? each.toUpperCase() : each.toLowerCase()
      const same = escaped(each.charCodeAt(0))
      return sensitive || other === each ? same : `[${same}${escaped(other.charCodeAt(0))}]`
    })
    .join("")

const quantifier = (repeat: string): string => {
  const [from = "", to] = repeat.split("*")
  if (to === undefined) return `{${from}}`
  return `{${from === "" ? 0 : from},${to}}`
}

const compile = (elements: string, ruleNamed: (name: string) => string): string => {
  let pattern = ""
  let repeat = ""
  const groups: Array<string> = []
  const add = (element: string) => {
    pattern += repeat === "" ? element : `(?:${element})${quantifier(repeat)}`
    repeat = ""
  }
  let at = 0
  while (at < elements.length) {
    // Rules within rules are read with the same pattern.
    TOKEN.lastIndex = at
    const groupsFound = TOKEN.exec(elements)?.groups
    if (groupsFound === undefined) throw new Error(`no ABNF: ${elements.slice(at, at + 40)}`)
    at = TOKEN.lastIndex
    const { from, name, repeat: count, sensitive, sign, string, text = "", to } = groupsFound
    if (string !== undefined) add(literal(text, sensitive !== undefined))
    else if (from !== undefined) {
      const first = escaped(Number.parseInt(from, 16))
      add(to === undefined ? first : `[${first}-${escaped(Number.parseInt(to, 16))}]`)
    } else if (count !== undefined) repeat = count
    else if (name !== undefined) add(`(?:${ruleNamed(name)})`)
    else if (sign === "/") pattern += "|"
    else if (sign === "(" || sign === "[") {
      groups.push(repeat === "" ? "" : quantifier(repeat))
      repeat = ""
      pattern += "(?:"
    } else if (sign === ")") pattern += `)${groups.pop() ?? ""}`
    else if (sign === "]") {
      groups.pop()
      pattern += ")?"
    }
  }
  return pattern
}

interface Abnf {
  /** Whether the whole text is what the rule of this name describes. Octets are the characters below U+0100. */
  readonly matches: (rule: string, text: string) => boolean
  /** The rules that no other one refers to. */
  readonly roots: ReadonlyArray<string>
}

export const readAbnf = (source: string): Abnf => {
  const definitions = new Map<string, string>()
  let last = ""
  for (const line of source.split("\n").map((each) => each.replace(/(^|\s);.*$/, ""))) {
    const [, name, elements = ""] = /^([A-Za-z][A-Za-z0-9-]*)\s*=\s*(.*)$/.exec(line) ?? []
    if (name !== undefined && definitions.has(name)) throw new Error(`two rules ${name}`)
    last = name ?? last
    if (line.trim() !== "")
      definitions.set(last, `${definitions.get(last) ?? ""} ${name === undefined ? line : elements}`)
  }
  const patterns = new Map<string, string>()
  const referred = new Set<string>()
  const ruleWithin = (name: string): string => {
    referred.add(name)
    return ruleNamed(name)
  }
  const ruleNamed = (name: string): string => {
    const elements = definitions.get(name)
    if (elements === undefined) throw new Error(`no rule ${name}`)
    const pattern = patterns.get(name) ?? compile(elements, ruleWithin)
    patterns.set(name, pattern)
    return pattern
  }
  for (const name of definitions.keys()) ruleNamed(name)
  return {
    roots: [...definitions.keys()].filter((name) => !referred.has(name)),
    matches: (rule, text) => new RegExp(`^(?:${ruleNamed(rule)})$`, "s").test(text),
  }
}
