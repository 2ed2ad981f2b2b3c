import { createContext, runInContext } from "node:vm"
import { assert, describe, it } from "@effect/vitest"
import { jsonIn, MAX_JSON_CHARS } from "../../../../src/services/jobs/modes/engine/jsonIn.ts"
import { saysNothing } from "../../../../src/services/jobs/modes/engine/saysNothing.ts"

/** Ends what would go on for minutes: nothing else can, while the event loop stands still. */
const unlessItHangs = <A>(run: () => A): A =>
  // The context holds nothing but `run`, whose type this is.
  runInContext("run()", createContext({ run }), { timeout: 5000 }) as A

const JSON_TEXT = '{"a": [1], "b": "}{\\"", "c": {}}'
/** Without broken ones. */
const wholeIn = (text: string) => jsonIn(text).filter((value) => value !== undefined)

const VALUE = { a: [1], b: '}{"', c: {} }

describe("JSON in a model's answer", () => {
  it.each([
    JSON_TEXT,
    ` \n${JSON_TEXT}\t`,
    `\`\`\`${JSON_TEXT}\`\`\``,
    `\`\`\`json\r\n  ${JSON_TEXT}\u00a0\n\`\`\` \n`,
    `Sure! Here it is:\n${JSON_TEXT}\nI hope that helps {really}.`,
    `In the set {1, 2} it holds, "so":\n\`\`\`\n${JSON_TEXT}\n\`\`\``,
    `A { that nobody closes. ${JSON_TEXT}`,
    `A {"that nobody closes. ${JSON_TEXT}`,
    `${"{a} ".repeat(100)}${JSON_TEXT}${" {b}".repeat(100)}`,
  ])("is found in %j", (text) => assert.deepStrictEqual(wholeIn(text), [VALUE]))

  it("is every object of the text, but none within another", () => {
    assert.deepStrictEqual(wholeIn(`{"b": {}} is not\n${JSON_TEXT} or {}`), [{ b: {} }, VALUE, {}])
  })

  it("is undefined where it is broken", () => {
    assert.deepStrictEqual(jsonIn(`{"a": 1,} ${JSON_TEXT} {"a": `), [undefined, VALUE, undefined])
  })

  it.each(["", "```", "```json```", "no JSON", "{", "}", "{]}", '{"a": "', "[1, 2]", "{a: 1}"])(
    "is not found where there is none: %j",
    (text) => assert.deepStrictEqual(wholeIn(text), []),
  )

  it("is not read if it is longer than any requested answer", () => {
    assert.deepStrictEqual(wholeIn(`${" ".repeat(MAX_JSON_CHARS)}{}`), [])
    assert.deepStrictEqual(wholeIn(`{"a":${"[".repeat(1000)}`), [])
    assert.deepStrictEqual(wholeIn(`{"resolved": [${"1,".repeat(100_000)}1]}`), [])
  })

  it("is searched in linear time, even in long white space", () => {
    for (const text of [" ".repeat(1_000_000), `\`\`\`${" ".repeat(1_000_000)}`]) {
      assert.deepStrictEqual(
        unlessItHangs(() => wholeIn(text)),
        [],
      )
      assert.isTrue(unlessItHangs(() => saysNothing(text)))
    }
  })

  it("is searched in linear time between braces", () => {
    for (const piece of ["{", `{${" ".repeat(99_999)}`, '{"', "{}", '{"a":', "{ "]) {
      const text = piece.repeat(1_000_000 / piece.length)
      assert.deepStrictEqual(
        unlessItHangs(() => wholeIn(text)),
        [],
      )
    }
  })

  it("is searched at a bounded number of places", () => {
    assert.deepStrictEqual(wholeIn(`${'{" '.repeat(10)}${JSON_TEXT}`), [VALUE])
    assert.deepStrictEqual(wholeIn(`${JSON_TEXT}${'{" '.repeat(100)}`), [])
  })
})
