/** Answers of the direct mode that have to fit an `output_schema`. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import type { UpstreamRequest } from "../../../../src/domain/upstream/upstream.ts"
import { answering, inOrder } from "./ModeFixture.ts"

const schema = {
  type: "object",
  properties: { city: { type: "string", maxLength: 5 }, maximum: { type: "integer", minimum: 1 } },
  required: ["city", "maximum"],
  additionalProperties: false,
}
const options = { output_schema: schema }

const lastSaid = (request: UpstreamRequest | undefined) => String(request?.completion.messages.at(-1)?.content)

describe("an output of the direct mode", () => {
  it.effect("is asked for in words and as a format without bounds, and comes beside the answer", () =>
    Effect.gen(function* () {
      const text = 'Here it is:\n```json\n{"city":"Oslo","maximum":7}\n```'
      const { result, steps, upstream } = yield* answering({}, { options, script: inOrder({ text }) })
      assert.deepInclude(result, { answer: text, output: { city: "Oslo", maximum: 7 }, turns: 1 })
      assert.deepStrictEqual([...steps.keys()], ["turn-1"])
      const [asked] = upstream.requests
      assert.isTrue(lastSaid(asked).endsWith(`JSON Schema:\n${JSON.stringify(schema)}`))
      assert.deepStrictEqual(asked?.completion.response_format, {
        type: "json_schema",
        json_schema: {
          name: "output",
          strict: true,
          schema: { ...schema, properties: { city: { type: "string" }, maximum: { type: "integer" } } },
        },
      })
    }),
  )

  it.effect("is asked for without strictness if the schema leaves members open", () =>
    Effect.gen(function* () {
      for (const open of [
        { ...schema, required: ["city"] },
        { ...schema, additionalProperties: true },
        {
          ...schema,
          properties: { city: schema.properties.city, maximum: { type: "array", items: { properties: {} } } },
        },
      ]) {
        const script = inOrder({ text: '{"city":"Oslo","maximum":1}' }, { text: '{"city":"Oslo","maximum":[]}' })
        const { upstream } = yield* answering({}, { options: { output_schema: open }, script })
        const format = upstream.requests[0]?.completion.response_format
        assert.strictEqual(format?.type === "json_schema" && format.json_schema.strict, false)
      }
    }),
  )

  it.effect("is asked for once more, with what does not fit", () =>
    Effect.gen(function* () {
      const script = inOrder({ text: '{"city":"Trondheim"}' }, { text: '{"city":"Oslo","maximum":7}' })
      const { result, rows, steps, upstream } = yield* answering({}, { options, script })
      assert.deepInclude(result, { output: { city: "Oslo", maximum: 7 }, turns: 2 })
      assert.deepStrictEqual([...steps.keys()], ["turn-1", "turn-1-repair"])
      // The repair costs as any call, but saved nothing: the baseline might have needed none.
      assert.deepStrictEqual(
        rows.map(({ baseline, cost }) => [Number(cost) > 0, Number(baseline) > 0]),
        [true, false].map((isCompared) => [true, isCompared]),
      )
      assert.include(
        lastSaid(upstream.requests[1]),
        "output.maximum is missing; output.city must have at most 5 characters",
      )
    }),
  )

  it.effect("is the only object that fits, and asked for once more if several different ones do", () =>
    Effect.gen(function* () {
      const [oslo, other] = ['{"city":"Oslo","maximum":7}', '{"city":"Bodø","maximum":7}']
      for (const text of [
        `{"city":"Trondheim"} is too long: ${oslo}`,
        `${oslo}\n\nAgain: {"maximum":7,"city":"Oslo"}`,
      ]) {
        const { result } = yield* answering({}, { options, script: inOrder({ text }) })
        assert.deepInclude(result, { output: { city: "Oslo", maximum: 7 }, turns: 1 })
      }
      const script = inOrder({ text: `Not ${oslo} but ${other}` }, { text: other })
      const { result, upstream } = yield* answering({}, { options, script })
      assert.deepInclude(result, { output: { city: "Bodø", maximum: 7 }, turns: 2 })
      assert.include(lastSaid(upstream.requests[1]), "output is given several times")
    }),
  )

  it.effect("fails the job if it does not fit the second time, and the stored steps give the same problem", () =>
    Effect.gen(function* () {
      const steps = new Map()
      const script = inOrder({ text: "Oslo." }, { text: "[1]" })
      const { problem } = yield* Effect.flip(answering({}, { options, script, steps }))
      assert.deepInclude(problem, { code: "output-misfit", retryable: false })
      assert.include(problem.detail, "output is not a JSON object")
      const again = yield* Effect.flip(answering({}, { options, script: () => ({ text: "not asked" }), steps }))
      assert.deepStrictEqual(again.problem, problem)
    }),
  )

  it.effect("fails the job if the model refuses", () =>
    Effect.gen(function* () {
      const { problem } = yield* Effect.flip(answering({}, { options, script: inOrder({ refusal: "No." }) }))
      assert.strictEqual(problem.code, "content-filtered")
    }),
  )

  it.effect("is asked for in words alone if tools are offered", () =>
    Effect.gen(function* () {
      const tool = {
        name: "add",
        description: "Adds.",
        input_schema: { type: "object" },
        url: "https://example.com/add",
      }
      const called = [{ id: "id-0", type: "function" as const, function: { name: "add", arguments: "{}" } }]
      const script = inOrder({ toolCalls: called }, { text: "{}" }, { text: '{"city":"Oslo","maximum":7}' })
      const call = () => Effect.succeed({ text: "7", is_error: false })
      const { result, upstream } = yield* answering({}, { options, tools: [tool], call, script })
      assert.deepInclude(result, { output: { city: "Oslo", maximum: 7 }, turns: 3, tool_calls: 1 })
      for (const { completion } of upstream.requests) assert.notProperty(completion, "response_format")
      assert.include(JSON.stringify(upstream.requests[0]?.completion.messages), "JSON Schema")
      assert.strictEqual(upstream.requests[2]?.completion.tool_choice, "none")
    }),
  )
})
