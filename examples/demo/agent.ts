/** A program that speaks only Anthropic's API, as coding agents do, sealed by a local connector. */
import Anthropic from "@anthropic-ai/sdk"
import { FakeUpstream } from "../../test/support/FakeUpstream.ts"
import { startConnector, startProxy } from "./serverProcess.ts"
import { chapter, fact, good } from "./story.ts"

const PREFIX = "You write code. Here is all of the project, which is the same at each turn: …"

export const demoAgent = async (): Promise<void> => {
  await using upstream = await FakeUpstream.start()
  upstream.always({ text: "The bug is in line 7.", usage: { input: 900, cached: 800, output: 7 } })

  chapter("Let a coding agent speak through a connector")
  const proxy = await startProxy({ PROVIDER3_API_KEY: "operators-key", PROVIDER3_BASE_URL: upstream.anthropic })
  const connector = await startConnector(proxy)
  try {
    fact("it is told", `ANTHROPIC_BASE_URL=${connector.url}`)
    const agent = new Anthropic({ baseURL: connector.url, apiKey: "the agent's own", maxRetries: 0 })
    const { content, usage } = await agent.messages.create({
      model: "claude-sonnet-5",
      max_tokens: 1000,
      system: [{ type: "text", text: PREFIX, cache_control: { type: "ephemeral" } }],
      messages: [{ role: "user", content: "Where is the bug?" }],
    })
    fact("answer", content.map((block) => (block.type === "text" ? block.text : block.type)).join(""))
    fact("from the cache", `${usage.cache_read_input_tokens} tokens`)
    const [seen] = upstream.requests
    if (JSON.stringify(seen?.headers).includes("the agent's own")) throw new Error("the agent's key got out")
    if (!JSON.stringify(seen?.body).includes('"cache_control":{"type":"ephemeral"}'))
      throw new Error("no cache_control")
    good("the provider got the body as it was sent, with the operator's key in place of the agent's")
  } finally {
    await connector.stop()
    await proxy.stop()
  }
}
