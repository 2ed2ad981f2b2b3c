/** The sealed proxy of a gateway: the same protocol, with the gateway's keys, budgets and ledger. */
import { randomBytes } from "node:crypto"
import { join } from "node:path"
import { assert, it } from "@effect/vitest"
import { Duration, Effect } from "effect"
import { SealedClient } from "../../src/client/sealed/SealedClient.ts"
import { SealedProblem } from "../../src/client/errors.ts"
import { CHECKS } from "../../src/conformance/proxy/checks/all.ts"
import { runChecks } from "../../src/conformance/proxy/runChecks.ts"
import { costOf, startCalls } from "../support/calls.ts"
import { describeDatabases, sqlite } from "../support/databases.ts"
import { fault } from "../support/FakeUpstream.ts"
import { freePort } from "../support/freePort.ts"
import { call, tokenFor } from "../support/gateway.ts"
import { startNative } from "../support/nativeUpstream.ts"
import { collected, failing } from "../support/promises.ts"
import { temporaryFolder } from "../support/proxy.ts"

/** A gateway with a sealed port. */
const startSealed = Effect.fnUntraced(function* (
  database: Parameters<typeof startCalls>[0],
  environment: Readonly<Record<string, string>> = {},
) {
  const port = yield* Effect.promise(freePort)
  const calls = yield* startCalls(database, {
    SEALED_PORT: String(port),
    ATTESTATION_KEY_FILE: join(yield* temporaryFolder, "attestation.pem"),
    RATE_LIMIT_INIT: "0",
    ...environment,
  })
  const url = `http://127.0.0.1:${port}`
  const { json } = yield* call({ url }, "GET", "/v1/keys")
  const [{ kid }] = json["keys"] as [{ readonly kid: string }]
  const clientOf = (key: string) =>
    new SealedClient({ baseUrl: url, pins: [kid], pace: 0, credential: `Bearer ${key}` })
  return { ...calls, url, kid, clientOf }
})

const ask = (model: string) => ({ model, max_tokens: 50, messages: [{ role: "user" as const, content: "Hi" }] })

/** The problem that a call ends with, which must come under the seal. */
const sealedProblemOf = (send: () => Promise<unknown>) =>
  Effect.map(failing(Promise.try(send)), (error) => {
    assert.instanceOf(error, SealedProblem)
    assert.isTrue(error.sealed)
    return error.problem
  })

const ledgerOf = ({ boss, gateway }: { readonly boss: string; readonly gateway: { readonly url: string } }) =>
  Effect.map(call(gateway, "GET", "/api/v1/ledger", { token: boss }), ({ json }) =>
    (json["items"] as ReadonlyArray<Readonly<Record<string, unknown>>>).map(
      ({ cost_micro_usd, key_id, model, outcome }) => ({ cost_micro_usd, key_id, model, outcome }),
    ),
  )

describeDatabases("the sealed port of a gateway", (database) => {
  it.live("enters sealed calls, whole and streamed, in the ledger under their key, and signs who served them", () =>
    Effect.gen(function* () {
      const sealed = yield* startSealed(database)
      const key = yield* sealed.makeKey()
      const client = sealed.clientOf(key)
      const usage = { input: 10, output: 5 }
      sealed.fake.always({ text: ["Hel", "lo"], usage })
      const { completion, receipt } = yield* Effect.promise(() => client.complete(ask("fast")))
      assert.strictEqual(completion.choices[0]?.message.content, "Hello")
      assert.deepInclude(receipt, { provider: "provider1", status: "complete" })
      const stream = yield* Effect.promise(() => client.stream(ask("model-2")))
      yield* collected(stream)
      const { receipt: streamed } = yield* Effect.promise(() => stream.end)
      assert.deepInclude(streamed, { provider: "provider2", status: "complete" })
      const rows = yield* ledgerOf(sealed)
      assert.deepStrictEqual(
        rows.map(({ cost_micro_usd, model, outcome }) => [model, outcome, cost_micro_usd]),
        [
          ["model-2", "success", costOf(10, 5)],
          ["model-1", "success", costOf(10, 5)],
        ],
      )
      assert.isTrue(rows.every(({ key_id }) => typeof key_id === "string"))
    }),
  )

  it.live("refuses under the seal what the key may not do, without a call", () =>
    Effect.gen(function* () {
      const sealed = yield* startSealed(database)
      const spent = yield* sealed.makeKey({ budgets: [{ per: "total", max_cost_micro_usd: 1 }] })
      const small = yield* sealed.makeKey({ models: { allow: ["model-2"] } })
      const reader = yield* sealed.makeKey({ roles: ["read"] })
      const agents = yield* sealed.makeKey({ agents: ["0198f0a0-0000-7000-8000-000000000000"] })
      for (const [key, model, expected] of [
        [spent, "model-1", { code: "budget-exhausted", status: 402 }],
        [small, "model-1", { code: "no-target", status: 422 }],
        [reader, "model-1", { code: "forbidden", status: 403 }],
        [agents, "model-1", { code: "forbidden", status: 403 }],
        ["sgk_nobody", "model-1", { code: "unauthorized", status: 401 }],
      ] as const) {
        for (const send of [
          () => sealed.clientOf(key).complete(ask(model)),
          async () => Array.fromAsync(await sealed.clientOf(key).stream(ask(model))),
        ]) {
          const error = yield* sealedProblemOf(send)
          assert.deepInclude(error, expected, JSON.stringify(expected))
        }
      }
      assert.deepStrictEqual(sealed.fake.requests, [])
    }),
  )
})

