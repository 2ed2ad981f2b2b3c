/** The AI SDK over `createSealedFetch`, a proxy and a fake vendor, over real sockets. */
import { createOpenAICompatible } from "@ai-sdk/openai-compatible"
import { assert, describe, it } from "@effect/vitest"
import { APICallError, generateText, isStepCount, jsonSchema, Output, streamText, tool } from "ai"
import { Effect } from "effect"
import { AnswerIncomplete, PinMismatch, type SealedFetchOptions, Tampered } from "../../src/client/index.ts"
import { fault } from "../support/FakeUpstream.ts"
import { sealedSetup } from "../support/sealedSetup.ts"
import { changing, changingEvents, failureOf } from "../support/tamper.ts"

const CANARY = "canary-4711"

const setup = Effect.fnUntraced(function* (changes: Parameters<typeof sealedSetup>[0] = {}) {
  const sealed = yield* sealedSetup(changes)
  const model = (options: Partial<SealedFetchOptions> = {}) =>
    createOpenAICompatible({
      name: "sealed",
      baseURL: "https://sealed.invalid/v1",
      apiKey: `secret-${CANARY}`,
      fetch: sealed.fetch(options),
      supportsStructuredOutputs: true,
    })("model-1")
  return { ...sealed, model }
})

const city = jsonSchema<{ readonly city: string }>({
  type: "object",
  properties: { city: { type: "string" } },
  required: ["city"],
})

/** Reads a stream to its end and returns its text and what went wrong, whether it is a part of the stream or ends it. */
const read = async (result: ReturnType<typeof streamText>) => {
  const errors: Array<unknown> = []
  let text = ""
  const reading = (async () => {
    for await (const part of result.fullStream) {
      if (part.type === "text-delta") text += part.text
      if (part.type === "error") errors.push(part.error)
    }
  })()
  await reading.catch((error: unknown) => errors.push(error))
  return { text, errors }
}

/** The cause of the SDK's error. */
const causeOf = (error: unknown): unknown => (APICallError.isInstance(error) ? error.cause : error)

const quiet = { maxRetries: 0, onError: () => undefined }

