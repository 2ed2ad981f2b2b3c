/** Every reason for which a vendor ends an answer, and what callers see of it. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Stream } from "effect"
import { accumulate } from "../../../../src/domain/chat/chatStream.ts"
import { canned, events, json, MINIMAL, type Vendor } from "./support/Canned.ts"
import { eventFixture } from "./support/fixtures.ts"
import { ask, passingTime, upstreamOf } from "../ScriptedProvider.ts"
import { REQUEST } from "./support/raw.ts"

const REASONS: Readonly<Record<Vendor, Readonly<Record<string, string>>>> = {
  openai: {
    stop: "stop",
    length: "length",
    tool_calls: "tool_calls",
    content_filter: "content_filter",
    function_call: "function_call",
    model_length: "length",
    model_context_window_exceeded: "length",
    sensitive: "content_filter",
    "content_filter: RECITATION": "content_filter",
    constructor: "constructor",
    a_reason_of_the_future: "a_reason_of_the_future",
  },
  anthropic: {
    end_turn: "stop",
    stop_sequence: "stop",
    max_tokens: "length",
    tool_use: "tool_calls",
    pause_turn: "length",
    refusal: "content_filter",
    sensitive: "content_filter",
    model_context_window_exceeded: "length",
    a_reason_of_the_future: "a_reason_of_the_future",
    constructor: "constructor",
  },
  gemini: {
    STOP: "stop",
    MAX_TOKENS: "length",
    CONTINUATION: "length",
    SAFETY: "content_filter",
    RECITATION: "content_filter",
    LANGUAGE: "content_filter",
    OTHER: "content_filter",
    BLOCKLIST: "content_filter",
    PROHIBITED_CONTENT: "content_filter",
    SPII: "content_filter",
    TOO_MANY_TOOL_CALLS: "content_filter",
    MISSING_THOUGHT_SIGNATURE: "content_filter",
    IMAGE_SAFETY: "content_filter",
    IMAGE_PROHIBITED_CONTENT: "content_filter",
    IMAGE_RECITATION: "content_filter",
    IMAGE_OTHER: "content_filter",
    NO_IMAGE: "content_filter",
    A_REASON_OF_THE_FUTURE: "A_REASON_OF_THE_FUTURE",
    constructor: "constructor",
  },
}

/** `text` of JSON with another reason in the place of its own. */
const withReason = (text: string, reason: string): string =>
  text.replace(/("(?:finish_reason|stop_reason|finishReason)": ?)"[a-zA-Z_]+"/, `$1"${reason}"`)

for (const vendor of ["openai", "anthropic", "gemini"] as const) {
  describe(vendor, () => {
    for (const [reason, seen] of Object.entries(REASONS[vendor])) {
      it.effect(`${reason}: ${seen}`, () =>
        Effect.gen(function* () {
          const whole = yield* canned(vendor, () => json(withReason(JSON.stringify(MINIMAL[vendor]), reason)))
          const streamed = yield* canned(vendor, () =>
            events(eventFixture(`${vendor}-stream`).map((event) => withReason(event, reason))),
          )
          const chunks = yield* Stream.runCollect(streamed.provider.stream(REQUEST))
          for (const { choices } of [yield* whole.provider.complete(REQUEST), accumulate(chunks)]) {
            assert.strictEqual(choices[0]?.finish_reason, seen)
            assert.strictEqual(choices[0]?.["native_finish_reason"], vendor === "openai" ? undefined : reason)
          }
        }),
      )
    }
  })
}

/** Reasons for an answer that is of no use, but may be at the next attempt. */
const FAILED: Readonly<Partial<Record<Vendor, ReadonlyArray<string>>>> = {
  openai: [
    "network_error",
    "abort",
    "aborted",
    "insufficient_system_resource",
    "function_call_filter: MALFORMED_FUNCTION_CALL",
  ],
  gemini: ["MALFORMED_FUNCTION_CALL", "MALFORMED_RESPONSE", "UNEXPECTED_TOOL_CALL"],
}

for (const vendor of ["openai", "anthropic", "gemini"] as const) {
  it.effect.each(FAILED[vendor] ?? [])(`${vendor}: %s is no answer, but costs, and the next attempt counts`, (reason) =>
    Effect.gen(function* () {
      const whole = JSON.stringify(MINIMAL[vendor])
      const stream = eventFixture(`${vendor}-stream`)
      const answers = {
        whole: [json(withReason(whole, reason)), json(whole)],
        streamed: [events(stream.map((event) => withReason(event, reason))), events(stream)],
      }
      for (const [form, [first, second]] of Object.entries(answers)) {
        const responses = [first, second]
        const { provider } = yield* canned(vendor, () => responses.shift() ?? json("no third call", { status: 500 }))
        const upstream = yield* upstreamOf([provider])
        const call = form === "whole" ? upstream.complete(ask()) : upstream.streamTo(ask(), () => Effect.void)
        const { attempts, served } = yield* passingTime(call)
        assert.deepStrictEqual(
          attempts.map(({ outcome }) => outcome),
          [/[A-Z]/.test(reason) ? "broken" : "truncated", "success"],
        )
        // OpenAI-compatible streams name their usage only after the finish.
        if (form === "whole" || vendor === "gemini") assert.isNotNull(attempts[0]?.usage)
        assert.deepStrictEqual(served.finishReasons, ["stop"])
      }
    }),
  )
}

it.effect("gemini: the message about a withheld answer becomes the refusal", () =>
  Effect.gen(function* () {
    const withheld = { finishReason: "RECITATION", finishMessage: "It repeats a book.", index: 0 }
    const { provider } = yield* canned("gemini", () => json({ candidates: [withheld] }))
    const { choices, usage } = yield* provider.complete(REQUEST)
    assert.deepStrictEqual(choices[0]?.message, {
      role: "assistant",
      content: null,
      refusal: "It repeats a book.",
    })
    assert.isNull(usage)
  }),
)
