import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { fromUtf8, utf8 } from "../../../src/domain/bytes/bytes.ts"
import { bytesFault, CLIENT_LIMITS } from "../../../src/domain/json/iJson.ts"
import { Outline } from "../../../src/domain/json/outline.ts"
import { RawObject } from "../../../src/domain/json/rawObject.ts"
import { objectText, oddObject } from "../../support/oddJson.ts"

/** The object in the member `body`, found in the same way as by the proxy. */
const found = (payload: string): RawObject | undefined => {
  const outline = new Outline("body")
  const bytes = utf8(payload)
  assert.isUndefined(bytesFault(bytes, CLIENT_LIMITS, outline))
  return outline.objectIn(bytes)
}

const textOf = (raw: RawObject | undefined) => raw?.text
const changed = (raw: RawObject | undefined, values: Readonly<Record<string, string>>) =>
  raw === undefined ? undefined : fromUtf8(raw.with(values))

describe("an object in a member", () => {
  it("is found with its exact bytes and all its members", () => {
    fc.assert(
      fc.property(oddObject({ model: '"m"', stream: "true" }), (members) => {
        const body = objectText(members)
        const payload = ` { "a" : [{"body":1}], "b\\u006fdy"\n: ${body} , "z":{"body":{}, "model":1}}`
        const raw = found(payload)
        assert.strictEqual(textOf(raw), body)
        assert.deepStrictEqual(JSON.parse(raw?.text ?? ""), JSON.parse(body))
        for (const [name, value] of Object.entries(JSON.parse(body) as object)) {
          assert.deepStrictEqual(raw?.value(name), value)
        }
        assert.isUndefined(raw?.value("no such member"))
      }),
      { numRuns: 500 },
    )
  })

  it.each(['{"body":[1]}', '{"body":"{}"}', '{"other":{"body":{}}}', '[{"body":{}}]', '{"body":[{"a":1}]}', "1"])(
    "is not found in %s",
    (payload) => assert.isUndefined(found(payload)),
  )
})

describe("replacing the value of a member", () => {
  it("changes nothing but that value", () => {
    fc.assert(
      fc.property(oddObject({ model: '"m\\u006f"', n: "1.0" }), (members) => {
        const raw = found(`{"body":${objectText(members)}}`)
        const others = members.map((member) =>
          member.startsWith('"model"')
            ? member.replace('"m\\u006f"', '"other"')
            : member.replace(/^("n"\s*:\s*)1\.0/, "$12"),
        )
        assert.strictEqual(changed(raw, { n: "2", model: '"other"' }), objectText(others))
        assert.strictEqual(changed(raw, {}), textOf(raw))
      }),
      { numRuns: 500 },
    )
  })

  it("puts a new member first", () => {
    assert.strictEqual(changed(found('{"body": { "a":1.0 }}'), { "b\n": "2", c: "[]" }), '{"b\\n":2,"c":[], "a":1.0 }')
    assert.strictEqual(changed(found('{"body":{ }}'), { b: "2" }), '{"b":2 }')
    assert.strictEqual(changed(RawObject.of({}), { b: "2" }), '{"b":2}')
  })

  it("leaves out one member with its comma", () => {
    const without = (body: string, values = {}) => fromUtf8(found(`{"body":${body}}`)?.with(values, "b") ?? utf8(""))
    assert.strictEqual(without('{ "b": {"x":[1,2]} , "a":1.0}'), '{ "a":1.0}')
    assert.strictEqual(without('{"a":1.0 , "\\u0062" : 2, "c":3 }'), '{"a":1.0, "c":3 }')
    assert.strictEqual(without('{"a":1, "b":2 }', { a: "7", c: "8" }), '{"c":8,"a":7 }')
    assert.strictEqual(without('{"b":2}', { c: "8" }), '{"c":8}')
    assert.strictEqual(without('{"b":1,"a":2}', { c: "8" }), '{"c":8,"a":2}')
    assert.strictEqual(without('{"a":1}'), '{"a":1}')
  })

  it("renames one member, also beside one that it leaves out, and keeps all else", () => {
    const renamed = (body: string, values = {}) =>
      fromUtf8(found(`{"body":${body}}`)?.with(values, "b", ["c", "d"]) ?? utf8(""))
    assert.strictEqual(renamed('{ "c" : 1.0 , "a":"c"}'), '{ "d" : 1.0 , "a":"c"}')
    assert.strictEqual(renamed('{"b":1 , "\\u0063":"c","a":2}'), '{ "d":"c","a":2}')
    assert.strictEqual(renamed('{"c":1,"b":"c"}', { c: "7", e: "8" }), '{"e":8,"d":7}')
    assert.strictEqual(renamed('{"a":{"c":1}}'), '{"a":{"c":1}}')
  })

  it("works for an object from RawObject.of", () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (members) => {
        const raw = RawObject.of(members)
        assert.strictEqual(textOf(raw), JSON.stringify(members))
        for (const name of Object.keys(members)) {
          assert.strictEqual(changed(raw, { [name]: "7" }), JSON.stringify({ ...members, [name]: 7 }))
        }
      }),
    )
  })
})

describe("blanking a member", () => {
  const raw = (text: string) => {
    const outline = new Outline("")
    assert.isUndefined(bytesFault(utf8(text), CLIENT_LIMITS, outline))
    return outline.object(utf8(text))
  }

  it("leaves the others as they were, wherever it stands", () => {
    fc.assert(
      fc.property(oddObject({ metadata: '{ "user_id" : "u\\u006e", "team": "a,b" }' }), (members) => {
        for (const text of ["", '{"user_id":"un"}']) {
          const body = raw(objectText(members))
          const { metadata, ...rest } = JSON.parse(body.text) as Record<string, unknown>
          body.blank("metadata", text)
          const left = text === "" || metadata === undefined ? rest : { ...rest, metadata: JSON.parse(text) }
          assert.deepStrictEqual(JSON.parse(body.text), left)
          assert.deepStrictEqual(body.value("metadata"), left["metadata"])
          const replaced = fromUtf8(body.with({ model: '"m"', added: "1" }, Object.keys(rest)[0]))
          const [omitted = ""] = Object.keys(rest)
          const expected = { ...left, model: "m", added: 1 }
          if (omitted !== "model" && omitted !== "added") Reflect.deleteProperty(expected, omitted)
          assert.deepStrictEqual(JSON.parse(replaced), expected)
        }
      }),
      { numRuns: 500 },
    )
  })
})
