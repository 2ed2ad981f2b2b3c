/** The fake upstream works with Google's SDK. */
import { assert, describe, it } from "@effect/vitest"
import {
  ApiError,
  BlockedReason,
  FinishReason,
  FunctionCallingConfigMode,
  type GenerateContentResponse,
  GoogleGenAI,
} from "@google/genai"
import { type Fake, FakeUpstream, fault } from "../support/FakeUpstream.ts"

const client = (fake: Fake): GoogleGenAI => new GoogleGenAI({ apiKey: "g-test", httpOptions: { baseUrl: fake.gemini } })

const hello = { model: "gemini-test", contents: "Hello" }

const schema = { type: "object", properties: { city: { type: "string" } }, additionalProperties: false }
const tool = (name: string) => ({ functionDeclarations: [{ name, parametersJsonSchema: schema }] })

const thrown = async (call: Promise<unknown>): Promise<unknown> =>
  call.then(
    () => assert.fail("the call succeeded"),
    (error: unknown) => error,
  )

const collect = async (stream: Promise<AsyncGenerator<GenerateContentResponse>>) => {
  const chunks: Array<GenerateContentResponse> = []
  for await (const chunk of await stream) chunks.push(chunk)
  return chunks
}

/** Sends raw HTTP: the SDK corrects or refuses many requests that must be refused. */
const post = async (fake: Fake, body: object, headers: Record<string, string> = {}) => {
  const response = await fetch(`${fake.gemini}/v1beta/models/gemini-test:generateContent`, {
    method: "POST",
    headers: { "content-type": "application/json", "x-goog-api-key": "k", ...headers },
    body: JSON.stringify({ contents: [{ role: "user", parts: [{ text: "Hello" }] }], ...body }),
  })
  return `${response.status} ${await response.text()}`
}

