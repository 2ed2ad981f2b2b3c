/**
 * Checks JSON against CDDL (RFC 8610), as far as docs/protocol uses it: rules for types and groups, maps, arrays with
 * occurrences, choices, ranges, literals, and the controls `.regexp` and `.size` of text. Anything else is an error.
 */

type Fault = string | undefined
/** The mistake of a value at a path. */
type Check = (value: unknown, path: string) => Fault

interface Member {
  readonly key: string
  readonly optional: boolean
  readonly check: Check
}

interface Group {
  readonly members: ReadonlyArray<Member>
  /** Whether members that the group does not name may be there. */
  readonly open: boolean
}

interface Item {
  readonly least: number
  readonly most: number
  readonly check: Check
}

const TOKEN =
  /\s+|;[^\n]*|(?<text>"(?:[^"\\]|\\.)*")|(?<range>\d+\.\.\d+)|(?<occurs>\d*\*\d*)|(?<number>\d+)|(?<control>\.[a-z]+)|(?<name>[A-Za-z][A-Za-z0-9_-]*)|(?<sign>=>|[={}()[\],:/?+])/y

type Kind = "text" | "range" | "occurs" | "number" | "control" | "name" | "sign"
interface Token {
  readonly kind: Kind
  readonly text: string
}

const tokensOf = (source: string): ReadonlyArray<Token> => {
  const tokens: Array<Token> = []
  TOKEN.lastIndex = 0
  while (TOKEN.lastIndex < source.length) {
    const at = TOKEN.lastIndex
    const found = TOKEN.exec(source)
    if (found === null) throw new Error(`no CDDL: ${source.slice(at, at + 40)}`)
    for (const [kind, text] of Object.entries(found.groups ?? {})) {
      // The names of the groups are the kinds.
      if (text !== undefined) tokens.push({ kind: kind as Kind, text })
    }
  }
  return tokens
}

const isMap = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const PRELUDE: Readonly<Record<string, (value: unknown) => boolean>> = {
  any: () => true,
  tstr: (value) => typeof value === "string",
  bool: (value) => typeof value === "boolean",
  number: (value) => typeof value === "number",
  null: (value) => value === null,
  true: (value) => value === true,
  false: (value) => value === false,
}

const mustBe =
  (holds: (value: unknown) => boolean, what: string): Check =>
  (value, path) =>
    holds(value) ? undefined : `${path} is not ${what}`

class Reader {
  readonly types = new Map<string, Check>()
  readonly groups = new Map<string, Group>()
  /** Every name that was referred to. */
  readonly named = new Set<string>()
  private at = 0
  private readonly tokens: ReadonlyArray<Token>

  constructor(source: string) {
    this.tokens = tokensOf(source)
    while (this.at < this.tokens.length) this.rule()
  }

  private peek(ahead = 0): string {
    return this.tokens[this.at + ahead]?.text ?? ""
  }

  private next(): Token {
    const token = this.tokens[this.at++]
    if (token === undefined) throw new Error("the CDDL ends in the middle of a rule")
    return token
  }

  private expect(text: string): void {
    const found = this.next().text
    if (found !== text) throw new Error(`${text} was due in the CDDL, but ${found} came`)
  }

  private take(text: string): boolean {
    if (this.peek() !== text) return false
    this.at++
    return true
  }

  private rule(): void {
    const name = this.next().text
    this.expect("=")
    if (this.types.has(name) || this.groups.has(name)) throw new Error(`two rules ${name}`)
    if (this.take("(")) this.groups.set(name, this.group(")"))
    else this.types.set(name, this.type())
  }

  private type(): Check {
    const choices = [this.single()]
    while (this.take("/")) choices.push(this.single())
    if (choices.length === 1) return choices[0] ?? mustBe(() => false, "anything")
    return (value, path) => {
      const faults = choices.map((check) => check(value, path))
      return faults.includes(undefined) ? undefined : faults.join(", and ")
    }
  }

  private single(): Check {
    const check = this.plain()
    const { kind, text } = this.tokens[this.at] ?? { kind: "sign", text: "" }
    if (kind !== "control") return check
    this.at++
    const control = this.control(text)
    return (value, path) => check(value, path) ?? control(value, path)
  }

