/** A gateway before a fake of the vendors, for tests of the APIs that their SDKs speak. */
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import Anthropic from "@anthropic-ai/sdk"
import OpenAI from "openai"
import { FakeUpstream } from "./FakeUpstream.ts"
import type { TestDatabase } from "./databases.ts"
import { call, databaseUrl, startGateway, tokenFor } from "./gateway.ts"

type Members = Readonly<Record<string, unknown>>

/** 10 and 40 USD per million tokens. */
const PRICES = { input: 10_000_000, output: 40_000_000, cached_input: 10_000_000 }

/** The cost of a call in micro-USD at these prices. */
export const costOf = (input: number, output: number): number => input * 10 + output * 40

const target = (provider: string, model: string, members: Members = {}) => ({
  provider,
  model,
  max_context_tokens: 100_000,
  prices: PRICES,
  ...members,
})

/** Two models of Chat Completions, one of Messages, one without a price, one for embeddings; `fast` means the first two. */
export const ROUTING = {
  strategy: "fallback",
  baseline: { provider: "provider1", model: "model-1" },
  targets: [
    target("provider1", "model-1"),
    target("provider2", "model-2"),
    target("provider3", "claude-x"),
    { provider: "provider1", model: "unpriced", max_context_tokens: 100_000 },
    target("provider1", "embedder", { apis: ["embeddings"] }),
  ],
  names: { fast: { allow: ["model-1", "model-2"] } },
  retry: { max_retries: 0, base_delay_ms: 1, max_delay_ms: 1 },
  breaker: { failure_threshold: 100, open_ms: 1000 },
  timeouts: { first_token_ms: 5000, idle_ms: 5000, total_ms: 20_000 },
}

export const TENANT = "acme"

/** Starts both. */
export const startCalls = Effect.fnUntraced(function* (
  database: Pick<TestDatabase, "kind">,
  environment: Readonly<Record<string, string>> = {},
  /** Replaces members of the routing. */
  routing: Members = {},
) {
  const fake = yield* FakeUpstream.make()
  const stored = yield* databaseUrl(database)
  const gateway = yield* startGateway(
    stored,
    {
      PROVIDER1_API_KEY: "key-1",
      PROVIDER2_API_KEY: "key-2",
      PROVIDER2_BASE_URL: fake.openAi,
      PROVIDER2_MODEL: "model-2",
      PROVIDER3_API_KEY: "key-3",
      PROVIDER3_BASE_URL: fake.anthropic,
      PROVIDER3_MODEL: "claude-x",
      ...environment,
    },
    fake,
  )
  const boss = yield* tokenFor("boss", { tenant: TENANT, roles: ["admin"] })
  const routed = yield* call(gateway, "PUT", "/api/v1/routing/config", {
    token: boss,
    body: { ...ROUTING, ...routing },
  })
  assert.strictEqual(routed.status, 200, routed.text)

  /** Makes a key of the tenant. */
  const makeKey = Effect.fnUntraced(function* (members: Members = {}) {
    const made = yield* call(gateway, "POST", "/api/v1/keys", {
      token: boss,
      body: { name: "k", roles: ["run"], ...members },
    })
    assert.strictEqual(made.status, 201, made.text)
    return String(made.json["key"])
  })
  const stats = Effect.map(call(gateway, "GET", "/api/v1/routing/stats", { token: boss }), ({ json }) => json)
  return {
    fake,
    gateway,
    /** Its database: a file, or the URL of one. */
    stored,
    boss,
    makeKey,
    stats,
    openai: (apiKey: string) => new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey, maxRetries: 0 }),
    anthropic: (apiKey: string) => new Anthropic({ baseURL: gateway.url, apiKey, maxRetries: 0 }),
  }
})

export const ask = (content: string, model = "model-1") => ({
  model,
  messages: [{ role: "user" as const, content }],
})

/** Waits until a condition holds. */
export const until = (holds: Effect.Effect<boolean>): Effect.Effect<void> =>
  Effect.asVoid(Effect.repeat(Effect.delay(holds, "20 millis"), { until: (isSo) => isSo }))
