/**
 * `npm run demo`: the sealed proxy with a chat, a stream, proofs and an attacker on the path; a coding agent's call through a
 * connector; and the agent gateway with one task in each mode, the last of them with a tool.
 */
import { type ChatInput, type Fetch, proveExchange, SealedClient, verifyReceipt } from "sealgate-client"
import { cuttingFetch, flippingFetch, recordingFetch } from "./demo/attacker.ts"
import { demoAgent } from "./demo/agent.ts"
import { demoGateway } from "./demo/gateway.ts"
import { startProxy } from "./demo/serverProcess.ts"
import { endQuietly } from "./demo/quietEnd.ts"
import { caught, chapter, fact, failureOf, good, line, title } from "./demo/story.ts"

endQuietly()

const weather: ChatInput = {
  messages: [
    { role: "system", content: "You are a helpful assistant." },
    { role: "user", content: 'Please call get_weather with {"city":"Lisbon"}.' },
  ],
  tools: [
    {
      type: "function",
      function: {
        name: "get_weather",
        description: "The weather in a city",
        parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
      },
    },
  ],
}

title("sealgate: prompts only your proxy can read, answers only it can have given")

chapter("Start a proxy")
const proxy = await startProxy()
fact("listens on", proxy.url)
fact("identity", proxy.kid)
line("There is no provider key, so the built-in echo answers: it says back what it was sent.")

try {
  const client = new SealedClient({ baseUrl: proxy.url, pins: [proxy.kid] })
  const keys = await (await fetch(`${proxy.url}/v1/keys`)).json()
  const trust = { pins: [proxy.kid], keys }

  chapter("Complete a chat with tools")
  const asked = await client.complete(weather)
  const call = asked.completion.choices[0]?.message.tool_calls?.[0]
  fact("tool call", `${call?.function.name}(${call?.function.arguments})`)
  const answered = await client.complete({
    ...weather,
    messages: [
      ...weather.messages,
      { role: "assistant", content: null, tool_calls: call === undefined ? [] : [call] },
      { role: "tool", tool_call_id: call?.id ?? "", content: "22 °C and sunny in Lisbon" },
    ],
  })
  fact("answer", String(answered.completion.choices[0]?.message.content))
  good(`receipt verified: ${answered.receipt.provider}/${answered.receipt.model} served it`)

  chapter("Stream an answer")
  process.stdout.write("   ")
  const stream = await client.stream({ prompt: "Every chunk is sealed in its own envelope." })
  for await (const part of stream) {
    if (part.type === "delta") process.stdout.write(part.chunk.choices[0]?.delta.content ?? "")
  }
  console.log()
  const end = await stream.end
  good(`terminal proof verified: ${end.proof.count} frames under the root ${end.proof.root.slice(0, 16)}…`)

  chapter("Prove it later, offline")
  const receipt = await verifyReceipt(end.statements.receipt, trust)
  good(`the receipt alone says: ${receipt.count} data frames, ${String(receipt.usage?.["total_tokens"])} tokens`)
  const proven = await proveExchange(end.evidence, trust)
  good(`revealed, it proves this prompt: ${JSON.stringify(proven.request["body"])}`)

  chapter("Somebody on the path")
  const through = (fetch: Fetch) => new SealedClient({ baseUrl: proxy.url, pins: [proxy.kid], fetch })
  caught("one flipped byte", await failureOf(through(flippingFetch).complete({ prompt: "Hello" })))
  const cut = await through(cuttingFetch(3)).stream({ prompt: "one two three four five six" })
  caught("a stream cut short", await failureOf(cut.text()))
  const { record, replay } = recordingFetch()
  await through(record).complete({ prompt: "Pay Bob 10" })
  const again = (await (await replay()).json()) as { readonly code: string; readonly title: string }
  good(`a replayed request is refused as ${again.code}: ${again.title}`)
  const stranger = new SealedClient({ baseUrl: proxy.url, pins: ["A".repeat(43)] })
  caught("another identity than the pinned one", await failureOf(stranger.complete({ prompt: "Hello" })))
  const careless = new SealedClient({ baseUrl: proxy.url })
  caught("a client without pins", await failureOf(careless.complete({ prompt: "Hello" })))
} finally {
  chapter("Stop the proxy")
  const code = await proxy.stop()
  good(`it zeroized its keys and stopped with exit code ${code}`)
  if (code !== 0) process.exitCode = 1
}

await demoAgent()
await demoGateway()
console.log()
