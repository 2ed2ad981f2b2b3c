/** Generates JSON with white space anywhere, and unusual spellings of numbers and strings. */
import * as fc from "fast-check"

const space = fc.constantFrom("", "", "", " ", "\n", "\t", "\r\n  ")

const number = fc.constantFrom("0", "-0", "1.0", "1E2", "1e-400", "0.10", "12345678901234567890", "-1.50e+3")

const escaped = (character: string): ReadonlyArray<string> => {
  const code = Array.from(
    { length: character.length },
    (_, unit) => String.raw`\u${character.charCodeAt(unit).toString(16).padStart(4, "0")}`,
  ).join("")
  return JSON.stringify(character) === `"${character}"` ? [character, code] : [code]
}

const CHARACTERS = ["a", "Z", "/", '"', "\n", "é", "\u{1F9AD}", "\u2028", "{", "}", "[", ",", ":"]

/** The JSON text of a string. */
const textOf = (characters: ReadonlyArray<string>) =>
  fc
    .array(
      fc
        .constantFrom(...characters)
        .chain((each) => fc.constantFrom(...escaped(each), ...(each === "/" ? [String.raw`\/`] : []))),
      { maxLength: 6 },
    )
    .map((spelled) => `"${spelled.join("")}"`)

const text = textOf([...CHARACTERS, "\\"])
// V8 14 confuses a member named by a backslash with a later one whose name begins with an escape.
const memberName = textOf(CHARACTERS)

const valueOf = (json: string): string => String(JSON.parse(json))

const within = (open: string, close: string, items: fc.Arbitrary<ReadonlyArray<string>>) =>
  fc
    .tuple(items, space, space)
    .map(([parts, before, after]) => `${open}${before}${parts.join(`${after},${before}`)}${after}${close}`)

/** Members with distinct names, in any spelling, and texts. */
const members = (value: fc.Arbitrary<string>) =>
  fc
    .uniqueArray(fc.tuple(memberName, space, value), { maxLength: 4, selector: ([name]) => valueOf(name) })
    .map((all) => all.map(([name, gap, each]) => `${name}${gap}:${gap}${each}`))

const { json: oddJson } = fc.letrec<{ json: string; object: string; array: string }>((tie) => ({
  json: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    number,
    text,
    fc.constantFrom("true", "false", "null"),
    tie("array"),
    tie("object"),
  ),
  array: within("[", "]", fc.array(tie("json"), { maxLength: 3 })),
  object: within("{", "}", members(tie("json"))),
}))

/** An object as its members' texts in order; those in `fixed` have the given texts. */
export const oddObject = (fixed: Readonly<Record<string, string>>): fc.Arbitrary<ReadonlyArray<string>> =>
  fc.tuple(members(oddJson), fc.array(space, { minLength: 8, maxLength: 8 })).chain(([others, gaps]) => {
    const named = Object.entries(fixed).map(
      ([name, value], at) => `${JSON.stringify(name)}${gaps[at] ?? ""}:${gaps[at + 1] ?? ""}${value}`,
    )
    const free = others.filter((member) => !(valueOf(/^"(?:[^"\\]|\\.)*"/.exec(member)?.[0] ?? '""') in fixed))
    return fc.shuffledSubarray([...named, ...free], { minLength: named.length + free.length })
  })

/** The text of an object with these members. */
export const objectText = (members: ReadonlyArray<string>): string => `{\t${members.join(" ,\n")} }`
