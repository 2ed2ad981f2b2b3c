/** The operator's file of providers: what it may say, what it serves, and how it is reloaded. */
import { chmodSync, mkdtempSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { ConfigProvider, Effect, type Scope } from "effect"
import { GatewayClient, GatewayProblem } from "../../src/client/gateway.ts"
import { layerUpstream } from "../../src/layers/Providers.ts"
import { SealedProxy } from "../../src/layers/Proxy.ts"
import { ProvidersFileStatus } from "../../src/services/upstream/ProvidersFileStatus.ts"
import { Upstream } from "../../src/services/upstream/Upstream.ts"
import { FakeUpstream } from "../support/FakeUpstream.ts"
import { call, callOperator, databaseUrl, startGateway, tokenFor } from "../support/gateway.ts"
import { passUntil } from "../support/passUntil.ts"

const PRICES = { input: 1_000_000, output: 2_000_000, cached_input: 1_000_000 }
const KEY = "sk-of-the-file-0123456789"

const folder = () => mkdtempSync(join(tmpdir(), "sealgate-providers-"))

/** Writes a file that only its owner may read. */
const write = (file: string, content: unknown): string => {
  writeFileSync(file, typeof content === "string" ? content : JSON.stringify(content))
  chmodSync(file, 0o600)
  return file
}

const entry = (base_url: string, more: Readonly<Record<string, unknown>> = {}) => ({
  name: "groq",
  format: "openai",
  base_url,
  key_env: "GROQ_KEY",
  models: [{ name: "llama", prices: PRICES }, { name: "gpt-6-sol" }],
  ...more,
})

const start = Effect.fnUntraced(function* (file: string) {
  const url = yield* databaseUrl({ kind: "sqlite" })
  const gateway = yield* startGateway(url, { PROVIDERS_FILE: file, GROQ_KEY: KEY }, "configured")
  const token = yield* tokenFor("boss", { tenant: "acme", roles: ["admin"] })
  const boss = new GatewayClient({ baseUrl: gateway.url, token })
  const ask = (model: string, as = token) =>
    call(gateway, "POST", "/v1/chat/completions", {
      token: as,
      body: { model, messages: [{ role: "user", content: "x" }] },
    })
  return { gateway, boss, token, ask }
})

describe("PROVIDERS_FILE", () => {
  const test = <E>(name: string, body: Effect.Effect<void, E, Scope.Scope>) => it.live(name, () => body)

  test(
    "serves its models with its key, headers and prices",
    Effect.gen(function* () {
      const fake = yield* FakeUpstream.make()
      fake.always({ text: "443", usage: { input: 1000, output: 100 } })
      const headers = { "x-team": "blue" }
      const file = write(join(folder(), "p.json"), { providers: [entry(fake.openAi, { headers, region: "eu" })] })
      const { ask, boss, gateway } = yield* start(file)
      assert.strictEqual((yield* ask("llama")).status, 200)
      assert.strictEqual((yield* ask("groq/gpt-6-sol")).status, 200)
      const [asked] = fake.requests
      assert.deepInclude(asked?.headers, { authorization: `Bearer ${KEY}`, "x-team": "blue" })

      const { items } = yield* Effect.promise(() => boss.routing.spend("model"))
      assert.deepStrictEqual(
        items.map(({ cost_micro_usd, unpriced_calls, value }) => [value, cost_micro_usd, unpriced_calls]),
        [
          ["groq/llama", 1200, 0],
          // A list price is the vendor's, and does not apply to another server of the model.
          ["groq/gpt-6-sol", 0, 1],
        ],
      )
      const config = yield* Effect.promise(() => boss.routing.config())
      assert.deepStrictEqual(
        config.effective_prices?.map(({ model, prices, source }) => [model, prices, source]),
        [
          ["llama", PRICES, "PROVIDERS_FILE"],
          ["gpt-6-sol", null, undefined],
        ],
      )
      // A budget of money needs a price.
      const budgets = [{ per: "day", max_cost_micro_usd: 1_000_000 }] as const
      const { key } = yield* Effect.promise(() =>
        boss.keys.create({ name: "k", roles: ["run"], budgets: [...budgets] }),
      )
      assert.strictEqual((yield* ask("llama", key)).status, 200)
      assert.strictEqual((yield* ask("gpt-6-sol", key)).status, 422)
      // The routing may name it, and no other.
      const elsewhere = { ...config, baseline: { provider: "grok", model: "llama" } }
      const refusal = yield* Effect.promise(() =>
        boss.routing.replaceConfig(elsewhere).catch((error: unknown) => error),
      )
      assert(refusal instanceof GatewayProblem)
      assert.strictEqual(refusal.problem.errors?.[0]?.path, "baseline.provider")
      const stored = yield* Effect.promise(() =>
        boss.routing.replaceConfig({ ...config, baseline: { provider: "groq", model: "llama" } }),
      )
      assert.strictEqual(stored.version, 1)
      const [health] = yield* Effect.promise(() => boss.routing.providers())
      assert.deepInclude(health, { provider: "groq", region: "eu" })
      const ready = yield* callOperator(gateway, "/ready")
      assert.deepStrictEqual(ready.json["providers_file"], { providers: 1, last_reload_error: null })
      for (const text of [ready.text, JSON.stringify(config), JSON.stringify(health)]) assert.notInclude(text, KEY)
    }),
  )

  test(
    "names a server of Mistral's format, which gets only ids of tool calls that it takes",
    Effect.gen(function* () {
      const fake = yield* FakeUpstream.make()
      fake.always({ text: "443" })
      const file = write(join(folder(), "p.json"), { providers: [entry(fake.openAi, { format: "mistral" })] })
      const { gateway, token } = yield* start(file)
      const messages = [
        {
          role: "assistant",
          tool_calls: [{ id: "call_1", type: "function", function: { name: "f", arguments: "{}" } }],
        },
        { role: "tool", tool_call_id: "call_1", content: "3" },
      ]
      const body = { model: "llama", messages }
      assert.strictEqual((yield* call(gateway, "POST", "/v1/chat/completions", { token, body })).status, 200)
      const sent = JSON.stringify(fake.requests[0]?.body)
      assert.match(sent, /"tool_calls":\[\{"id":"([a-zA-Z0-9]{9})",.*"tool_call_id":"\1"/)
    }),
  )

  it.effect("is reloaded with its keys, and a wrong one changes nothing", () =>
    Effect.gen(function* () {
      const fakes = [yield* FakeUpstream.make(), yield* FakeUpstream.make()] as const
      fakes.forEach((fake) => fake.always({ text: "443", usage: { input: 10, output: 1 } }))
      const place = folder()
      const keyFile = write(join(place, "key"), `${KEY}\n`)
      const keyed = { key_env: undefined, key_file: keyFile }
      const file = write(join(place, "p.json"), { providers: [entry(fakes[0].openAi, keyed)] })
      const settings = yield* Effect.provideService(
        SealedProxy.settings(),
        ConfigProvider.ConfigProvider,
        ConfigProvider.fromEnv({
          env: { PROVIDERS_FILE: file, PROVIDER3_API_KEY: "k", PROVIDER3_BASE_URL: "http://127.0.0.1:9" },
        }),
      )
      yield* Effect.gen(function* () {
        const upstream = yield* Upstream
        const fileStatus = yield* ProvidersFileStatus
        const ask = (provider: string | undefined, model = "llama") => {
          const completion = { model, messages: [{ role: "user" as const, content: "x" }] }
          return Effect.match(upstream.complete({ provider, completion }), {
            onSuccess: ({ served }) => served.provider,
            onFailure: ({ code }) => code,
          })
        }
        const served = fakes.map((fake) => () => fake.requests.length)
        const problem = Effect.map(fileStatus, (status) => status?.last_reload_error ?? null)
        assert.strictEqual(yield* ask("groq"), "groq")
        // A model that only the file's provider offers leads there, past the first provider.
        assert.strictEqual(yield* ask(undefined), "groq")

        write(file, { providers: [entry(fakes[1].openAi, { ...keyed, modles: [] })] })
        yield* passUntil(Effect.map(problem, (text) => text?.includes("modles") === true))
        assert.strictEqual(yield* ask("groq"), "groq")
        assert.deepStrictEqual(
          served.map((count) => count()),
          [3, 0],
        )

        write(file, { providers: [entry(fakes[1].openAi, keyed)] })
        const reached = (fake: (typeof fakes)[number], key: string) =>
          Effect.map(ask("groq"), () => fake.requests.at(-1)?.headers["authorization"] === `Bearer ${key}`)
        yield* passUntil(reached(fakes[1], KEY))
        yield* passUntil(Effect.map(problem, (text) => text === null))

        write(keyFile, "another-key")
        yield* passUntil(reached(fakes[1], "another-key"))

        write(file, { providers: [entry(fakes[1].openAi, { ...keyed, name: "other" })] })
        yield* passUntil(Effect.map(ask("other"), (said) => said === "other"))
        assert.strictEqual(yield* ask("groq"), "provider-not-configured")

        write(file, { providers: [] })
        yield* passUntil(Effect.map(problem, (text) => text?.includes("name at least one provider") === true))
        assert.strictEqual(yield* ask("other"), "other")
      }).pipe(Effect.provide(layerUpstream(settings)))
    }),
  )

  test(
    "keeps the gateway from starting if it cannot be used, and says why without its secrets",
    Effect.gen(function* () {
      const url = "https://models.example.com/v1"
      const place = folder()
      const secret = write(join(place, "key"), KEY)
      chmodSync(secret, 0o644)
      const cases: ReadonlyArray<readonly [content: unknown, says: string]> = [
        ["{", "JSON"],
        [{ providers: [] }, "name at least one provider"],
        [{ providers: [entry(url, { name: "provider1" })] }, "are reserved"],
        [{ providers: [entry(url, { name: "Groq" })] }, "letters a-z"],
        [{ providers: [entry(url), entry(url)] }, "the same name"],
        [{ providers: [entry(url, { models: [] })] }, "models"],
        [{ providers: [entry(url, { key_env: "NO_SUCH_KEY" })] }, "NO_SUCH_KEY is not set"],
        [{ providers: [entry(url, { key_env: undefined })] }, "key_env"],
        [{ providers: [entry(url, { key_file: secret })] }, "exactly one of key_env, key_file and tenant_keys"],
        [{ providers: [entry(url, { key_env: undefined, key_file: secret })] }, "chmod 600"],
        [{ providers: [entry("https://user:pass@models.example.com")] }, "without user"],
        [{ providers: [entry("file:///etc/passwd")] }, "http or https"],
        [{ providers: [entry(url, { headers: { authorization: "Bearer x" } })] }, "such as authorization"],
        [{ providers: [entry(url, { headers: { "x-a": "b\r\nc: d" } })] }, "visible ASCII"],
      ]
      for (const [content, says] of cases) {
        const file = write(join(place, "p.json"), content)
        const failure = yield* Effect.flip(Effect.scoped(start(file)))
        const message = failure instanceof Error ? failure.message : String(failure)
        assert.include(message, says, JSON.stringify(content))
        assert.include(message, "PROVIDERS_FILE")
        assert.notInclude(message, KEY)
        assert.notInclude(message, "user:pass")
      }
      const file = write(join(place, "p.json"), { providers: [entry(url)] })
      chmodSync(file, 0o666)
      const failure = yield* Effect.flip(Effect.scoped(start(file)))
      assert.include(String(failure), "chmod go-w")
    }),
  )
})
