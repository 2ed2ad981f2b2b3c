/** Addresses that clients refuse, and servers that redirect them. */
import { assert, describe, it } from "@effect/vitest"
import { ConfigProvider, Effect } from "effect"
import { modelsCommand } from "../../../src/cli/modelsCommand.ts"
import { secretsCommand } from "../../../src/cli/gateway/secretsCommand.ts"
import { Unreachable } from "../../../src/client/errors.ts"
import { GatewayClient } from "../../../src/client/gateway/GatewayClient.ts"
import { answering } from "../../support/answering.ts"
import { run } from "../../support/cli.ts"
import { failing } from "../../support/promises.ts"

const ID = "01890a5d-ac96-774b-bcce-b302099a8057"

/** A server that redirects to the same path of another, and the requests that reach the other. */
const redirecting = Effect.fnUntraced(function* (status: number) {
  const reached: Array<string> = []
  const to = yield* answering((response, { method, url }) => {
    reached.push(`${method} ${url}`)
    response.writeHead(401, { "content-type": "application/problem+json" }).end("{}")
  })
  const from = yield* answering((response, { url }) => response.writeHead(status, { location: to + url }).end())
  return { from, reached, to }
})

describe("a gateway's client", () => {
  it("refuses an address with a user or password, and does not quote it", () => {
    const open = () => new GatewayClient({ baseUrl: "https://user:hunter2@gateway.test", token: "x" })
    assert.throws(open, TypeError, /^(?!.*hunter2).*gateway's address holds a user or password/)
  })

  for (const status of [301, 302, 303, 307, 308]) {
    it.live(`does not follow a redirect with status ${status}, and says where it leads`, () =>
      Effect.gen(function* () {
        const { from, reached, to } = yield* redirecting(status)
        const gateway = new GatewayClient({ baseUrl: from, token: "x" })
        const calls: ReadonlyArray<() => Promise<unknown>> = [
          () => gateway.secrets.put("search", { value: "s3cret-of-search", origin: "https://search.example" }),
          () => gateway.agents.execute(ID, { task: "x", mode: "verified" }),
          () => gateway.agents.list(),
          () => gateway.changes().next(),
        ]
        for (const call of calls) {
          const error = yield* failing(call())
          assert.instanceOf(error, Unreachable)
          assert.strictEqual(
            error.message,
            `${from} redirects to ${to}, which is not followed; use the address that it redirects to.`,
          )
        }
        assert.deepStrictEqual(reached, [])
      }),
    )
  }

  it.effect("says that a server redirects if browsers hide the status and the target", () =>
    Effect.gen(function* () {
      const hidden = Object.defineProperties(new Response(), {
        type: { value: "opaqueredirect" },
        status: { value: 0 },
      })
      const fetch = (_: unknown, init?: RequestInit) => {
        assert.strictEqual(init?.redirect, "manual")
        return Promise.resolve(hidden)
      }
      const gateway = new GatewayClient({ baseUrl: "https://gateway.example", token: "x", fetch })
      const error = yield* failing(gateway.agents.list())
      assert.instanceOf(error, Unreachable)
      assert.include(error.message, "https://gateway.example redirects, which is not followed")
    }),
  )
})

describe("a command", () => {
  const env = ConfigProvider.fromEnv({ env: { SEALGATE_TOKEN: "x" } })

  it.live("names the redirect of a gateway, not the token", () =>
    Effect.gen(function* () {
      const { from, reached, to } = yield* redirecting(307)
      const { code, stderr } = yield* run(secretsCommand, ["--gateway", from]).pipe(
        Effect.provideService(ConfigProvider.ConfigProvider, env),
      )
      assert.strictEqual(code, 1)
      assert.include(stderr, `${from} redirects to ${to}`)
      assert.notInclude(stderr, "SEALGATE_TOKEN")
      assert.deepStrictEqual(reached, [])
    }),
  )

  it.live("names the redirect of a proxy that is asked for its models", () =>
    Effect.gen(function* () {
      const { from, reached, to } = yield* redirecting(308)
      const { code, stderr } = yield* run(modelsCommand, ["--proxy", from, "--pin", "A".repeat(43)])
      assert.strictEqual(code, 1)
      assert.include(stderr, `${from} redirects to ${to}, which is not followed`)
      assert.deepStrictEqual(reached, [])
    }),
  )
})