it.live("calls a provider with the tenant's own key, and reports a refusal of that key under the seal", () =>
  Effect.gen(function* () {
    const sealed = yield* startSealed(sqlite, { SECRETS_KEY: randomBytes(32).toString("base64") })
    const own = { value: "sk-of-the-tenant", provider: "provider1" }
    const set = yield* call(sealed.gateway, "PUT", "/api/v1/secrets/own", { token: sealed.boss, body: own })
    assert.strictEqual(set.status, 200)
    const client = sealed.clientOf(yield* sealed.makeKey())
    sealed.fake.script({ text: "Hello" }, fault.status(401))
    yield* Effect.promise(() => client.complete(ask("provider1/model-1")))
    const error = yield* sealedProblemOf(() => client.complete(ask("provider1/model-1")))
    assert.deepInclude(error, { code: "tenant-key-refused", status: 422 })
    for (const { headers } of sealed.fake.requests) assert.strictEqual(headers["authorization"], `Bearer ${own.value}`)
  }),
)

it.live("keeps a budget for sealed and unsealed calls together, and refuses a revoked key", () =>
  Effect.gen(function* () {
    const sealed = yield* startSealed(sqlite)
    const key = yield* sealed.makeKey({ budgets: [{ per: "total", max_tokens: 200 }] })
    sealed.fake.always({ text: ["Hi"], usage: { input: 40, output: 40 } })
    yield* Effect.promise(() => sealed.openai(key).chat.completions.create(ask("model-1")))
    yield* Effect.promise(() => sealed.clientOf(key).complete(ask("model-1")))
    const refused = yield* sealedProblemOf(() => sealed.clientOf(key).complete(ask("model-1")))
    assert.strictEqual(refused.code, "budget-exhausted")
    const { json } = yield* call(sealed.gateway, "GET", "/api/v1/keys", { token: sealed.boss })
    const [{ id }] = json["items"] as [{ readonly id: string }]
    yield* call(sealed.gateway, "DELETE", `/api/v1/keys/${id}`, { token: sealed.boss })
    assert.strictEqual(
      (yield* sealedProblemOf(() => sealed.clientOf(key).complete(ask("model-1")))).code,
      "unauthorized",
    )
  }),
)

it.live("counts tokens for free", () =>
  Effect.gen(function* () {
    const native = yield* startNative(() => ({ body: JSON.stringify({ input_tokens: 42 }) }))
    const sealed = yield* startSealed(sqlite, { PROVIDER3_BASE_URL: native.url })
    const key = yield* sealed.makeKey({ budgets: [{ per: "total", max_tokens: 100 }] })
    const body = { model: "claude-x", messages: [{ role: "user", content: "x".repeat(3000) }] }
    const counted = yield* Effect.promise(() => sealed.clientOf(key).countTokens(body))
    assert.deepInclude(counted.answer, { input_tokens: 42 })
    const rows = yield* ledgerOf(sealed)
    assert.deepStrictEqual(
      rows.map(({ cost_micro_usd, outcome }) => [outcome, cost_micro_usd]),
      [["success", 0]],
    )
    const path = `/api/v1/budgets?key=${String(rows[0]?.key_id)}`
    const { json } = yield* call(sealed.gateway, "GET", path, { token: sealed.boss })
    assert.deepInclude(Object(json["items"])[0], { spent_tokens: 0, left_tokens: 100 })
  }),
)

