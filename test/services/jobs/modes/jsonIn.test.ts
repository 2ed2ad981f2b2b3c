import { createContext, runInContext } from "node:vm"
import { assert, describe, it } from "@effect/vitest"
import { jsonIn, MAX_JSON_CHARS } from "../../../../src/services/jobs/modes/jsonIn.ts"

const JSON_TEXT = '{"a": [1]}'

/** Ends what would go on for minutes: nothing else can, while the event loop stands still. */
const unlessItHangs = <A>(run: () => A): A =>
  // The context holds nothing but `run`, whose type this is.
  runInContext("run()", createContext({ run }), { timeout: 5000 }) as A

describe("JSON in a model's answer", () => {
  it.each([
    JSON_TEXT,
    ` \n${JSON_TEXT}\t`,
    `\`\`\`${JSON_TEXT}\`\`\``,
    `\`\`\`json${JSON_TEXT}\`\`\``,
    `\n \`\`\`json\r\n  ${JSON_TEXT}\u00a0\n\`\`\` \n`,
  ])("is found in %j", (text) => assert.strictEqual(jsonIn(text), JSON_TEXT))

  it.each(["", "```", "````", "`````", "``````", "```json```", "```json\n", "no JSON", "``` {} ``` and more"])(
    "is not looked for where there is none: %j",
    (text) => assert.throws(() => JSON.parse(jsonIn(text) ?? "")),
  )

  it("is read in one pass, however much space there is around it", () => {
    const space = " ".repeat(MAX_JSON_CHARS - 100)
    const half = " ".repeat(MAX_JSON_CHARS / 2 - 100)
    for (const [text, json] of [
      [`\`\`\`json${space}`, `\`\`\`json`],
      [`\`\`\`json${space}x`, `\`\`\`json${space}x`],
      [`${half}\`\`\`json${half}${JSON_TEXT}`, `\`\`\`json${half}${JSON_TEXT}`],
      [`${half}\`\`\`json${half}${JSON_TEXT}\`\`\``, JSON_TEXT],
      ["`".repeat(MAX_JSON_CHARS), "`".repeat(MAX_JSON_CHARS - 6)],
    ] as const) {
      assert.isTrue(unlessItHangs(() => jsonIn(text)) === json)
    }
  })

  it("is not read where there is more than anybody was asked for", () => {
    assert.isUndefined(jsonIn(`${" ".repeat(MAX_JSON_CHARS)}1`))
    assert.isUndefined(jsonIn("[".repeat(1000)))
    assert.isUndefined(jsonIn(`{"resolved": [${"1,".repeat(100_000)}1]}`))
  })
})
