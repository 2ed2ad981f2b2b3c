/** Conversations with tools, sealed from end to end, through each provider's wire format over real sockets. */
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { ConfigProvider, Effect } from "effect"
import { SealedProxy } from "../../src/layers/Proxy.ts"
import { type ChatInput, type Message, SealedClient } from "../../src/client/index.ts"
import { type Fake, FakeUpstream } from "../support/FakeUpstream.ts"
import { startProxy, temporaryFolder } from "../support/proxy.ts"

const SLOTS = [
  { slot: 1, wire: "openAi" },
  { slot: 2, wire: "openAi" },
  { slot: 3, wire: "anthropic" },
  { slot: 4, wire: "gemini" },
] as const

/** A client of a proxy as its environment configures it. */
const proxied = Effect.fnUntraced(function* (env: Readonly<Record<string, string>>) {
  const file = join(yield* temporaryFolder, "key.pem")
  const all = { PORT: "0", HOST: "127.0.0.1", ATTESTATION_KEY_FILE: file, ...env }
  const settings = yield* SealedProxy.settings().pipe(
    Effect.provideService(ConfigProvider.ConfigProvider, ConfigProvider.fromEnv({ env: all })),
  )
  const { kid, url } = yield* startProxy({ settings })
  return new SealedClient({ baseUrl: url, pins: [kid] })
})

const tools: ChatInput["tools"] = ["weather", "time"].map((name) => ({
  type: "function",
  function: {
    name,
    description: `The ${name} in a city`,
    parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
  },
}))

const question: ReadonlyArray<Message> = [
  { role: "system", content: "Be brief." },
  { role: "user", content: "Weather and time in Oslo?" },
]

/** Two parallel calls, then an answer that needs both results. */
const scriptTurns = (fake: Fake) =>
  fake.script(
    {
      toolCalls: [
        { name: "weather", arguments: ['{"ci', 'ty":"Os', 'lo"}'] },
        { name: "time", arguments: { city: "Oslo" } },
      ],
      usage: { input: 30, cached: 10, output: 12 },
    },
    { text: ["It is ", "22 °C ", "at noon."], usage: { input: 60, cached: 30, output: 8 } },
  )

describe.each(SLOTS)("provider$slot ($wire)", ({ slot, wire }) => {
  const environment = (fake: Fake) => ({
    [`PROVIDER${slot}_API_KEY`]: "x",
    [`PROVIDER${slot}_BASE_URL`]: fake[wire],
    [`PROVIDER${slot}_MODEL`]: "model-1",
  })

  const converse = Effect.fnUntraced(function* (streamed: boolean) {
    const fake = yield* FakeUpstream.make()
    scriptTurns(fake)
    const client = yield* proxied(environment(fake))
    const ask = (messages: ReadonlyArray<Message>) =>
      Effect.promise(async () => {
        if (!streamed) return client.complete({ messages, tools })
        const stream = await client.stream({ messages, tools })
        await stream.text()
        return stream.end
      })

    const first = yield* ask(question)
    const choice = first.completion.choices[0]
    const calls = choice?.message.tool_calls ?? []
    const second = yield* ask([
      ...question,
      { role: "assistant", content: null, tool_calls: calls },
      ...calls.map((call, i) => ({
        role: "tool" as const,
        tool_call_id: call.id,
        content: ["22 °C", "noon"][i] ?? "",
      })),
    ])
    return { fake, first, second, choice, calls }
  })

  it.live.each([false, true])("carries a tool conversation of several turns (streamed: %s)", (streamed) =>
    Effect.gen(function* () {
      const { calls, choice, fake, first, second } = yield* converse(streamed)

      assert.strictEqual(choice?.finish_reason, "tool_calls")
      assert.deepStrictEqual(
        calls.map(({ function: { arguments: args, name } }) => ({ name, args: JSON.parse(args) })),
        [
          { name: "weather", args: { city: "Oslo" } },
          { name: "time", args: { city: "Oslo" } },
        ],
      )
      assert.strictEqual(second.completion.choices[0]?.finish_reason, "stop")
      assert.strictEqual(second.completion.choices[0]?.message.content, "It is 22 °C at noon.")
      assert.strictEqual(second.receipt.provider, `provider${slot}`)
      assert.strictEqual(second.receipt.model, "model-1")
      assert.deepStrictEqual(second.receipt.finish_reasons, ["stop"])
      assert.strictEqual(first.receipt.usage?.["prompt_tokens"], 30)
      assert.strictEqual(first.receipt.usage?.["completion_tokens"], 12)
      assert.strictEqual(first.completion.usage?.prompt_tokens_details?.cached_tokens, 10)

      const asked = fake.requests[1]?.asked
      assert.strictEqual(fake.requests.length, 2)
      assert.deepStrictEqual(
        fake.requests.map(({ refused }) => refused),
        [undefined, undefined],
      )
      assert.strictEqual(asked?.system, "Be brief.")
      assert.deepStrictEqual(
        asked?.tools.map(({ name }) => name),
        ["weather", "time"],
      )
    }),
  )
})