describe("AI SDK", () => {
  it.live("generates text that is unreadable on the wire", () =>
    Effect.gen(function* () {
      const { fake, model, wire } = yield* setup()
      fake.always({ text: `answer ${CANARY}`, usage: { input: 5, output: 2 } })
      const result = yield* Effect.promise(() => generateText({ model: model(), prompt: `question ${CANARY}` }))
      assert.strictEqual(result.text, `answer ${CANARY}`)
      assert.strictEqual(result.finishReason, "stop")
      assert.strictEqual(result.usage.inputTokens, 5)
      assert.notInclude(wire.seen(), CANARY)
    }).pipe(Effect.scoped),
  )

  it.live.each(["streaming", "verified"] as const)("streams text with its usage (release: %s)", (release) =>
    Effect.gen(function* () {
      const { fake, model } = yield* setup()
      fake.always({ text: ["Hel", "lo"], usage: { input: 5, output: 2 } })
      const result = streamText({ model: model({ release }), prompt: "Hi", ...quiet })
      const { errors, text } = yield* Effect.promise(() => read(result))
      assert.deepStrictEqual([text, errors], ["Hello", []])
      assert.strictEqual(yield* Effect.promise(async () => result.finishReason), "stop")
    }).pipe(Effect.scoped),
  )

  it.live.each([true, false])("runs parallel tools and answers from their results (streamed: %s)", (streamed) =>
    Effect.gen(function* () {
      const { fake, model } = yield* setup()
      fake.script(
        {
          toolCalls: [
            { name: "weather", arguments: ['{"ci', 'ty":"Os', 'lo"}'] },
            { name: "time", arguments: { city: "Oslo" } },
          ],
        },
        { text: "22 °C at noon." },
      )
      const called: Array<string> = []
      const tools = {
        weather: tool({
          inputSchema: city,
          execute: async ({ city }) => {
            called.push(`weather ${city}`)
            return "22 °C"
          },
        }),
        time: tool({
          inputSchema: city,
          execute: async ({ city }) => {
            called.push(`time ${city}`)
            return "noon"
          },
        }),
      }
      const input = { model: model(), prompt: "Weather and time in Oslo?", tools, stopWhen: isStepCount(2) }
      const text = yield* Effect.promise(async () =>
        streamed ? (await read(streamText({ ...input, ...quiet }) as never)).text : (await generateText(input)).text,
      )
      assert.strictEqual(text, "22 °C at noon.")
      assert.sameMembers(called, ["weather Oslo", "time Oslo"])
      assert.strictEqual(fake.requests[1]?.asked?.turns.filter(({ role }) => role === "tool").length, 2)
    }).pipe(Effect.scoped),
  )

  it.live("gives structured output", () =>
    Effect.gen(function* () {
      const { fake, model } = yield* setup()
      fake.always({ text: '{"city":"Oslo"}' })
      const result = yield* Effect.promise(() =>
        generateText({ model: model(), prompt: "Which?", output: Output.object({ schema: city }) }),
      )
      assert.deepStrictEqual(result.output, { city: "Oslo" })
      assert.isDefined(fake.requests[0]?.asked?.json)
    }).pipe(Effect.scoped),
  )

  it.live("turns refusals into APICallError", () =>
    Effect.gen(function* () {
      const { fake, model } = yield* setup()
      const cases = [
        [fault.rateLimited({ retryAfter: 7 }), 429, true],
        [fault.invalidRequest(), 400, false],
        [fault.serverError(), 500, true],
      ] as const
      for (const [reply, status, retryable] of cases) {
        fake.script(reply)
        const error = yield* Effect.promise(() =>
          failureOf(generateText({ model: model(), prompt: "Hi", maxRetries: 0 })),
        )
        assert.isTrue(APICallError.isInstance(error))
        if (APICallError.isInstance(error))
          assert.deepStrictEqual([error.statusCode, error.isRetryable], [status, retryable])
      }
    }).pipe(Effect.scoped),
  )

  it.live("never accepts a tampered, cut or interrupted answer", () =>
    Effect.gen(function* () {
      const { fake, model } = yield* setup({ failover: true })
      const flip = changing((body) =>
        body.replace(/("frames":\[")(.)/, (_, start, first) => start + (first === "A" ? "B" : "A")),
      )
      const tampered = generateText({ model: model({ fetch: flip }), prompt: "Hi" })
      assert.instanceOf(yield* Effect.promise(() => failureOf(tampered)), Tampered)
      // It is no trouble of the network, so nothing was asked twice.
      assert.strictEqual(fake.requests.length, 1)

      const stranger = generateText({ model: model({ pins: ["A".repeat(43)] }), prompt: "Hi" })
      assert.instanceOf(yield* Effect.promise(() => failureOf(stranger)), PinMismatch)

      const cut = changingEvents((events) => events.filter(({ event }) => event !== "proof"))
      const truncated = streamText({ model: model({ fetch: cut }), prompt: "Hi", ...quiet })
      const { errors } = yield* Effect.promise(() => read(truncated))
      assert.strictEqual(errors.length, 1)
      assert.instanceOf(causeOf(errors[0]), Tampered)

      fake.when({ key: "key-1" }).script({ text: ["void ", "void"], delivery: { breaks: { after: 1, how: "cut" } } })
      const interrupted = yield* Effect.promise(() => read(streamText({ model: model(), prompt: "Hi", ...quiet })))
      assert.instanceOf(causeOf(interrupted.errors[0]), AnswerIncomplete)
    }).pipe(Effect.scoped),
  )

  it.live("ends the provider's call when it is aborted", () =>
    Effect.gen(function* () {
      const { fake, model } = yield* setup()
      fake.always({ text: ["one ", "two"], delivery: { breaks: { after: 1, how: "silence" } } })
      const controller = new AbortController()
      const result = streamText({ model: model(), prompt: "Hi", abortSignal: controller.signal, ...quiet })
      const ending = yield* Effect.promise(async () => {
        for await (const part of result.fullStream) if (part.type === "text-delta") controller.abort()
        return (await fake.received(1)).ended
      })
      assert.strictEqual(ending, "hung-up")
    }).pipe(Effect.scoped),
  )
})
