import { execFileSync } from "node:child_process"
import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { utf8 } from "../../../src/domain/bytes/bytes.ts"
import {
  bytesFault,
  CALL_LIMITS,
  CLIENT_LIMITS,
  JSON_LIMITS,
  jsonFault,
  NOT_JSON,
  NotIJson,
  parseIJson,
} from "../../../src/domain/json/iJson.ts"

const { depth: DEPTH, values: VALUES } = JSON_LIMITS
const isWithinLimits = (text: string): boolean => jsonFault(text, JSON_LIMITS) === undefined

const nested = (depth: number): string => "[".repeat(depth) + "]".repeat(depth)
const list = (values: number, value = "1"): string => `[${Array.from({ length: values }, () => value).join(",")}]`
const members = (values: number): string =>
  `{${Array.from({ length: values }, (_, index) => `"${index}":1`).join(",")}}`

describe("JSON limits", () => {
  it("accept exactly the stated levels and values, in arrays and objects", () => {
    assert.isTrue(isWithinLimits(nested(DEPTH)))
    assert.isFalse(isWithinLimits(nested(DEPTH + 1)))
    assert.isFalse(isWithinLimits('{"a":'.repeat(DEPTH + 1) + "1" + "}".repeat(DEPTH + 1)))
    for (const text of [
      list(VALUES),
      list(VALUES, "[]"),
      list(VALUES, "{ }"),
      list(VALUES / 2, "[1]"),
      members(VALUES),
    ]) {
      assert.isTrue(isWithinLimits(text), text.slice(0, 20))
    }
    for (const text of [
      list(VALUES + 1),
      list(VALUES + 1, "[\n]"),
      list(VALUES / 2, "[1,1]"),
      list(VALUES / 2 + 1, "[1]"),
      members(VALUES + 1),
    ]) {
      assert.strictEqual(jsonFault(text, JSON_LIMITS), "At most 64 levels and 32768 values are accepted.")
      assert.isUndefined(jsonFault(text))
    }
    assert.isUndefined(jsonFault(nested(1024)))
    assert.strictEqual(jsonFault(nested(1025)), "At most 1024 levels are accepted.")
  })

  it("of calls count numbers in arrays apart, as embeddings of token ids need them", () => {
    const fault = "At most 64 levels, 32768 values and 524288 numbers in arrays are accepted."
    const ids = list(400, "100257")
    const { numbers = 0 } = CALL_LIMITS
    for (const text of [`{"model":"m","input":${list(100, ids)}}`, list(numbers, "-1.5e3"), list(VALUES, "[7]")]) {
      assert.isUndefined(jsonFault(text, CALL_LIMITS))
    }
    for (const text of [
      list(numbers + 1),
      list(VALUES + 1, "[7]"),
      list(VALUES + 1, '"7"'),
      list(VALUES + 1, "null"),
      members(VALUES + 1),
    ]) {
      assert.strictEqual(jsonFault(text, CALL_LIMITS), fault)
    }
  })

  it("count sibling brackets as one level", () => {
    assert.isTrue(isWithinLimits(list(100, nested(DEPTH - 1))))
  })

  it("ignore brackets in strings, with any quotes and backslashes", () => {
    const brackets = "[{,".repeat(VALUES)
    for (const text of [brackets, `\\${brackets}`, `${brackets}\\`, `"${brackets}"`, `\\"${brackets}\\\\"`]) {
      assert.isTrue(isWithinLimits(JSON.stringify({ [text]: text })))
      assert.isFalse(isWithinLimits(`[${JSON.stringify(text)},${nested(DEPTH)}]`))
    }
  })

  it("are never exceeded by JSON with fewer levels and values", () => {
    fc.assert(
      fc.property(fc.json({ maxDepth: 8 }), (text) => {
        assert.isTrue(isWithinLimits(text))
        assert.isFalse(isWithinLimits("[".repeat(DEPTH) + `[${text}]` + "]".repeat(DEPTH)))
      }),
    )
  })

  it("accept any text that is not JSON without throwing", () => {
    for (const text of ["", '"', '"\\', "]]]]", "}", '{"a', "\\", '\\"[[', '{"\\u"', '{"\\', '{"a\\'])
      assert.isTrue(isWithinLimits(text), JSON.stringify(text))
  })
})

