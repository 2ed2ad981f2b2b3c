/** Secrets of tools, over sockets and both databases. */
import { randomBytes } from "node:crypto"
import { assert, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { Job } from "../../src/domain/jobs/job.ts"
import { FakeUpstream } from "../support/FakeUpstream.ts"
import { describeDatabases } from "../support/databases.ts"
import { call, databaseUrl, problemIn, startGateway, tokenFor } from "../support/gateway.ts"
import { calculator, toolServer } from "../support/toolServer.ts"

const decodeJob = Schema.decodeUnknownSync(Job)
const key = () => randomBytes(32).toString("base64")
const VALUE = "ghp_Canary/+value=="

describeDatabases("a secret of a tool", (database) => {
  const setup = Effect.gen(function* () {
    const upstream = yield* FakeUpstream.make()
    const url = yield* databaseUrl(database)
    const started = (keys: string | undefined) =>
      startGateway(
        url,
        {
          TOOL_PRIVATE_NETWORKS: "127.0.0.1",
          ...(keys === undefined ? {} : { SECRETS_KEY: keys }),
        },
        upstream,
      )
    const token = yield* tokenFor("alice")
    /** Runs a job that calls the tool once, and returns the output that the model got. */
    const use = Effect.fnUntraced(function* (gateway: { readonly url: string }, agent: object, name: string) {
      upstream.script({ toolCalls: [{ name, arguments: {} }] }, { text: "done" })
      const { json: made } = yield* call(gateway, "POST", "/api/v1/agents", { token, body: { name: "a", ...agent } })
      const body = { task: "x", mode: "direct" }
      const { json } = yield* call(gateway, "POST", `/api/v1/agents/${made["id"]}/execute`, { token, body })
      const job = yield* call(gateway, "GET", `/api/v1/jobs/${json["id"]}?wait=30`, { token })
      const events = yield* call(gateway, "GET", `/api/v1/jobs/${json["id"]}/events`, { token })
      const seen = upstream.requests.map(({ body }) => JSON.stringify(body)).join()
      for (const text of [job.text, events.text, seen]) assert.notInclude(text, VALUE)
      return decodeJob(job.json)
    })
    return { started, token, use }
  })
  const put = (gateway: { readonly url: string }, token: string, origin: string, value = VALUE, name = "github") =>
    call(gateway, "PUT", `/api/v1/secrets/${name}`, { token, body: { value, origin } })

  it.live("goes only to its origin, and appears in no result, event or prompt", () =>
    Effect.gen(function* () {
      const { started, token, use } = yield* setup
      const gateway = yield* started(key())
      const echo = yield* toolServer((request, response) => {
        const { authorization = "" } = request.headers
        const secret = authorization.slice("Bearer ".length)
        const forms = [
          encodeURIComponent(secret),
          Buffer.from(secret).toString("base64"),
          secret.replaceAll("/", "\\/"),
        ]
        response.end([authorization, ...forms].join(" "))
      })
      const other = yield* toolServer((_, response) => void response.end("x"))
      const tools = [echo, other].map(({ url }, i) => ({
        name: `tool${i}`,
        description: "Echoes.",
        input_schema: { type: "object" },
        url: `${url}/path`,
        secret: "github",
      }))
      const none = yield* use(gateway, { tools }, "tool0")
      assert.include(none.steps[1]?.tool?.output, "There is no secret named github.")
      assert.strictEqual(echo.requests.length, 0)

      const set = yield* put(gateway, token, echo.url)
      assert.deepInclude(set, { status: 200 })
      assert.notInclude(set.text, VALUE)
      const used = yield* use(gateway, { tools }, "tool0")
      assert.strictEqual(echo.requests[0]?.headers["authorization"], `Bearer ${VALUE}`)
      assert.strictEqual(used.steps[1]?.tool?.output, "Bearer [secret] [secret] [secret] [secret]")
      const misdirected = yield* use(gateway, { tools }, "tool1")
      assert.include(misdirected.steps[1]?.tool?.output, `The secret github is for ${echo.url} only.`)
      assert.strictEqual(other.requests.length, 0)

      const list = yield* call(gateway, "GET", "/api/v1/secrets", { token })
      const items = [{ name: "github", origin: echo.url, updated_at: set.json["updated_at"] }]
      assert.deepStrictEqual(list.json, { items })
      const bob = yield* tokenFor("bob")
      assert.deepStrictEqual((yield* call(gateway, "GET", "/api/v1/secrets", { token: bob })).json, { items: [] })
      const runner = yield* tokenFor("alice", { roles: ["run"] })
      for (const method of ["GET", "PUT", "DELETE"]) {
        const path = method === "GET" ? "/api/v1/secrets" : "/api/v1/secrets/github"
        const body = method === "PUT" ? { body: { value: VALUE, origin: echo.url } } : {}
        assert.deepInclude(yield* call(gateway, method, path, { token: runner, ...body }), { status: 403 })
      }
      const remove = (token: string) => call(gateway, "DELETE", "/api/v1/secrets/github", { token })
      assert.deepInclude(problemIn(yield* remove(bob)), { code: "secret-not-found" })
      assert.deepInclude(yield* remove(token), { status: 204 })
      const admin = yield* tokenFor("alice", { roles: ["admin"] })
      const audit = yield* call(gateway, "GET", "/api/v1/audit", { token: admin })
      assert.match(audit.text, /secret\.remove.*secret\.put/)
      assert.notInclude(audit.text, VALUE)
    }),
  )

  it.live("is sent to an MCP server", () =>
    Effect.gen(function* () {
      const { started, token, use } = yield* setup
      const gateway = yield* started(key())
      const { url } = yield* calculator()
      const seen: Array<string | undefined> = []
      const front = yield* toolServer(({ body, headers, method }, response) => {
        seen.push(headers.authorization)
        const names = ["accept", "content-type", "mcp-session-id", "mcp-protocol-version"]
        const sent = names.flatMap((name) =>
          headers[name] === undefined ? [] : [[name, String(headers[name])] as const],
        )
        const init = { method, headers: Object.fromEntries(sent), ...(body === "" ? {} : { body }) }
        void fetch(url, init).then(async (answer) => {
          for (const name of ["content-type", "mcp-session-id"]) {
            const value = answer.headers.get(name)
            if (value !== null) response.setHeader(name, value)
          }
          response.writeHead(answer.status).end(await answer.text())
        })
      })
      const agent = { mcp_servers: [{ name: "calc", url: `${front.url}/mcp`, secret: "github" }] }
      yield* put(gateway, token, front.url)
      const job = yield* use(gateway, agent, "calc__add")
      assert.strictEqual(job.status, "completed", JSON.stringify(job.problem))
      assert.isAbove(seen.length, 2)
      for (const authorization of seen) assert.strictEqual(authorization, `Bearer ${VALUE}`)
    }),
  )

  it.live("survives a rotation of the key while the old one is known, and is stored encrypted", () =>
    Effect.gen(function* () {
      const { started, token, use } = yield* setup
      const [first, second, third] = [key(), key(), key()]
      const server = yield* toolServer((_, response) => void response.end("ok"))
      const tool = {
        name: "t",
        description: "T.",
        input_schema: { type: "object" },
        url: server.url,
        secret: "github",
      }
      const outputWith = Effect.fnUntraced(function* (keys: string, before?: "put") {
        const gateway = yield* started(keys)
        if (before !== undefined) yield* put(gateway, token, server.url)
        const job = yield* use(gateway, { tools: [tool] }, "t")
        yield* gateway.stop
        return job.steps[1]?.tool?.output
      })
      assert.strictEqual(yield* outputWith(first, "put"), "ok")
      assert.strictEqual(yield* outputWith(`${second},${first}`), "ok")
      assert.include(yield* outputWith(third), "cannot be decrypted")
      assert.strictEqual(server.requests.length, 2)
    }),
  )

  it.live("is refused without an operator's key, and if it is not one", () =>
    Effect.gen(function* () {
      const { started, token } = yield* setup
      const off = yield* started(undefined)
      assert.deepInclude(problemIn(yield* put(off, token, "https://example.com")), {
        status: 409,
        code: "secrets-off",
      })
      yield* off.stop
      const gateway = yield* started(key())
      const bad: ReadonlyArray<readonly [string, unknown, string?]> = [
        ["https://example.com/path", VALUE],
        ["ftp://example.com", VALUE],
        ["https://user@example.com", VALUE],
        ["\u0000", VALUE],
        ["https://example.com", "short"],
        ["https://example.com", "line\r\nbreak-here"],
        ["https://example.com", "nul\u0000nul-nul-nul"],
        ["https://example.com", 12345678],
        ["https://example.com", VALUE, "a%00b"],
        ["https://example.com", VALUE, "n".repeat(65)],
      ]
      for (const [origin, value, name = "github"] of bad) {
        const body = { value, origin }
        const refused = yield* call(gateway, "PUT", `/api/v1/secrets/${name}`, { token, body })
        assert.isTrue(refused.status >= 400 && refused.status < 500, `${origin} ${name} ${refused.text}`)
        assert.notInclude(refused.text, VALUE)
      }
      const broken = problemIn(yield* put(gateway, token, "https://example.com", "line\r\nbreak-here"))
      const message = "Expected a bearer token: letters, digits and ._~+/-, then ="
      assert.deepStrictEqual(broken.errors, [{ path: "payload.value", message }])
      for (let i = 0; i < 100; i++) {
        assert.strictEqual((yield* put(gateway, token, "https://example.com", VALUE, `s${i}`)).status, 200)
      }
      const full = problemIn(yield* put(gateway, token, "https://example.com", VALUE, "one-more"))
      assert.deepInclude(full, { status: 409, code: "too-many-secrets" })
      assert.strictEqual((yield* put(gateway, token, "https://example.com", VALUE, "s1")).status, 200)
    }),
  )
})
