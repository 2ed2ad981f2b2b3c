/** The `sealgate gateway` and `sealgate token` commands as processes of their own. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { call, problemIn, SECRET } from "../support/gateway.ts"
import { run, type Running } from "../support/processes.ts"
import { gatewayUrlIn, runGateway } from "../support/gatewayProcess.ts"

const env = { JWT_SECRET: SECRET }

const exitOf = (running: Running) => Effect.promise(() => running.exit)

/** A token made by the command. */
const tokenOf = Effect.fnUntraced(function* (...args: ReadonlyArray<string>) {
  const running = yield* run(["token", ...args], { env })
  assert.strictEqual(yield* exitOf(running), 0)
  return running.stdout.join("\n")
})

describe("sealgate gateway", () => {
  it.live("accepts tokens of `sealgate token`, and exits with 0 on SIGTERM", () =>
    Effect.gen(function* () {
      const gateway = yield* runGateway()
      const consoleUrl = yield* Effect.promise(() => gateway.line((line) => /console: (http:[^"\s]+)/.exec(line)?.[1]))
      assert.strictEqual(consoleUrl, `${gateway.url}/console`)
      const token = yield* tokenOf("--sub", "alice", "--tenant", "alice")
      const admin = yield* tokenOf("--sub", "ops", "--tenant", "acme", "--role", "admin", "--ttl", "5min")
      assert.match(token, /^[\w-]+\.[\w-]+\.[\w-]+$/)
      const created = yield* call(gateway, "POST", "/api/v1/agents", { token, body: { name: "a" } })
      assert.strictEqual(created.status, 201)
      const config = "/api/v1/routing/config"
      assert.strictEqual((yield* call(gateway, "GET", config, { token })).status, 403)
      assert.strictEqual((yield* call(gateway, "GET", config, { token: admin })).status, 200)
      gateway.kill("SIGTERM")
      assert.strictEqual(yield* exitOf(gateway), 0)
      for (const line of [...gateway.stdout, ...gateway.stderr]) assert.notInclude(line, token)
    }),
  )

  it.live("continues its jobs after SIGKILL", () =>
    Effect.gen(function* () {
      const first = yield* runGateway({ env: { JOB_WORKERS: "0" } })
      const token = yield* tokenOf("--sub", "alice", "--tenant", "alice")
      const { json: agent } = yield* call(first, "POST", "/api/v1/agents", { token, body: { name: "a" } })
      const { json: job } = yield* call(first, "POST", `/api/v1/agents/${agent["id"]}/execute`, {
        token,
        body: { task: "x" },
      })
      first.kill("SIGKILL")
      yield* exitOf(first)
      const second = yield* runGateway({ folder: first.folder })
      const done = yield* call(second, "GET", `/api/v1/jobs/${job["id"]}?wait=20`, { token })
      assert.deepInclude(done.json, { status: "completed", id: job["id"] })
      second.kill("SIGINT")
      assert.strictEqual(yield* exitOf(second), 0)
    }),
  )

  it.live("refuses to start if tokens cannot be checked, and lists every mistake", () =>
    Effect.gen(function* () {
      const refused = Effect.fnUntraced(function* (environment: Readonly<Record<string, string>>) {
        const running = yield* run(["gateway"], { env: { PORT: "0", ...environment } })
        assert.strictEqual(yield* exitOf(running), 2)
        return running.stderr.join("\n")
      })
      assert.match(yield* refused({}), /JWT_SECRET: is missing.*JWT_JWKS_URL.*--dev/)
      const short = yield* refused({ JWT_SECRET: "too short", DATABASE_URL: "mysql://x", RATE_LIMIT_READ: "many" })
      assert.match(short, /3 mistakes/)
      assert.match(short, /JWT_SECRET: expected a secret of at least 32 bytes/)
      assert.notInclude(short, "too short")
      assert.match(short, /DATABASE_URL: expected .*postgres:/)
      assert.match(short, /RATE_LIMIT_READ: /)
    }),
  )

  it.live("--dev listens on this machine only and prints a token that works", () =>
    Effect.gen(function* () {
      const running = yield* run(["gateway", "--dev"], { env: { PORT: "0", HOST: "0.0.0.0", LOG_FORMAT: "json" } })
      const url = yield* Effect.promise(() => running.line(gatewayUrlIn))
      assert.match(url, /^http:\/\/127\.0\.0\.1:\d+$/)
      yield* Effect.promise(() =>
        running.line((line) => (/set, but not used: HOST; --dev/.test(line) ? line : undefined)),
      )
      const token = yield* Effect.promise(() => running.line((line) => /export SEALGATE_TOKEN=(.+)$/.exec(line)?.[1]))
      assert.strictEqual((yield* call({ url }, "GET", "/api/v1/routing/config", { token })).status, 200)
      const other = yield* tokenOf("--sub", "alice", "--tenant", "dev", "--role", "admin")
      assert.strictEqual(problemIn(yield* call({ url }, "GET", "/api/v1/agents", { token: other })).status, 401)
      running.kill("SIGTERM")
      assert.strictEqual(yield* exitOf(running), 0)
    }),
  )
})

describe("sealgate token", () => {
  it.live("requires a tenant unless users are tenants", () =>
    Effect.gen(function* () {
      const without = yield* run(["token", "--sub", "acme"], { env })
      assert.strictEqual(yield* exitOf(without), 2)
      assert.match(without.stderr.join("\n"), /--tenant is missing.*JWT_USERS_ARE_TENANTS=1/)
      const reserved = yield* run(["token", "--sub", "acme", "--tenant", "user:alice"], { env })
      assert.strictEqual(yield* exitOf(reserved), 2)
      const users = { ...env, JWT_USERS_ARE_TENANTS: "1" }
      const printed = yield* run(["token", "--sub", "acme"], { env: users })
      assert.strictEqual(yield* exitOf(printed), 0)
      const claims = printed.stdout.join("").split(".")[1] ?? ""
      assert.notProperty(JSON.parse(Buffer.from(claims, "base64url").toString()), "tenant")
    }),
  )

  it.live("prints JSON on request, and needs the gateway's secret", () =>
    Effect.gen(function* () {
      const args = ["--sub", "alice", "--tenant", "acme", "--role", "admin", "--role", "read", "--ttl", "90", "--json"]
      const printed: unknown = JSON.parse(yield* tokenOf(...args))
      assert.deepInclude(printed, { sub: "alice", tenant: "acme", roles: ["admin", "read"], expires_in: 90 })
      const without = yield* run(["token", "--sub", "alice"])
      assert.strictEqual(yield* exitOf(without), 2)
      assert.match(without.stderr.join("\n"), /JWT_SECRET: is missing/)
      assert.deepStrictEqual(without.stdout, [])
    }),
  )
})