/** JSON as a syntax tree, with ordered and possibly duplicate members. */
type Written = string | number | boolean | null | ReadonlyArray<Written> | { readonly members: ReadonlyArray<Member> }
type Member = readonly [name: string, value: Written]

const texts = fc
  .array(fc.constantFrom("a", '"', "\\", "u", "d83d", "\u{1F44B}", "\uffff", "\n"), { maxLength: 5 })
  .map((parts) => parts.join(""))
/** Strings of surrogates, paired or not. */
const halves = fc
  .array(fc.constantFrom("\ud83d", "\udc4b", "\ud800", "a", "\\"), { maxLength: 3 })
  .map((parts) => parts.join(""))
const strings = fc.oneof({ weight: 12, arbitrary: texts }, halves)
const names = fc.oneof({ weight: 3, arbitrary: fc.constantFrom("a", "b", '"', "\u{1F44B}") }, strings)

const { written } = fc.letrec<{ written: Written }>((tie) => {
  const members = fc.array(fc.tuple(names, tie("written")), { maxLength: 4 })
  return {
    written: fc.oneof(
      { depthSize: "medium" },
      strings,
      fc.integer(),
      fc.constantFrom(true, false, null),
      fc.array(tie("written"), { maxLength: 4 }),
      members.map((members) => ({ members })),
    ),
  }
})

const isList = (value: Written): value is ReadonlyArray<Written> => Array.isArray(value)

/** Renders a value with random white space and escapes. Unpaired surrogates are always escaped. */
const write = (value: Written, random: () => number): string => {
  const space = () => " \n\t\r".slice(0, random() % 3)
  const around = (text: string) => space() + text + space()
  const string = (text: string) =>
    `"${Array.from(text, (character) =>
      random() % 3 === 0 || !character.isWellFormed()
        ? Array.from({ length: character.length }, (_, unit) => {
            const code = character.charCodeAt(unit).toString(16).padStart(4, "0")
            return `\\u${random() % 2 === 0 ? code : code.toUpperCase()}`
          }).join("")
        : JSON.stringify(character).slice(1, -1),
    ).join("")}"`
  if (typeof value === "string") return around(string(value))
  if (isList(value)) return around(`[${value.map((item) => write(item, random)).join(",") || space()}]`)
  if (typeof value !== "object" || value === null) return around(JSON.stringify(value))
  const members = value.members.map(([name, member]) => `${around(string(name))}:${write(member, random)}`)
  return around(`{${members.join(",") || space()}}`)
}

const stringsIn = (value: Written): ReadonlyArray<string> => {
  if (typeof value === "string") return [value]
  if (isList(value)) return value.flatMap(stringsIn)
  if (typeof value !== "object" || value === null) return []
  return value.members.flatMap(([name, member]) => [name, ...stringsIn(member)])
}

const repeats = (value: Written): boolean => {
  if (isList(value)) return value.some(repeats)
  if (typeof value !== "object" || value === null) return false
  const names = value.members.map(([name]) => name)
  return new Set(names).size < names.length || value.members.some(([, member]) => repeats(member))
}

const countOf = (value: Written): number => {
  if (isList(value)) return value.reduce<number>((sum, item) => sum + 1 + countOf(item), 0)
  if (typeof value !== "object" || value === null) return 0
  return value.members.reduce((sum, [, member]) => sum + 1 + countOf(member), 0)
}

