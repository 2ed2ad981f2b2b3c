/** Keys of model providers that tenants bring, over sockets and both databases. */
import { randomBytes } from "node:crypto"
import { assert, it } from "@effect/vitest"
import { Effect, type Scope } from "effect"
import { describeDatabases } from "../support/databases.ts"
import { type Fake, FakeUpstream, fault } from "../support/FakeUpstream.ts"
import { call, callOperator, databaseUrl, problemIn, startGateway, tokenFor } from "../support/gateway.ts"

const OPERATORS = "sk-of-the-operator"
const OWN = "sk-of-alice/+canary=="
const newSecretsKey = () => randomBytes(32).toString("base64")

describeDatabases("a tenant's own key of a provider", (database) => {
  const setup = Effect.fnUntraced(function* (environment: Readonly<Record<string, string>> = {}) {
    const fake = yield* FakeUpstream.make()
    const url = yield* databaseUrl(database)
    const start = (more: Readonly<Record<string, string>> = {}) =>
      startGateway(
        url,
        {
          PROVIDER1_API_KEY: OPERATORS,
          UPSTREAM_RETRIES: "0",
          SECRETS_KEY: newSecretsKey(),
          ...environment,
          ...more,
        },
        fake,
      )
    const gateway = yield* start()
    const alice = yield* tokenFor("alice", { roles: ["admin"] })
    const bob = yield* tokenFor("bob")
    const put = (body: object, token = alice, name = "mine") =>
      call(gateway, "PUT", `/api/v1/secrets/${name}`, { token, body: { value: OWN, provider: "provider1", ...body } })
    const chat = (token: string, model = "model-1", more: object = {}, at: { readonly url: string } = gateway) =>
      call(at, "POST", "/v1/chat/completions", {
        token,
        body: { model, messages: [{ role: "user", content: "x" }], ...more },
      })
    return { alice, bob, chat, fake, gateway, put, start }
  })
  const keysSeen = ({ requests }: Fake) => requests.map(({ headers }) => headers["authorization"]?.slice(7))
  const test = <E>(name: string, body: Effect.Effect<void, E, Scope.Scope>) => it.live(name, () => body)

  test(
    "replaces the operator's for calls and jobs of its tenant, and is never shown",
    Effect.gen(function* () {
      const { alice, bob, chat, fake, gateway, put } = yield* setup()
      const set = yield* put({})
      assert.deepInclude(set.json, { name: "mine", provider: "provider1" })
      yield* chat(alice)
      yield* chat(alice, "model-1", { stream: true })
      const agent = yield* call(gateway, "POST", "/api/v1/agents", { token: alice, body: { name: "a" } })
      const executed = `/api/v1/agents/${agent.json["id"]}/execute`
      const job = yield* call(gateway, "POST", executed, { token: alice, body: { task: "x", mode: "direct" } })
      const ended = yield* call(gateway, "GET", `/api/v1/jobs/${job.json["id"]}?wait=30`, { token: alice })
      assert.deepInclude(ended.json, { status: "completed" })
      yield* chat(bob)
      assert.deepStrictEqual(keysSeen(fake), [OWN, OWN, OWN, OPERATORS])

      const ledger = yield* call(gateway, "GET", "/api/v1/ledger?scope=all", { token: alice })
      const rows = ledger.json["items"] as ReadonlyArray<{ tenant: string; own_key: boolean }>
      assert.deepStrictEqual(
        rows.map(({ own_key, tenant }) => [tenant, own_key]),
        [["bob", false], ...Array.from({ length: 3 }, () => ["alice", true])],
      )
      const list = yield* call(gateway, "GET", "/api/v1/secrets", { token: alice })
      const audit = yield* call(gateway, "GET", "/api/v1/audit", { token: alice })
      assert.include(audit.text, "secret.put")
      for (const { text } of [set, list, audit, ledger, ended]) assert.notInclude(text, OWN)

      yield* call(gateway, "DELETE", "/api/v1/secrets/mine", { token: alice })
      yield* chat(alice)
      assert.strictEqual(keysSeen(fake).at(-1), OPERATORS)
    }),
  )

  test(
    "is needed if the operator has none; other providers serve without it",
    Effect.gen(function* () {
      const { alice, bob, chat, fake, gateway, put } = yield* setup({
        PROVIDER1_API_KEY: "",
        PROVIDER1_TENANT_KEYS: "on",
        PROVIDER2_API_KEY: "key-2",
        PROVIDER2_MODEL: "model-2",
      })
      fake.always({ text: "ok" })
      const missing = yield* chat(bob)
      assert.strictEqual(missing.status, 422)
      assert.include(missing.text, "tenant-key-missing")
      assert.include(missing.text, "PUT /api/v1/secrets/{name}")
      assert.strictEqual(fake.requests.length, 0)
      const models = (token: string) =>
        Effect.map(call(gateway, "GET", "/v1/models", { token }), ({ json }) =>
          (json["data"] as ReadonlyArray<{ id: string }>).map(({ id }) => id),
        )
      assert.deepStrictEqual(yield* models(bob), ["model-2"])
      yield* put({})
      assert.strictEqual((yield* chat(alice)).status, 200)
      assert.deepStrictEqual(yield* models(alice), ["model-1", "model-2"])
      assert.deepStrictEqual(keysSeen(fake), [OWN])
    }),
  )

  test(
    "that fails concerns its tenant alone",
    Effect.gen(function* () {
      const { alice, bob, chat, fake, gateway, put } = yield* setup()
      /** How often a provider refused the operator's key. */
      const refusals = Effect.map(callOperator(gateway, "/metrics"), ({ text }) =>
        text.match(/^sealgate_upstream_errors_total\{.*"unauthorized".*$/gm),
      )
      const before = yield* refusals
      yield* put({})
      const quoting = { body: { error: { message: `bad key ${OWN}` } } }
      for (const status of [401, 403, 429, 404]) {
        fake.when({ key: OWN }).always(fault.status(status, quoting))
        // More failures than open a circuit.
        for (let i = 0; i < 5; i++) {
          const refused = yield* chat(alice)
          assert.isAtLeast(refused.status, 400)
          assert.notInclude(refused.text, OWN)
          if (status < 404) {
            assert.strictEqual(refused.status, 422)
            assert.include(refused.text, "tenant-key-refused")
          }
        }
        const ready = yield* callOperator(gateway, "/ready")
        assert.deepInclude(ready.json, { status: "ready" })
        assert.notInclude(ready.text, "outcome")
        assert.strictEqual((yield* chat(bob)).status, 200)
      }
      assert.isNotNull(before)
      assert.deepStrictEqual(yield* refusals, before)
    }),
  )

  test(
    "survives failures of the operator's key",
    Effect.gen(function* () {
      const { alice, bob, chat, fake, put } = yield* setup()
      yield* put({})
      fake.when({ key: OPERATORS }).always(fault.status(429))
      for (let i = 0; i < 5; i++) assert.isAtLeast((yield* chat(bob)).status, 429)
      assert.strictEqual((yield* chat(alice)).status, 200)
    }),
  )

  test(
    "that cannot be decrypted is not replaced by the operator's",
    Effect.gen(function* () {
      const { alice, bob, chat, fake, gateway, put, start } = yield* setup()
      yield* put({})
      yield* gateway.stop
      const rotated = yield* start({ SECRETS_KEY: newSecretsKey() })
      const refused = yield* chat(alice, "model-1", {}, rotated)
      assert.include(refused.text, "tenant-key-missing")
      assert.strictEqual((yield* chat(bob, "model-1", {}, rotated)).status, 200)
      assert.deepStrictEqual(keysSeen(fake), [OPERATORS])
    }),
  )

  test(
    "is for one configured provider, under one name",
    Effect.gen(function* () {
      const { alice, gateway, put } = yield* setup()
      for (const provider of ["provider2", "nobody", "echo"]) {
        assert.deepInclude(problemIn(yield* put({ provider })), { status: 422, code: "provider-takes-no-key" })
      }
      for (const body of [{ origin: "https://example.com" }, { provider: undefined }, { provider: "A b" }]) {
        assert.deepInclude(problemIn(yield* put(body)), { status: 400 })
      }
      assert.strictEqual((yield* put({})).status, 200)
      assert.strictEqual((yield* put({ value: "another-key" })).status, 200)
      assert.deepInclude(problemIn(yield* put({}, alice, "other")), { status: 409, code: "provider-key-elsewhere" })
      const runner = yield* tokenFor("alice", { roles: ["run"] })
      assert.strictEqual((yield* put({}, runner)).status, 403)
      const tool = { provider: undefined, origin: "https://example.com" }
      assert.strictEqual((yield* put(tool)).status, 200)
      const list = yield* call(gateway, "GET", "/api/v1/secrets", { token: alice })
      assert.notInclude(list.text, "provider1")
    }),
  )
})
