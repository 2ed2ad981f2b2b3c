/** Members of a chat that some Claude models refuse: neutral values are left out, others are refused by name. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import type { ChatRequest } from "../../../../src/domain/chat/chat.ts"
import { canned, json, MINIMAL } from "./support/Canned.ts"

const tools: ChatRequest["tools"] = [{ type: "function", function: { name: "f" } }]

type Asked = Partial<ChatRequest>

const sendTo = Effect.fnUntraced(function* (model: string, asked: Asked) {
  const { provider, sent } = yield* canned("anthropic", () => json(MINIMAL.anthropic))
  const result = yield* Effect.result(
    provider.complete({ messages: [{ role: "user", content: "hi" }], model, ...asked }),
  )
  const { failure } = result._tag === "Failure" ? result : { failure: undefined }
  assert.oneOf(failure?.kind, [undefined, "unsupported"])
  return { body: sent[0]?.body, detail: failure?.detail === undefined ? undefined : Redacted.value(failure.detail) }
})

/** Members that reach a model unchanged in the same place. */
const SAMPLING: ReadonlyArray<Asked> = [{ temperature: 0.5 }, { top_p: 0.9 }, { top_k: 5 }]
const LEVELS = ["low", "medium", "high", "xhigh", "max"] as const

const sampling = ["opus-4-7", "opus-4-8", "opus-5", "opus-5-5", "sonnet-5", "sonnet-5-5", "haiku-5-5", "fable-5"]
const eitherOr = ["opus-4-1-20250805", "opus-4-5", "opus-4-6", "sonnet-4-5-20250929", "sonnet-4-6", "haiku-4-5"]
const unforced = ["opus-5-5", "sonnet-5-5", "fable-5-1", "mythos-5-1"]
const thinking = ["opus-5-5", "fable-5", "fable-5-1", "mythos-5"]
const noEffort = ["3-7-sonnet-latest", "sonnet-4-20250514", "opus-4-1", "sonnet-4-5-20250929", "haiku-4-5-20251001"]

describe("claude", () => {
  for (const name of sampling) {
    it.effect(`${name} gets no sampling parameters, and refuses all but neutral ones`, () =>
      Effect.gen(function* () {
        for (const asked of SAMPLING) {
          const [member = ""] = Object.keys(asked)
          assert.match((yield* sendTo(`claude-${name}`, asked)).detail ?? "", new RegExp(`^${member}: `))
        }
        const { body } = yield* sendTo(`claude-${name}`, { temperature: 1, top_p: 1 })
        assert.doesNotHaveAnyKeys(body, ["temperature", "top_p"])
      }),
    )
  }

  for (const name of eitherOr) {
    it.effect(`${name} gets a temperature or top_p, but not both`, () =>
      Effect.gen(function* () {
        const model = `anthropic.claude-${name}`
        for (const asked of SAMPLING) assert.deepInclude((yield* sendTo(model, asked)).body, asked)
        assert.match((yield* sendTo(model, { temperature: 0.5, top_p: 0.9 })).detail ?? "", /^top_p: /)
        for (const kept of [{ temperature: 0 }, { top_p: 0.9 }]) {
          const { body } = yield* sendTo(model, { temperature: 1, top_p: 1, ...kept })
          assert.deepInclude(body, kept)
          assert.doesNotHaveAllKeys(body, ["temperature", "top_p"])
        }
      }),
    )
  }

  for (const name of unforced) {
    it.effect(`${name} refuses forced tool calls only`, () =>
      Effect.gen(function* () {
        for (const tool_choice of ["required", { type: "function", function: { name: "f" } }] as const) {
          assert.match((yield* sendTo(`claude-${name}`, { tools, tool_choice })).detail ?? "", /^tool_choice: /)
        }
        const { body } = yield* sendTo(`claude-${name}`, { tools, tool_choice: "none" })
        assert.deepInclude(body, { tool_choice: { type: "none" } })
      }),
    )
  }

  for (const name of thinking) {
    it.effect(`${name} always thinks`, () =>
      Effect.gen(function* () {
        const { detail } = yield* sendTo(`claude-${name}`, { reasoning_effort: "none" })
        assert.match(detail ?? "", /^reasoning_effort: .*low is the least/)
        const { body } = yield* sendTo(`claude-${name}`, { reasoning_effort: "low" })
        assert.deepInclude(body, { output_config: { effort: "low" } })
      }),
    )
  }

  it.effect("sonnet-5-5 thinks between tools at the least", () =>
    Effect.gen(function* () {
      const { body } = yield* sendTo("claude-sonnet-5-5", { reasoning_effort: "none" })
      assert.deepInclude(body, { thinking: { type: "between_tools" } })
      assert.notProperty(body, "output_config")
    }),
  )

  for (const name of noEffort) {
    it.effect(`${name} takes no effort, but may be asked not to think`, () =>
      Effect.gen(function* () {
        for (const reasoning_effort of LEVELS) {
          assert.match((yield* sendTo(`claude-${name}`, { reasoning_effort })).detail ?? "", /^reasoning_effort: /)
        }
        const { body } = yield* sendTo(`claude-${name}`, { reasoning_effort: "none" })
        assert.deepInclude(body, { thinking: { type: "disabled" } })
      }),
    )
  }

  it.effect.each([
    ["opus-4-5-20251101", ["low", "medium", "high", "high", "high"]],
    ["opus-4-6", ["low", "medium", "high", "high", "max"]],
    ["sonnet-4-6", ["low", "medium", "high", "high", "max"]],
    ["opus-4-7", LEVELS],
    ["sonnet-5-5", LEVELS],
  ] as const)("%s gets the highest effort that it takes, up to the one asked for", ([name, efforts]) =>
    Effect.gen(function* () {
      for (const [index, reasoning_effort] of LEVELS.entries()) {
        const { body } = yield* sendTo(`claude-${name}`, { reasoning_effort })
        assert.deepInclude(body, { output_config: { effort: efforts[index] } })
      }
    }),
  )

  for (const model of ["claude-default", "claude-opus-5-9", "claude-opus-4-10", "claude-sonnet-6", "someone-elses"]) {
    it.effect(`${model}, which is unknown, gets everything`, () =>
      Effect.gen(function* () {
        const all = { temperature: 0.5, top_p: 1, top_k: 5 }
        const { body } = yield* sendTo(model, { ...all, tools, tool_choice: "required", reasoning_effort: "xhigh" })
        assert.deepInclude(body, { ...all, tool_choice: { type: "any" }, output_config: { effort: "xhigh" } })
        const { body: without } = yield* sendTo(model, { reasoning_effort: "none" })
        assert.deepInclude(without, { thinking: { type: "disabled" } })
      }),
    )
  }
})