describe("FakeUpstream as Gemini", () => {
  it("answers whole, with thinking excluded from candidatesTokenCount", async () => {
    await using fake = await FakeUpstream.start()
    fake.script({ text: "Good day", usage: { input: 20, cached: 12, output: 7, reasoning: 4 } })
    const response = await client(fake).models.generateContent(hello)
    assert.strictEqual(response.text, "Good day")
    assert.strictEqual(response.modelVersion, "gemini-test")
    assert.strictEqual(response.candidates?.[0]?.finishReason, FinishReason.STOP)
    const usage = response.usageMetadata
    assert.deepStrictEqual(
      [usage?.promptTokenCount, usage?.cachedContentTokenCount, usage?.candidatesTokenCount, usage?.thoughtsTokenCount],
      [20, 12, 3, 4],
    )
    assert.strictEqual(usage?.totalTokenCount, 27)
  })

  it("streams scripted chunks, with the finish in the last", async () => {
    await using fake = await FakeUpstream.start()
    fake.script({ text: ["Good", " ", "day"], thinking: "Hm.", usage: { input: 3, output: 2 } })
    const chunks = await collect(client(fake).models.generateContentStream(hello))
    assert.deepStrictEqual(
      chunks.map((chunk) => chunk.text).filter((text) => text !== undefined && text !== ""),
      ["Good", " ", "day"],
    )
    assert.deepStrictEqual(
      chunks.flatMap((chunk) => chunk.candidates?.[0]?.finishReason ?? []),
      [FinishReason.STOP],
    )
    assert.strictEqual(chunks.at(-1)?.candidates?.[0]?.finishReason, FinishReason.STOP)
    assert.strictEqual(chunks.at(-1)?.usageMetadata?.totalTokenCount, 5)
    assert.isTrue(chunks[0]?.candidates?.[0]?.content?.parts?.[0]?.thought)
  })

  it("calls several tools at once, each call whole", async () => {
    await using fake = await FakeUpstream.start()
    fake.always({
      toolCalls: [
        { id: "a", name: "weather", arguments: ['{"ci', 'ty":"Oslo"}'] },
        { id: "", name: "time", arguments: { city: "Lima" } },
      ],
    })
    const request = { ...hello, config: { tools: [tool("weather"), tool("time")] } }
    const expected = [
      { id: "a", name: "weather", args: { city: "Oslo" } },
      { name: "time", args: { city: "Lima" } },
    ]
    const whole = await client(fake).models.generateContent(request)
    assert.deepStrictEqual(whole.functionCalls, expected)
    assert.strictEqual(whole.candidates?.[0]?.finishReason, FinishReason.STOP)
    const chunks = await collect(client(fake).models.generateContentStream(request))
    assert.deepStrictEqual(
      chunks.flatMap((chunk) => chunk.functionCalls ?? []),
      expected,
    )
  })

  it("parses a whole conversation: system, images, calls, results, options", async () => {
    await using fake = await FakeUpstream.start()
    await client(fake).models.generateContent({
      model: "gemini-test",
      contents: [
        {
          role: "user",
          parts: [
            { text: "What is this?" },
            { inlineData: { mimeType: "image/png", data: "iVBORw0K" } },
            { fileData: { fileUri: "https://example.org/a.png", mimeType: "image/png" } },
          ],
        },
        { role: "model", parts: [{ functionCall: { id: "c1", name: "look", args: { city: "Oslo" } } }] },
        {
          role: "user",
          parts: [{ functionResponse: { id: "c1", name: "look", response: { output: "a cat" } } }, { text: "And?" }],
        },
      ],
      config: {
        systemInstruction: "Be brief.",
        tools: [tool("look")],
        toolConfig: {
          functionCallingConfig: { mode: FunctionCallingConfigMode.ANY, allowedFunctionNames: ["look"] },
        },
        maxOutputTokens: 50,
        temperature: 0.5,
        stopSequences: ["END"],
        responseMimeType: "application/json",
        responseJsonSchema: { type: "object" },
      },
    })
    const asked = fake.requests[0]?.asked
    assert.strictEqual(fake.requests[0]?.refused, undefined)
    assert.strictEqual(asked?.key, "g-test")
    assert.strictEqual(asked?.model, "gemini-test")
    assert.strictEqual(asked?.system, "Be brief.")
    assert.deepStrictEqual(asked?.turns, [
      { role: "user", text: "What is this?" },
      { role: "assistant", text: "" },
      { role: "tool", text: "a cat" },
      { role: "user", text: "And?" },
    ])
    assert.deepStrictEqual(
      asked?.tools.map(({ name }) => name),
      ["look"],
    )
    assert.deepStrictEqual(asked?.stop, ["END"])
    assert.deepStrictEqual(asked?.json, { type: "object" })
  })

  it("ends for every reason", async () => {
    await using fake = await FakeUpstream.start()
    fake.script(
      { text: "cut", finish: "length" },
      { text: "one STOP two" },
      { finish: "content_filter" },
      { refusal: "No." },
      { toolCalls: [{ name: "look", arguments: ['{"city":'] }] },
    )
    const create = async (config = {}) =>
      (await client(fake).models.generateContent({ ...hello, config })).candidates?.[0]
    assert.strictEqual((await create())?.finishReason, FinishReason.MAX_TOKENS)
    const stopped = await create({ stopSequences: ["STOP"] })
    assert.deepStrictEqual([stopped?.finishReason, stopped?.content?.parts], [FinishReason.STOP, [{ text: "one " }]])
    const filtered = await create()
    assert.deepStrictEqual([filtered?.finishReason, filtered?.content], [FinishReason.SAFETY, undefined])
    // The SDK omits the model's text.
    assert.match(await post(fake, {}), /"finishReason":"SAFETY","finishMessage":"No\."/)
    assert.strictEqual((await create())?.finishReason, FinishReason.MALFORMED_FUNCTION_CALL)
  })

  it("blocks a prompt without a candidate, whole and streamed", async () => {
    await using fake = await FakeUpstream.start()
    fake.always(fault.contentFiltered())
    const whole = await client(fake).models.generateContent(hello)
    assert.strictEqual(whole.promptFeedback?.blockReason, "PROHIBITED_CONTENT")
    assert.isUndefined(whole.candidates)
    const chunks = await collect(client(fake).models.generateContentStream(hello))
    assert.deepStrictEqual(
      chunks.map((chunk) => chunk.promptFeedback?.blockReason),
      [BlockedReason.PROHIBITED_CONTENT],
    )
  })

  it.each([
    ["rateLimited", 429, "RESOURCE_EXHAUSTED"],
    ["overloaded", 503, "UNAVAILABLE"],
    ["serverError", 500, "INTERNAL"],
    ["unauthorized", 400, "API_KEY_INVALID"],
    ["forbidden", 403, "PERMISSION_DENIED"],
    ["contextTooLong", 400, "INVALID_ARGUMENT"],
    ["invalidRequest", 400, "INVALID_ARGUMENT"],
  ] as const)("%s is the SDK's ApiError", async (name, status, says) => {
    await using fake = await FakeUpstream.start()
    fake.script(fault[name]({ message: "as scripted", retryAfter: 7 }))
    const error = await thrown(client(fake).models.generateContentStream(hello))
    assert.instanceOf(error, ApiError)
    assert.strictEqual(error.status, status)
    assert.include(error.message, says)
    assert.include(error.message, "as scripted")
    assert.include(error.message, '"retryDelay":"7s"')
  })

  it("reports an error within a stream", async () => {
    await using fake = await FakeUpstream.start()
    fake.script({ text: "one two", delivery: { breaks: { after: 1, how: "error" } } })
    const error = await thrown(collect(client(fake).models.generateContentStream(hello)))
    assert.instanceOf(error, ApiError)
    assert.strictEqual(error.status, 503)
  })

  it("requires its thought signatures back", async () => {
    await using fake = await FakeUpstream.start()
    fake.script({ toolCalls: [{ id: "c9", name: "look", arguments: {}, signature: "c2ln" }] })
    const first = await client(fake).models.generateContent(hello)
    const part = first.candidates?.[0]?.content?.parts?.[0]
    assert.strictEqual(part?.thoughtSignature, "c2ln")
    const turn = (thoughtSignature: object) => ({
      contents: [
        { role: "user", parts: [{ text: "Hello" }] },
        { role: "model", parts: [{ functionCall: { id: "c9", name: "look", args: {} }, ...thoughtSignature }] },
        { role: "user", parts: [{ functionResponse: { id: "c9", name: "look", response: { output: "x" } } }] },
      ],
    })
    assert.match(await post(fake, turn({})), /^400 .*thought_signature/)
    assert.match(await post(fake, turn({ thoughtSignature: "c2ln" })), /^200/)
  })

  it("refuses requests that Gemini refuses", async () => {
    await using fake = await FakeUpstream.start({ keys: ["k"] })
    const user = { role: "user", parts: [{ text: "Hello" }] }
    const call = { role: "model", parts: [{ functionCall: { name: "look", args: {} } }] }
    const answer = (name: string) => ({ role: "user", parts: [{ functionResponse: { name, response: {} } }] })
    const declare = (parameters: object) => ({ tools: [{ functionDeclarations: [{ name: "look", parameters }] }] })
    assert.match(await post(fake, {}, { "x-goog-api-key": "" }), /^403 .*unregistered callers/)
    assert.match(await post(fake, {}, { "x-goog-api-key": "other" }), /^400 .*API_KEY_INVALID/)
    assert.match(await post(fake, { contents: [] }), /^400 .*contents/)
    assert.match(await post(fake, { messages: [] }), /^400 .*messages/)
    assert.match(await post(fake, { contents: [{ role: "assistant", parts: [{ text: "x" }] }] }), /^400 .*role/)
    assert.match(await post(fake, { contents: [{ role: "user", parts: [] }] }), /^400 .*parts/)
    assert.match(await post(fake, { contents: [user, call, user] }), /^400 .*number of function response parts/)
    assert.match(await post(fake, { contents: [user, call] }), /^400 .*followed by a function response/)
    assert.match(await post(fake, { contents: [user, answer("look")] }), /^400 .*after a function call turn/)
    assert.match(await post(fake, { contents: [user, call, answer("other")] }), /^400 .*answers no function call/)
    assert.match(await post(fake, { contents: [call, answer("look")] }), /^400 .*function call turn comes/)
    assert.match(await post(fake, declare({ type: "object", additionalProperties: false })), /^400 .*additionalProp/)
    assert.match(await post(fake, { generationConfig: { max_tokens: 3 } }), /^400 .*max_tokens/)
    assert.match(await post(fake, { generationConfig: { responseSchema: { type: "OBJECT" } } }), /^400 .*mime/)
    assert.match(
      await post(fake, { toolConfig: { functionCallingConfig: { mode: "ANY" } } }),
      /^400 .*without function_declarations/,
    )
    assert.isTrue(fake.requests.every((request) => request.refused !== undefined))
    assert.match(await post(fake, { contents: [user, call, answer("look")], ...declare({ type: "OBJECT" }) }), /^200/)
  })
})