it.live("names the missing role of a key under the seal, and the setting of a port that is taken", () =>
  Effect.gen(function* () {
    const sealed = yield* startSealed(sqlite)
    const reader = yield* sealed.makeKey({ roles: ["read"] })
    const refused = yield* sealedProblemOf(() => sealed.clientOf(reader).complete(ask("model-1")))
    assert.include(refused.detail, '"run"')
    const stranger = yield* tokenFor("alice", { tenant: "acme", roles: ["runner"] })
    const nameless = yield* sealedProblemOf(() => sealed.clientOf(stranger).complete(ask("model-1")))
    assert.deepInclude(nameless, { status: 403 })
    assert.include(nameless.detail, 'claim "roles" names none of read, run')
    const { port } = new URL(sealed.gateway.url)
    const taken = yield* Effect.exit(startSealed(sqlite, { SEALED_PORT: port }))
    assert.include(JSON.stringify(taken), `SEALED_PORT: ${port} is taken`)
  }),
)

it.live("counts calls of a key on both ports against its limit", () =>
  Effect.gen(function* () {
    const sealed = yield* startSealed(sqlite)
    const key = yield* sealed.makeKey({ requests_per_minute: 2 })
    yield* Effect.promise(() => sealed.openai(key).chat.completions.create(ask("model-1")))
    yield* Effect.promise(() => sealed.clientOf(key).complete(ask("model-1")))
    const refused = yield* sealedProblemOf(() => sealed.clientOf(key).complete(ask("model-1")))
    assert.deepInclude(refused, { code: "rate-limited", status: 429 })
  }),
)

it.live("counts no call against its tenant's limit that the key's limit refuses", () =>
  Effect.gen(function* () {
    const sealed = yield* startSealed(sqlite, { RATE_LIMIT_TENANT_EXECUTE: "2" })
    const slow = sealed.clientOf(yield* sealed.makeKey({ requests_per_minute: 1 }))
    yield* Effect.promise(() => slow.complete(ask("model-1")))
    for (let i = 0; i < 3; i++) yield* sealedProblemOf(() => slow.complete(ask("model-1")))
    const other = sealed.clientOf(yield* sealed.makeKey())
    yield* Effect.promise(() => other.complete(ask("model-1")))
  }),
)

it.live("counts calls of a tenant on both ports against one limit", () =>
  Effect.gen(function* () {
    const sealed = yield* startSealed(sqlite, { RATE_LIMIT_EXECUTE: "2" })
    const key = yield* sealed.makeKey()
    yield* Effect.promise(() => sealed.openai(key).chat.completions.create(ask("model-1")))
    yield* Effect.promise(() => sealed.clientOf(key).complete(ask("model-1")))
    const refused = yield* sealedProblemOf(() => sealed.clientOf(key).complete(ask("model-1")))
    assert.deepInclude(refused, { code: "rate-limited", status: 429 })
    const unsealed = yield* call(sealed.gateway, "POST", "/v1/chat/completions", { token: key, body: ask("model-1") })
    assert.strictEqual(unsealed.status, 429)
  }),
)

it.live(
  "keeps every rule of the protocol that the kit checks",
  () =>
    Effect.gen(function* () {
      const sealed = yield* startSealed(sqlite, { RATE_LIMIT_REFUSED: "0" })
      const credential = `Bearer ${yield* sealed.makeKey()}`
      const target = { url: new URL(sealed.url), pins: [sealed.kid], credential }
      const { results } = yield* runChecks(target, CHECKS, { limit: Duration.seconds(120) })
      assert.deepStrictEqual(
        results.filter(({ outcome }) => outcome === "fail"),
        [],
      )
      assert.isAbove(results.filter(({ outcome }) => outcome === "pass").length, 60)
    }),
  120_000,
)

it.live("ends streams of both ports in one drain", () =>
  Effect.gen(function* () {
    const sealed = yield* startSealed(sqlite, { SHUTDOWN_GRACE: "10s" })
    const key = yield* sealed.makeKey()
    sealed.fake.always({ text: ["a ", "b ", "c"], delivery: { gap: 300 } })
    const stream = yield* Effect.promise(() => sealed.clientOf(key).stream(ask("model-1")))
    yield* Effect.all([sealed.gateway.stop, collected(stream)], { concurrency: 2 })
    const { receipt } = yield* Effect.promise(() => stream.end)
    assert.strictEqual(receipt.status, "complete")
  }),
)

it.live("does not start with the source of evidence that only a proxy has", () =>
  Effect.gen(function* () {
    const failed = yield* Effect.exit(startSealed(sqlite, { ATTEST: "tsm" }))
    assert.include(JSON.stringify(failed), "only `sealgate proxy` gives evidence")
  }),
)