  private control(name: string): Check {
    if (name === ".regexp") {
      const pattern = new RegExp(`^(?:${String(JSON.parse(this.next().text))})$`)
      return mustBe((value) => typeof value === "string" && pattern.test(value), `text that matches ${pattern.source}`)
    }
    if (name !== ".size") throw new Error(`the control ${name} is not known here`)
    this.expect("(")
    const inRange = this.range(this.next().text)
    this.expect(")")
    return mustBe((value) => typeof value === "string" && inRange(value.length), "of that size")
  }

  private range(text: string): (value: unknown) => boolean {
    const [from = 0, to = 0] = text.split("..").map(Number)
    return (value) => typeof value === "number" && Number.isInteger(value) && value >= from && value <= to
  }

  private plain(): Check {
    const { kind, text } = this.next()
    if (kind === "range") return mustBe(this.range(text), `from ${text}`)
    if (kind === "number" || kind === "text") {
      const literal: unknown = JSON.parse(text)
      return mustBe((value) => value === literal, text)
    }
    if (text === "{") return this.map()
    if (text === "[") return this.array()
    if (kind !== "name") throw new Error(`no type begins with ${text}`)
    const known = PRELUDE[text]
    if (known !== undefined) return mustBe(known, text)
    this.named.add(text)
    return (value, path) => {
      const check = this.types.get(text)
      if (check === undefined) throw new Error(`no type ${text}`)
      return check(value, path)
    }
  }

  /** Members up to `end`. */
  private group(end: string): Group {
    const members: Array<Member> = []
    const parts: Array<string> = []
    let open = false
    while (!this.take(end)) {
      if (this.peek() === "*") {
        for (const text of ["*", "tstr", "=>", "any"]) this.expect(text)
        open = true
      } else {
        const optional = this.take("?")
        const key = this.next().text
        if (this.take(":")) members.push({ key, optional, check: this.type() })
        else parts.push(key)
      }
      this.take(",")
    }
    for (const part of parts) {
      this.named.add(part)
      const group = this.groups.get(part)
      if (group === undefined) throw new Error(`no group ${part}, at least not before it is used`)
      members.push(...group.members)
      open ||= group.open
    }
    return { members, open }
  }

  private map(): Check {
    const { members, open } = this.group("}")
    const names = new Set(members.map(({ key }) => key))
    return (value, path) => {
      if (!isMap(value)) return `${path} is no map`
      const stranger = open ? undefined : Object.keys(value).find((name) => !names.has(name))
      if (stranger !== undefined) return `${path} has the member ${stranger}, which is not allowed`
      for (const { check, key, optional } of members) {
        if (!Object.hasOwn(value, key)) {
          if (!optional) return `${path}.${key} is missing`
        } else {
          const fault = check(value[key], `${path}.${key}`)
          if (fault !== undefined) return fault
        }
      }
      return undefined
    }
  }

  private array(): Check {
    const items: Array<Item> = []
    while (!this.take("]")) {
      const { kind, text } = this.tokens[this.at] ?? { kind: "sign", text: "" }
      const [least = "", most = ""] = text.split("*")
      if (kind === "occurs") this.at++
      const some = this.take("+")
      const occurs =
        kind === "occurs"
          ? { least: Number(least), most: most === "" ? Number.POSITIVE_INFINITY : Number(most) }
          : { least: 1, most: some ? Number.POSITIVE_INFINITY : 1 }
      items.push({ ...occurs, check: this.type() })
      this.take(",")
    }
    return (value, path) => {
      if (!Array.isArray(value)) return `${path} is no array`
      let index = 0
      for (const { check, least, most } of items) {
        let found = 0
        while (found < most && index < value.length) {
          const fault = check(value[index], `${path}[${index}]`)
          if (fault !== undefined && found >= least) break
          if (fault !== undefined) return fault
          index++
          found++
        }
        if (found < least) return `${path} has too few items`
      }
      return index === value.length ? undefined : `${path}[${index}] is not what may stand there`
    }
  }
}

interface Cddl {
  /** The mistakes of a value that should match the rule of this name. */
  readonly fault: (rule: string, value: unknown) => Fault
  /** The rules for types that no other rule refers to. */
  readonly roots: ReadonlyArray<string>
}

export const readCddl = (source: string): Cddl => {
  const { groups, named, types } = new Reader(source)
  for (const name of named) if (!types.has(name) && !groups.has(name)) throw new Error(`no rule ${name}`)
  return {
    roots: [...types.keys()].filter((name) => !named.has(name)),
    fault: (rule, value) => {
      const check = types.get(rule)
      if (check === undefined) throw new Error(`no rule ${rule}`)
      return check(value, rule)
    },
  }
}
