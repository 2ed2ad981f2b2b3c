/** The sealed client: streams an answer and keeps the evidence that proves it. */
import { proveExchange, SealedClient } from "sealgate-client"

const proxy = process.env["SEALGATE_PROXY"] ?? "http://localhost:3001"
const pin = process.env["SEALGATE_PIN"] ?? ""

const client = new SealedClient({ baseUrl: proxy, pins: [pin] })

const stream = await client.stream({ messages: [{ role: "user", content: "Say hello to the reader." }] })
for await (const part of stream) {
  if (part.type === "restart") console.log("\n(the provider failed; another one starts over)")
  else process.stdout.write(part.chunk.choices[0]?.delta.content ?? "")
}
console.log()

const { evidence, proof, receipt } = await stream.end
console.log(`served by ${receipt.provider}/${receipt.model}, ${proof.count} frames`)

// Later and offline: proves this prompt and this answer.
const proven = await proveExchange(evidence, { pins: [pin], keys: client.keySet })
console.log(`proven: ${proven.responses.length} pieces of the answer to request ${proven.receipt.jti}`)
