import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import {
  addedToEvent,
  EventJoiner,
  type FindText,
  messageText,
  responseText,
  withTextAdded,
} from "../../../src/domain/chat/eventTexts.ts"
import { jsonFault } from "../../../src/domain/json/iJson.ts"
import { isObject, type JsonObject } from "../../../src/domain/json/json.ts"

const block = (type: string, name: string, text: string, index = 0): JsonObject => ({
  type: "content_block_delta",
  index,
  delta: { type, [name]: text },
})
const said = (text: string, index = 0) => block("text_delta", "text", text, index)
const thought = (text: string) => block("thinking_delta", "thinking", text)
const input = (text: string) => block("input_json_delta", "partial_json", text)
const output = (text: string, more: JsonObject = {}): JsonObject => ({
  type: "response.output_text.delta",
  item_id: "item",
  output_index: 0,
  content_index: 0,
  delta: text,
  ...more,
})

const args = (text: string) => output(text, { type: "response.function_call_arguments.delta" })

describe("two events are one", () => {
  it.each<readonly [string, FindText, JsonObject, JsonObject, JsonObject]>([
    ["text", messageText, said("a"), said("b"), said("ab")],
    ["thoughts", messageText, thought("a"), thought("b"), thought("ab")],
    ["input", messageText, input("{"), input("}"), input("{}")],
    ["output", responseText, output("a"), output("b"), output("ab")],
    [
      "output with numbers, of which the later counts",
      responseText,
      output("a", { sequence_number: 7, logprobs: [] }),
      output("b", { sequence_number: 8, logprobs: [] }),
      output("ab", { sequence_number: 8, logprobs: [] }),
    ],
    ["arguments", responseText, args("{"), args("}"), args("{}")],
  ])("where they continue one another in %s", (_, textOf, first, second, merged) => {
    const added = addedToEvent(textOf)(first, second)
    assert.deepStrictEqual(withTextAdded(textOf)(first, second, added ?? ""), merged)
  })

  it.each<readonly [string, FindText, JsonObject, JsonObject]>([
    ["are of two blocks", messageText, said("a"), said("b", 1)],
    ["are of two kinds", messageText, said("a"), thought("b")],
    [
      "are signatures",
      messageText,
      block("signature_delta", "signature", "a"),
      block("signature_delta", "signature", "b"),
    ],
    ["have something beside the text", messageText, said("a"), { ...said("b"), x: 1 }],
    [
      "have something in the delta",
      messageText,
      said("a"),
      { ...said("b"), delta: { type: "text_delta", text: "b", citations: [1] } },
    ],
    ["are of two items", responseText, output("a"), output("b", { item_id: "other" })],
    ["are of two parts", responseText, output("a"), output("b", { content_index: 1 })],
    ["say how likely they were", responseText, output("a", { logprobs: [1] }), output("b", { logprobs: [1] })],
    [
      "are sounds",
      responseText,
      output("AA==", { type: "response.audio.delta" }),
      output("AA==", { type: "response.audio.delta" }),
    ],
    ["are numbered by halves", responseText, output("a"), output("b", { sequence_number: 1 })],
    ["are events without text", responseText, { type: "response.created" }, { type: "response.created" }],
  ])("not where they %s", (_, textOf, first, second) => {
    assert.isUndefined(addedToEvent(textOf)(first, second))
  })
})

describe("surrogate pairs cut between events", () => {
  const units = fc
    .array(fc.constantFrom("a", "\u{1F44B}", "\ud83d", "\udc4b", "\\", "ud83d"), { maxLength: 6 })
    .map((parts) => parts.join(""))

  /** Events with a text, and another event of the same stream. */
  const KINDS: ReadonlyArray<readonly [FindText, ReadonlyArray<(text: string) => JsonObject>, JsonObject]> = [
    [messageText, [(text) => said(text), (text) => said(text, 1), input], { type: "content_block_stop", index: 0 }],
    [
      responseText,
      [(text) => output(text), (text) => output(text, { item_id: "other" })],
      { type: "response.output_text.done", text: "\ud83d" },
    ],
  ]

  it.each(KINDS)("are joined, and unpaired surrogates become U+FFFD", (textOf, ways, other) => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.nat(ways.length), units), { maxLength: 30 }), (pieces) => {
        const joiner = new EventJoiner(textOf)
        const whole = new Map<string, string>()
        const expected: Array<Map<string, string>> = []
        const out: Array<JsonObject> = []
        for (const [way, text] of pieces) {
          const event = ways[way]?.(text) ?? other
          out.push(...joiner.add(event, JSON.stringify(event)))
          const found = textOf(event)
          if (found === undefined)
            expected.push(new Map(whole.entries().map(([place, all]) => [place, all.toWellFormed()])))
          if (found === undefined) for (const [place, all] of whole) whole.set(place, all.toWellFormed())
          else whole.set(found.place, (whole.get(found.place) ?? "") + found.text)
        }
        out.push(...joiner.end())
        const heard = new Map<string, string>()
        for (const event of out) {
          assert.isUndefined(jsonFault(JSON.stringify(event)))
          const found = textOf(event)
          if (found !== undefined) heard.set(found.place, (heard.get(found.place) ?? "") + found.text)
          // Held surrogates come before the event that ends their text.
          else for (const [place, all] of expected.shift() ?? []) assert.strictEqual(heard.get(place), all)
        }
        assert.deepStrictEqual(heard, new Map(whole.entries().map(([place, all]) => [place, all.toWellFormed()])))
      }),
      { numRuns: 500 },
    )
  })

  it("are discarded when a stream restarts", () => {
    const joiner = new EventJoiner(responseText)
    const half = output("\ud83d")
    joiner.add(half, JSON.stringify(half))
    joiner.clear()
    assert.deepStrictEqual(joiner.end(), [])
  })

  it("leave the rest of an event unchanged", () => {
    const joiner = new EventJoiner(responseText)
    const event = { type: "response.completed", response: { output: [{ text: "x\ud83d" }] } }
    const [out] = joiner.add(event, JSON.stringify(event))
    assert.deepStrictEqual(out, { type: "response.completed", response: { output: [{ text: "x\uFFFD" }] } })
    assert.isTrue(isObject(out))
  })
})
