/** The API page at /docs of both servers, in a real browser. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { Upstream } from "../../src/services/upstream/Upstream.ts"
import { hasBrowser, openPage, PHONE, soon } from "../support/browser.ts"
import { sqlite } from "../support/databases.ts"
import { databaseUrl, startGateway, tokenFor } from "../support/gateway.ts"
import { startProxy } from "../support/proxy.ts"

const gateway = Effect.flatMap(databaseUrl(sqlite), (database) => startGateway(database, {}, Upstream.layerEcho))

const servers = [
  { name: "proxy", start: Effect.map(startProxy(), ({ url }) => ({ url })) },
  { name: "gateway", start: Effect.map(gateway, ({ url }) => ({ url })) },
]

interface Described {
  readonly paths: Readonly<Record<string, Readonly<Record<string, object>>>>
}

describe.runIf(hasBrowser)("the API's page", () => {
  for (const { name, start } of servers) {
    it.live(`lists every operation of the ${name} within its policy and its origin`, () =>
      Effect.gen(function* () {
        const { url } = yield* start
        const { complaints, page } = yield* openPage({ viewport: PHONE })
        yield* Effect.promise(async () => {
          const requested: Array<string> = []
          page.on("request", (request) => requested.push(request.url()))
          await page.goto(`${url}/docs`)
          const { paths } = (await (await fetch(`${url}/openapi.json`)).json()) as Described
          const operations = Object.values(paths).flatMap((methods) => Object.keys(methods))
          assert.isAtLeast(operations.length, 6)
          await soon(async () => assert.strictEqual(await page.locator(".opblock").count(), operations.length))
          for (const asked of requested.filter((asked) => !asked.startsWith("data:"))) {
            assert.strictEqual(new URL(asked).origin, url)
          }
          assert.deepStrictEqual(complaints, [])
        })
      }),
    )
  }

  it.live("calls an operation with the token that was entered", () =>
    Effect.gen(function* () {
      const { url } = yield* gateway
      const token = yield* tokenFor("dana")
      const { page } = yield* openPage()
      yield* Effect.promise(async () => {
        await page.goto(`${url}/docs`)
        await page.getByRole("button", { name: "Authorize" }).first().click()
        await page.getByLabel("auth-bearer-value").fill(token)
        await page.getByRole("button", { name: "Apply credentials" }).click()
        await page.getByRole("button", { name: "Close" }).click()
        const list = page.locator(".opblock", { hasText: "List agents" })
        await list.locator("button").first().click()
        await list.getByRole("button", { name: "Try it out" }).click()
        await list.getByRole("button", { name: "Execute" }).click()
        await soon(async () => assert.include(await list.locator(".responses-wrapper").innerText(), '"items": []'))
      })
    }),
  )
})
