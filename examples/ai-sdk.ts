/** The AI SDK, sealed, with a tool. */
import { createOpenAICompatible } from "@ai-sdk/openai-compatible"
import { generateText, isStepCount, jsonSchema, streamText, tool } from "ai"
import { createSealedFetch } from "sealgate-client"

const sealed = createOpenAICompatible({
  name: "sealed",
  baseURL: "https://sealed.invalid/v1",
  fetch: createSealedFetch({
    baseUrl: process.env["SEALGATE_PROXY"] ?? "http://localhost:3001",
    pins: [process.env["SEALGATE_PIN"] ?? ""],
    // Tools act on the model's words, so nothing is returned before everything is verified.
    release: "verified",
  }),
})
const model = sealed(process.env["SEALGATE_MODEL"] ?? "echo-1")

const { text, toolResults } = await generateText({
  model,
  prompt: 'Please call get_weather with {"city":"Lisbon"}.',
  stopWhen: isStepCount(1),
  tools: {
    get_weather: tool({
      description: "The weather in a city",
      inputSchema: jsonSchema<{ readonly city: string }>({
        type: "object",
        properties: { city: { type: "string" } },
        required: ["city"],
      }),
      execute: async ({ city }) => `22 °C and sunny in ${city}`,
    }),
  },
})
console.log(text === "" ? `tool: ${String(toolResults[0]?.output)}` : text)

const stream = streamText({ model, prompt: "Hello, in one verified piece" })
for await (const piece of stream.textStream) process.stdout.write(piece)
console.log()
