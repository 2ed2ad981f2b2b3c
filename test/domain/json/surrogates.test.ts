import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import type { ChatChunk, Delta } from "../../../src/domain/chat/chat.ts"
import { accumulate } from "../../../src/domain/chat/chatStream.ts"
import { jsonFault } from "../../../src/domain/json/iJson.ts"
import { iJsonOf, PairJoiner } from "../../../src/domain/json/surrogates.ts"

const chunk = (delta: Delta, finish_reason: string | null = null, index = 0): ChatChunk => ({
  id: "c",
  object: "chat.completion.chunk",
  created: 1,
  model: "m",
  choices: [{ index, delta, finish_reason }],
})

/** The output of a joiner for `chunks`, each of which must be I-JSON. */
const through = (chunks: ReadonlyArray<ChatChunk>): ReadonlyArray<ChatChunk> => {
  const joiner = new PairJoiner()
  const out = [...chunks.flatMap((chunk) => joiner.add(chunk)), ...joiner.end()]
  for (const each of out) assert.isUndefined(jsonFault(JSON.stringify(each)))
  return out
}

const units = fc
  .array(fc.constantFrom("a", "\u{1F44B}", "\ud83d", "\udc4b", "\\", "ud83d", "\uffff"), { maxLength: 8 })
  .map((parts) => parts.join(""))

/** The paths of growing texts in a delta, and functions that put a text there. */
const PLACES: ReadonlyArray<(text: string) => Delta> = [
  (content) => ({ content }),
  (refusal) => ({ refusal }),
  (reasoning) => ({ reasoning_content: reasoning }),
  (text) => ({ reasoning: { "half\ud83d": { text } } }),
  (args) => ({ tool_calls: [{ index: 0, function: { arguments: args } }] }),
  (args) => ({ tool_calls: [{ index: 7, function: { arguments: args } }] }),
]

/** The texts of an answer by path. */
const textsOf = (chunks: ReadonlyArray<ChatChunk>) => {
  const { choices } = accumulate(chunks)
  return choices.map(({ message }) => ({
    content: message.content ?? "",
    refusal: message.refusal ?? "",
    reasoning: message["reasoning_content"] ?? "",
    nested: Object.values(Object(message["reasoning"])),
    calls: (message.tool_calls ?? []).map((call) => call.function.arguments),
  }))
}

describe("surrogate pairs cut between chunks", () => {
  it("are joined in every text, and unpaired surrogates become U+FFFD", () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.nat(1), fc.nat(PLACES.length - 1), units), { maxLength: 30 }),
        fc.boolean(),
        (pieces, finishes) => {
          const texts = new Map<string, { text: string; choice: number; place: number }>()
          const chunks = pieces.map(([choice, place, text]) => {
            const key = `${choice} ${place}`
            texts.set(key, { choice, place, text: (texts.get(key)?.text ?? "") + text })
            return chunk(PLACES[place]?.(text) ?? {}, null, choice)
          })
          const whole = [...texts.values()].map(({ choice, place, text }) =>
            chunk(PLACES[place]?.(text.toWellFormed()) ?? {}, null, choice),
          )
          const ends = finishes ? [0, 1].map((choice) => chunk({}, "stop", choice)) : []
          const expected = textsOf([...whole, ...ends])
          const actual = textsOf(through([...chunks, ...ends]))
          assert.deepStrictEqual(
            JSON.parse(JSON.stringify(actual)),
            JSON.parse(JSON.stringify(expected).replaceAll("half\\ud83d", "half\uFFFD")),
          )
        },
      ),
      { numRuns: 500 },
    )
  })

  it("are held until their choice ends at the latest, and sent before its end", () => {
    const out = through([
      chunk({ content: "a\ud83d" }),
      chunk({ content: "b\ud83d" }, null, 1),
      chunk({}, "stop"),
      chunk({ content: "\udc4b" }, null, 1),
      chunk({ content: "c\ud83d" }, "length", 1),
    ])
    assert.deepStrictEqual(out, [
      chunk({ content: "a" }),
      chunk({ content: "b" }, null, 1),
      chunk({ content: "\uFFFD" }),
      chunk({}, "stop"),
      chunk({ content: "\u{1F44B}" }, null, 1),
      chunk({ content: "c\uFFFD" }, "length", 1),
    ])
  })

  it("are not searched for in each chunk", () => {
    const joiner = new PairJoiner()
    const choices = Array.from({ length: 8000 }, (_, index) => chunk({ content: "\ud83d" }, null, index).choices).flat()
    joiner.add({ ...chunk({}), choices })
    // Looking through all would take minutes.
    for (let count = 0; count < 60_000; count++) joiner.add(chunk({ content: "a" }, null, 8000))
    assert.deepStrictEqual(joiner.add(chunk({}, "stop", 7)), [
      chunk({ content: "\uFFFD" }, null, 7),
      chunk({}, "stop", 7),
    ])
    assert.strictEqual(joiner.end().length, 7999)
  })

  it("are discarded when the stream restarts", () => {
    const joiner = new PairJoiner()
    joiner.add(chunk({ content: "\ud83d" }))
    joiner.clear()
    assert.deepStrictEqual(joiner.add(chunk({ content: "a" })), [chunk({ content: "a" })])
    assert.deepStrictEqual(joiner.end(), [])
  })

  it("are not joined in names, and leave other chunks unchanged", () => {
    assert.deepStrictEqual(
      through([
        { ...chunk({ tool_calls: [{ index: 0, id: "\ud83d", function: { name: "\ud83d" } }] }), model: "\ud83d" },
        chunk({ tool_calls: [{ index: 0, function: { arguments: "\udc4b" } }] }),
      ]),
      [
        { ...chunk({ tool_calls: [{ index: 0, id: "\uFFFD", function: { name: "\uFFFD" } }] }), model: "\uFFFD" },
        chunk({ tool_calls: [{ index: 0, function: { arguments: "\uFFFD" } }] }),
      ],
    )
    const plain = chunk({ content: "\u{1F44B}" })
    assert.strictEqual(new PairJoiner().add(plain)[0], plain)
  })
})

it("iJsonOf replaces only unpaired surrogates of any value", () => {
  fc.assert(
    fc.property(fc.jsonValue({ stringUnit: "binary" }), units, (value, text) => {
      const json = iJsonOf({ value, [text]: [text, { text }] })
      assert.isUndefined(jsonFault(json))
      if (JSON.stringify([value, text]).isWellFormed() && text.isWellFormed()) {
        const whole = text.toWellFormed()
        assert.deepInclude(JSON.parse(json), { [whole]: [whole, { text: whole }] })
      }
    }),
  )
  assert.strictEqual(iJsonOf({ a: "\\ud83d", b: "\u{1F44B}" }), JSON.stringify({ a: "\\ud83d", b: "\u{1F44B}" }))
})
