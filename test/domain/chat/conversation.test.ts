import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { conversationName as nameBy } from "../../../src/domain/chat/conversation.ts"

const conversationName = (body: Readonly<Record<string, unknown>>) => nameBy((member) => body[member])

const word = fc.string({ unit: fc.constantFrom(..."abc "), minLength: 1, maxLength: 6 })
const asking = fc.record({ role: fc.constantFrom("system", "developer", "user"), content: word })
const answering = fc.oneof(
  fc.record({ role: fc.constantFrom("assistant", "tool", "function"), content: word }),
  fc.record({ type: fc.constantFrom("function_call", "function_call_output", "reasoning"), id: word }),
)
const head = fc.record(
  { system: word, instructions: word, tools: fc.array(fc.record({ name: word }), { maxLength: 2 }), model: word },
  { requiredKeys: [] },
)
const listed = fc.constantFrom("messages", "input")

/** The forms that clients give the same message in different turns. */
const spellings = ({ content, role }: { readonly role: string; readonly content: string }) =>
  fc.constantFrom(
    { role, content },
    { role, content: [{ type: "text", text: content }] },
    { role, content: [{ type: "input_text", text: content }] },
    { role, content: [{ type: "text", text: content, cache_control: { type: "ephemeral" } }] },
  )

describe("conversationName", () => {
  it("is the same in every turn, even if the first messages are written in another form", () => {
    fc.assert(
      fc.property(
        head,
        listed,
        fc
          .array(asking, { minLength: 1, maxLength: 3 })
          .chain((first) => fc.tuple(...[0, 1].map(() => fc.tuple(...first.map(spellings))))),
        answering,
        fc.array(fc.oneof(asking, answering), { maxLength: 4 }),
        (head, list, [first, later], answer, rest) => {
          const beginning = conversationName({ ...head, [list]: first })
          assert.deepStrictEqual(conversationName({ ...head, [list]: [...(later ?? []), answer, ...rest] }), beginning)
          assert.strictEqual(beginning?.by, "opening")
        },
      ),
    )
  })

  it("differs if anything else before the first answer differs", () => {
    const body = { system: "s", tools: [{ name: "t" }], messages: [{ role: "user", content: "hi" }] }
    const name = conversationName(body)
    for (const other of [
      { ...body, system: "S" },
      { ...body, tools: [] },
      { ...body, instructions: "i" },
      { ...body, functions: [{ name: "f" }] },
      { ...body, messages: [{ role: "user", content: "hi!" }] },
      { ...body, messages: [{ role: "system", content: "hi" }] },
      { ...body, messages: [...body.messages, { role: "user", content: "there" }] },
      { ...body, messages: [{ role: "user", content: [{ type: "image", source: { data: "aGk=" } }] }] },
    ]) {
      assert.notDeepEqual(conversationName(other), name)
    }
  })

  it("is the caller's name for the conversation, even if everything else changes", () => {
    fc.assert(
      fc.property(head, head, word, listed, fc.array(asking, { maxLength: 2 }), (one, other, key, list, messages) => {
        const cached = { prompt_cache_key: key }
        assert.deepStrictEqual(
          conversationName({ ...one, ...cached, metadata: { user_id: "u" }, [list]: messages }),
          conversationName({ ...other, ...cached }),
        )
        const metadata = { user_id: key }
        assert.deepStrictEqual(conversationName({ ...one, metadata, [list]: messages }), {
          by: "metadata.user_id",
          text: key,
        })
      }),
    )
  })

  it("ignores invalid names, and is undefined without an opening", () => {
    const messages = [{ role: "user", content: "hi" }]
    for (const nothing of ["", 1, null, {}, ["k"]]) {
      assert.strictEqual(conversationName({ prompt_cache_key: nothing, messages })?.by, "opening")
      assert.strictEqual(conversationName({ metadata: { user_id: nothing }, messages })?.by, "opening")
      assert.strictEqual(conversationName({ metadata: nothing, messages })?.by, "opening")
    }
    assert.isUndefined(conversationName({}))
    assert.isUndefined(conversationName({ messages: "hi" }))
    assert.isUndefined(conversationName({ messages: [{ role: "assistant", content: "hi" }] }))
  })

  it("is the same for a text input and for its user message", () => {
    assert.deepStrictEqual(
      conversationName({ input: "hi" }),
      conversationName({ input: [{ role: "user", content: [{ type: "input_text", text: "hi" }] }] }),
    )
  })

  it("accepts any JSON", () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), listed, fc.jsonValue(), (body, list, value) => {
        assert.doesNotThrow(() => conversationName({ ...body, [list]: value }))
      }),
    )
  })
})
