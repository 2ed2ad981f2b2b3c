/** The OpenAI SDK, sealed: only `fetch` is new. */
import OpenAI, { NotFoundError } from "openai"
import { createSealedFetch } from "sealgate-client"

const fetch = createSealedFetch({
  baseUrl: process.env["SEALGATE_PROXY"] ?? "http://localhost:3001",
  pins: [process.env["SEALGATE_PIN"] ?? ""],
})

// Neither host nor key is used.
const openai = new OpenAI({ fetch, baseURL: "https://sealed.invalid/v1", apiKey: "unused" })
const model = (await openai.models.list()).data[0]?.id ?? ""

const answer = await openai.chat.completions.create({ model, messages: [{ role: "user", content: "Hello" }] })
console.log(answer.choices[0]?.message.content)

const stream = openai.chat.completions.stream({ model, messages: [{ role: "user", content: "Hello, in pieces" }] })
stream.on("content", (piece) => process.stdout.write(piece))
await stream.finalChatCompletion()
console.log()

// Requests that cannot be sealed are not sent.
try {
  await openai.moderations.create({ input: "secret" })
  process.exitCode = 1
} catch (error) {
  if (!(error instanceof NotFoundError)) throw error
  console.log(`refused: ${error.message}`)
}
