/** Conversations through a sealed proxy over sockets, with providers that cache by exact bytes. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Redacted } from "effect"
import type { JsonObject } from "../../src/domain/json/json.ts"
import { anthropic } from "../../src/services/upstream/providers/anthropic/Anthropic.ts"
import { makeHttpProvider } from "../../src/services/upstream/providers/http/HttpProvider.ts"
import { openAi } from "../../src/services/upstream/providers/openai/OpenAi.ts"
import type { ProviderFormat } from "../../src/services/upstream/providers/shared/Descriptor.ts"
import { ProviderHttp } from "../../src/services/upstream/ProviderHttp.ts"
import { Upstream } from "../../src/services/upstream/Upstream.ts"
import { settingsWith } from "../services/upstream/ScriptedProvider.ts"
import { cachingProvider } from "../support/CachingProvider.ts"
import { startProxy } from "../support/proxy.ts"

const CONVERSATIONS = 12
const TURNS = 6
const SLOTS = ["provider1", "provider2"] as const

const once = settingsWith({ retry: { times: 0 }, circuit: { failures: 1_000 } })

/** A conversation in an API: the request of a turn, and the messages that an answer adds. */
interface Talk {
  readonly api: "chat.completions" | "messages" | "responses"
  readonly spoken: ProviderFormat
  readonly base: (url: string) => string
  readonly body: (items: ReadonlyArray<unknown>) => JsonObject
}

const TALKS: ReadonlyArray<Talk> = [
  {
    api: "chat.completions",
    spoken: openAi.format,
    base: (url) => `${url}/v1`,
    body: (messages) => ({ tools: [], messages, temperature: 0.5 }),
  },
  {
    api: "messages",
    spoken: anthropic.format,
    base: (url) => url,
    body: (messages) => ({ max_tokens: 9, system: "Be brief.", messages }),
  },
  {
    api: "responses",
    spoken: openAi.format,
    base: (url) => `${url}/v1`,
    body: (input) => ({ instructions: "Be brief.", input, store: false }),
  },
]

/** A proxy with two slots, and conversations split between their models. */
const conversing = Effect.fnUntraced(function* ({ api, base, body, spoken }: Talk, stream: boolean) {
  const fakes = [yield* cachingProvider, yield* cachingProvider] as const
  const [first, second] = fakes
  const http = yield* Layer.build(ProviderHttp.layer({ ...once.timeouts, traceHeaders: false }))
  const providers = yield* Effect.forEach(SLOTS, (id, i) =>
    makeHttpProvider(spoken, {
      id,
      apiKey: Redacted.make("k"),
      baseUrl: base(fakes[i]?.url ?? ""),
      defaultModel: `model-${i + 1}`,
    }),
  ).pipe(Effect.provideContext(http))
  const proxy = yield* startProxy({ upstream: Upstream.layer({ providers, settings: once }) })
  const client = proxy.client()
  const ask = async (model: string, items: ReadonlyArray<unknown>) => {
    // Unknown members, and spellings that a parser would not keep.
    const text = `{"x_unknown":{"b":1.0,"a":"\\u00e9"},${JSON.stringify({ ...body(items), model, stream }).slice(1)}`
    if (!stream) return (await client.request(api, text)).receipt
    const events = await client.requestStream(api, text)
    for await (const _ of events);
    return (await events.end).receipt
  }
  const conversations = Array.from({ length: CONVERSATIONS }, (_, i) => {
    const items: Array<unknown> = [{ role: "user", content: `"é\n" ${i}` }]
    const served: Array<string | null> = []
    const takeTurn = async () => {
      const { provider } = await ask(`model-${(i % 2) + 1}`, items)
      items.push({ role: "assistant", content: "ok" }, { role: "user", content: `And ${served.length}?` })
      served.push(provider)
    }
    return { home: SLOTS[i % 2] ?? "", served, takeTurn }
  })
  const takeTurns = (count: number) =>
    Effect.promise(() =>
      Promise.all(
        conversations.map(async ({ takeTurn }) => {
          for (let turn = 0; turn < count; turn++) await takeTurn()
        }),
      ),
    )
  const counted = () => ({
    found: first.counts.found + second.counts.found,
    missed: first.counts.missed + second.counts.missed,
  })
  return { first, conversations, takeTurns, counted }
})

describe.each(TALKS)("turns of concurrent conversations ($api)", (talk) => {
  it.live.each([false, true])("always hit the prompt cache (streamed: %s)", (streamed) =>
    Effect.gen(function* () {
      const { conversations, counted, takeTurns } = yield* conversing(talk, streamed)
      yield* takeTurns(TURNS)
      assert.deepStrictEqual(counted(), { found: CONVERSATIONS * (TURNS - 1), missed: 0 })
      for (const { home, served } of conversations) assert.deepStrictEqual(new Set(served), new Set([home]))
    }),
  )

  it.live.each([false, true])(
    "miss the cache once after a provider failure, which receipts show (streamed: %s)",
    (streamed) =>
      Effect.gen(function* () {
        const { conversations, counted, first, takeTurns } = yield* conversing(talk, streamed)
        yield* takeTurns(3)
        // Fails during the fourth turn, for some conversations, and recovers after it.
        first.failAfter(4)
        yield* takeTurns(1)
        first.failAfter(Infinity)
        yield* takeTurns(TURNS - 4)
        const moved = conversations.filter(({ home, served }) => served.at(-1) !== home)
        assert.lengthOf(moved, CONVERSATIONS / 2 - 4)
        for (const { home, served } of conversations) {
          const away = served.findIndex((provider) => provider !== home)
          const before = away === -1 ? TURNS : away
          assert.deepStrictEqual(new Set(served.slice(0, before)), new Set([home]))
          assert.notInclude(served.slice(before), home)
        }
        assert.deepStrictEqual(counted(), { found: CONVERSATIONS * (TURNS - 1) - moved.length, missed: moved.length })
      }),
  )
})