const isParsed = (text: string): boolean => {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

describe("I-JSON check", () => {
  it("rejects duplicate members and unpaired surrogates, and counts values exactly", () => {
    const seen = { good: 0, repeated: 0, halved: 0 }
    fc.assert(
      fc.property(written, fc.infiniteStream(fc.nat(1000)), (value, stream) => {
        const text = write(value, () => stream.next().value ?? 0)
        const fault = jsonFault(text)
        const halved = !stringsIn(value).every((each) => each.isWellFormed())
        if (halved || repeats(value)) {
          assert.isString(fault, text)
          if (!halved) assert.match(fault ?? "", /^An object has two members "/)
          if (!repeats(value)) assert.strictEqual(fault, "A string contains an unpaired surrogate.")
          seen[halved ? "halved" : "repeated"]++
          return
        }
        assert.isUndefined(fault, text)
        const values = countOf(value)
        assert.isUndefined(jsonFault(text, { depth: 100, values }), text)
        if (values > 0) assert.isString(jsonFault(text, { depth: 100, values: values - 1 }), text)
        seen.good++
      }),
      { numRuns: 2000 },
    )
    for (const count of Object.values(seen)) assert.isAbove(count, 50, JSON.stringify(seen))
  })

  it("compares unescaped names, within one object", () => {
    for (const text of [
      '{"a":1,"a":1}',
      '{"a":1,"\\u0061":1}',
      '{"\\u0061":1,"b":{"a":1},"a":1}',
      '[{"b":[{"a":1},{"a":1,"c":[],"a":1}]}]',
      '{"":1,"":2}',
      '{"__proto__":1,"__proto__":2}',
      '{"constructor":{},"b":"a","constructor":{}}',
      '{"\\"":1,"\\"":2}',
    ]) {
      assert.match(jsonFault(text) ?? "", /^An object has two members "/, text)
      assert.throws(() => parseIJson(text), NotIJson, /two members/)
    }
    for (const text of [
      '{"a":"a","b":["a","a"],"c":{"a":"b"}}',
      '[{"a":1},{"a":1}]',
      '{"a":{"a":{"a":1}},"b":{"a":{"a":1}}}',
      '{"a":1,"A":2,"\\\\u0061":3}',
      '{"__proto__":1}',
      '["a","a",{"a":["a","a"]},"a"]',
    ]) {
      assert.isUndefined(jsonFault(text), text)
      assert.deepStrictEqual(parseIJson(text), JSON.parse(text))
    }
    assert.strictEqual(
      jsonFault(`{"${"x".repeat(100)}":1,"${"x".repeat(100)}":2}`),
      `An object has two members "${"x".repeat(64)}".`,
    )
  })

  it("rejects a byte order mark and unescaped unpaired surrogates", () => {
    assert.strictEqual(jsonFault("\uFEFF{}"), "It begins with a byte order mark.")
    assert.strictEqual(jsonFault('["\ud83d"]'), "A string contains an unpaired surrogate.")
    assert.strictEqual(jsonFault('["\ud83d\\udc4b"]'), "A string contains an unpaired surrogate.")
    for (const text of ['["\uFEFF"]', '["\u{1F44B}"]', '["\\uD83D\\uDC4B"]', '["\uFFFF\\ufffe"]', '["\\\\ud83d"]']) {
      assert.isUndefined(jsonFault(text), text)
    }
  })

  it("pairs escaped surrogates at the ends of their ranges as JSON does", () => {
    const units = [0x41, 0xd7ff, 0xd800, 0xdbff, 0xdc00, 0xdfff, 0xe000, 0xffff]
    const escaped = (unit: number) => `\\u${unit.toString(16).padStart(4, "0")}`
    for (const first of units) {
      for (const second of units) {
        for (const behind of ["", escaped(0xdc00), escaped(0xe000)]) {
          const json = `["${escaped(first)}${escaped(second)}${behind}"]`
          const isWhole = String(JSON.parse(json)).isWellFormed()
          assert.strictEqual(jsonFault(json), isWhole ? undefined : "A string contains an unpaired surrogate.", json)
        }
      }
    }
  })

  it("rejects invalid JSON with NotIJson, and checks any text without throwing", () => {
    assert.throws(() => parseIJson("{"), NotIJson)
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom(...'"\\u{}[]:,a0d8 ') }), (text) => {
        assert.doesNotThrow(() => jsonFault(text, JSON_LIMITS))
      }),
    )
  })

  it("accepts mutated JSON exactly if JSON.parse does", () => {
    const seen = { good: 0, bad: 0 }
    const bit = fc.constantFrom(
      ...'"\\u{}[]:,.eE+-019truefalsn\t\n\0\u001f\u007fé\u{1F44B} /bx',
      "",
      "0d",
      '\\"',
      '"a":',
    )
    const edit = fc.tuple(fc.nat(), fc.nat(3), bit)
    const check = (text: string) => {
      const fault = bytesFault(utf8(text), CLIENT_LIMITS)
      const isJson = isParsed(text)
      // A text may have another fault of I-JSON and still be JSON.
      if (fault === undefined || fault === NOT_JSON)
        assert.strictEqual(fault === undefined, isJson, JSON.stringify(text))
      seen[isJson ? "good" : "bad"]++
    }
    fc.assert(
      fc.property(
        written,
        fc.infiniteStream(fc.nat(1000)),
        fc.array(edit, { maxLength: 2 }),
        (value, stream, edits) => {
          let text = write(value, () => stream.next().value ?? 0)
          for (const [place, removed, put] of edits) {
            const at = place % (text.length + 1)
            text = text.slice(0, at) + put + text.slice(at + removed)
          }
          if (text.isWellFormed()) check(text)
        },
      ),
      { numRuns: 5000 },
    )
    const number = fc.array(fc.constantFrom(..."0019.eE+-"), { maxLength: 7 }).map((parts) => parts.join(""))
    fc.assert(fc.property(number, check), { numRuns: 5000 })
    for (const count of Object.values(seen)) assert.isAbove(count, 1000, JSON.stringify(seen))
  })

  it("accepts any character at any position of a long string exactly if JSON.parse does", () => {
    const codes = [...Array.from({ length: 0x82 }, (_, code) => code), 0xff, 0x7ff, 0x800, 0xd7ff, 0xffff]
    for (let length = 0; length < 120; length += length < 80 ? 1 : 13) {
      for (const code of codes) {
        const text = `"${"\u00e9".repeat(length % 3)}${"a".repeat(length)}${String.fromCharCode(code)}${"a".repeat(code % 7)}"`
        const fault = bytesFault(utf8(text), CLIENT_LIMITS)
        assert.strictEqual(fault, isParsed(text) ? undefined : NOT_JSON, JSON.stringify(text))
      }
    }
  })

  it("accepts trailing text exactly if JSON.parse does, after any number of spaces", () => {
    for (const after of ["", "\n", "x", "\u0000", "\u00a0", "\v", ",", "{}", "1"]) {
      for (let spaces = 0; spaces < 12; spaces++) {
        const text = `{}${" ".repeat(spaces)}${after}`
        const isJson = after === "" || after === "\n"
        assert.strictEqual(bytesFault(utf8(text), CLIENT_LIMITS), isJson ? undefined : NOT_JSON, JSON.stringify(text))
      }
    }
  })

  it("reads only the bytes of its view of a buffer", () => {
    fc.assert(
      fc.property(fc.nat(9), fc.json(), (before, text) => {
        const all = utf8(`${'"'.repeat(before)}${text}${'1"}]'}`)
        const own = all.subarray(before, all.length - 4)
        assert.isUndefined(bytesFault(own, CLIENT_LIMITS))
        if (/[[{"]/.test(text)) assert.strictEqual(bytesFault(own.subarray(0, -1), CLIENT_LIMITS), NOT_JSON)
      }),
    )
  })

  it("takes linear time, also once optimized", () => {
    // In a separate process, as on a server: code that runs often gets optimized, and optimized code can be slow in other ways.
    const slow = execFileSync(process.execPath, ["test/domain/hotJson.ts"], { encoding: "utf8", timeout: 25_000 })
    assert.strictEqual(slow, "")
  })
})
