/** The page at /docs in a real browser, of both servers. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import type { Locator, Page } from "playwright-core"
import { Upstream } from "../../src/services/upstream/Upstream.ts"
import { accessibilityViolations, focused, hasBrowser, openPage, PHONE, soon } from "../support/browser.ts"
import { sqlite } from "../support/databases.ts"
import { databaseUrl, gatedUpstream, startGateway, tokenFor } from "../support/gateway.ts"
import { startProxy } from "../support/proxy.ts"

/** Compressed, everything together. */
const MOST_BYTES = 30_000

const gateway = (upstream = Upstream.layerEcho) =>
  Effect.flatMap(databaseUrl(sqlite), (database) => startGateway(database, {}, upstream))

const servers = [
  { name: "proxy", deepest: "completions", start: Effect.map(startProxy(), ({ url }) => ({ url })) },
  { name: "gateway", deepest: "routing.putConfig", start: gateway() },
]

interface Described {
  readonly paths: Readonly<Record<string, Readonly<Record<string, { operationId: string; summary: string }>>>>
}

const operationsOf = async (url: string) => {
  const { paths } = (await (await fetch(`${url}/openapi.json`)).json()) as Described
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { operationId, summary }]) => ({ operationId, summary, method, path })),
  )
}

const operation = (page: Page, id: string): Locator => page.locator(`article[id="${id}"]`)

const press = (where: Locator, name: string) => where.getByRole("button", { name, exact: true }).click()

/** Sends what is filled in for an operation, and gives what came back. */
const sent = async (where: Locator): Promise<string> => {
  await press(where, "Send")
  const status = where.locator(".status")
  await soon(async () => assert.match(await status.innerText(), /^\d{3} .* ms$/))
  return status.innerText()
}

const open = (where: Locator, summary: string | RegExp) =>
  where.locator("summary", { hasText: summary }).first().click()

describe.runIf(hasBrowser)("the documentation page", () => {
  for (const { deepest, name, start } of servers) {
    it.live(`lists every operation of the ${name}, needs little, and nothing from anywhere else`, () =>
      Effect.gen(function* () {
        const { url } = yield* start
        const { complaints, page } = yield* openPage()
        yield* Effect.promise(async () => {
          const requested: Array<string> = []
          page.on("request", (request) => requested.push(request.url()))
          await page.goto(`${url}/docs`)
          await page.locator("article").first().waitFor()
          const operations = await operationsOf(url)
          assert.isAtLeast(operations.length, 6)
          for (const { method, operationId, path, summary } of operations) {
            const article = operation(page, operationId)
            assert.strictEqual(await article.locator("h3").innerText(), summary)
            assert.strictEqual(await article.locator(".method").innerText(), method.toUpperCase())
            assert.strictEqual(await article.locator(".path").innerText(), path)
            assert.strictEqual(await page.locator(`nav a[href="#${operationId}"]`).innerText(), summary)
          }
          assert.strictEqual(await page.locator("article").count(), operations.length)
          for (const asked of requested) assert.strictEqual(new URL(asked).origin, url)
          const bytes = await page.evaluate<number>(
            `performance.getEntries().filter(({ name }) => /\\/docs/.test(name))
              .reduce((sum, { encodedBodySize = 0 }) => sum + encodedBodySize, 0)`,
          )
          assert.isAbove(bytes, 1000)
          assert.isBelow(bytes, MOST_BYTES)
          assert.deepStrictEqual(complaints, [])
        })
      }),
    )

    for (const colorScheme of ["light", "dark"] as const) {
      it.live(`is accessible and fits a phone, ${colorScheme}, of the ${name}`, () =>
        Effect.gen(function* () {
          const { url } = yield* start
          const { page } = yield* openPage({ viewport: PHONE, colorScheme })
          yield* Effect.promise(async () => {
            const fits = async () =>
              assert.strictEqual(await page.evaluate("document.documentElement.scrollWidth"), PHONE.width)
            await page.goto(`${url}/docs`)
            await page.locator("article").first().waitFor()
            await fits()
            // Everything that can be opened of a deep one, until nothing more appears.
            const closed = operation(page, deepest).locator("details:not([open]) > summary").filter({ visible: true })
            while ((await closed.count()) > 0) await closed.first().click()
            await open(page.locator("nav"), "Contents")
            for (const id of ["health", "ready"]) await open(operation(page, id), "Try it")
            await sent(operation(page, "health"))
            await sent(operation(page, "ready"))
            await fits()
            assert.deepStrictEqual(await accessibilityViolations(page), [])
          })
        }),
      )
    }
  }

  it.live("sends what is tried with the token of the field, where it is needed and nowhere else", () =>
    Effect.gen(function* () {
      const { url } = yield* gateway()
      const token = yield* tokenFor("dana")
      const { complaints, page } = yield* openPage()
      yield* Effect.promise(async () => {
        await page.addInitScript(`
          globalThis.touched = []
          for (const name of ["localStorage", "sessionStorage", "indexedDB"]) {
            const { get } = Object.getOwnPropertyDescriptor(globalThis, name)
            Object.defineProperty(globalThis, name, { get() { touched.push(name); return get.call(globalThis) } })
          }`)
        const authorized = new Map<string, string | undefined>()
        page.on("request", (request) => {
          authorized.set(new URL(request.url()).pathname, request.headers()["authorization"])
        })
        await page.goto(`${url}/docs`)
        const create = operation(page, "agents.create")
        await open(create, "Try it")
        assert.match(await sent(create), /^401 Unauthorized/)
        await page.getByLabel("Bearer token").fill(`export SEALGATE_TOKEN=${token}`)
        await create.getByLabel("Body (JSON)").fill('{"name":"from the page"}')
        assert.match(await sent(create), /^201 Created/)
        assert.strictEqual(authorized.get("/api/v1/agents"), `Bearer ${token}`)
        const agent: unknown = JSON.parse(await create.getByLabel("Body of the answer").innerText())
        assert.strictEqual(Reflect.get(Object(agent), "name"), "from the page")
        assert.include(await create.locator(".sample").first().innerText(), "from the page")

        const read = operation(page, "agents.get")
        await open(read, "Try it")
        await read.getByLabel("id (in the path, required)").fill(String(Reflect.get(Object(agent), "id")))
        assert.match(await sent(read), /^200 OK/)

        const health = operation(page, "health")
        await open(health, "Try it")
        assert.match(await sent(health), /^200 OK/)
        assert.isTrue(authorized.has("/health"))
        assert.isUndefined(authorized.get("/health"))
        // Not written out, not kept, and nothing of the consoles' is looked at.
        assert.notInclude(await page.content(), token)
        assert.deepStrictEqual(await page.evaluate("touched"), [])
        assert.deepStrictEqual(
          complaints.filter((complaint) => !/status of 401/.test(complaint)),
          [],
        )
      })
    }),
  )

  it.live("sends nothing that is not whole, and says what is missing", () =>
    Effect.gen(function* () {
      const { url } = yield* gateway()
      const { page } = yield* openPage()
      yield* Effect.promise(async () => {
        await page.goto(`${url}/docs`)
        const execute = operation(page, "agents.execute")
        await open(execute, "Try it")
        const requested: Array<string> = []
        page.on("request", (request) => requested.push(request.url()))
        await press(execute, "Send")
        await execute.getByText("The path needs it.").waitFor()
        await soon(async () => assert.strictEqual(await focused(page), "id (in the path, required)"))
        await execute.getByLabel("id (in the path, required)").fill("x")
        await execute.getByLabel("Body (JSON)").fill("{")
        await press(execute, "Send")
        await execute.getByText("This is not JSON").waitFor()
        await soon(async () => assert.strictEqual(await focused(page), "Body (JSON)"))
        assert.deepStrictEqual(requested, [])
      })
    }),
  )

  it.live("shows a stream while it comes in, until it is stopped", () =>
    Effect.gen(function* () {
      const { layer, open: letGo } = yield* gatedUpstream
      const { url } = yield* gateway(layer)
      const token = yield* tokenFor("dana")
      const { page } = yield* openPage()
      yield* Effect.promise(async () => {
        const post = async (path: string, body: object): Promise<unknown> => {
          const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" }
          const response = await fetch(`${url}/api/v1/${path}`, { method: "POST", headers, body: JSON.stringify(body) })
          return Reflect.get(Object(await response.json()), "id")
        }
        const agent = await post("agents", { name: "slow" })
        const job = await post(`agents/${String(agent)}/execute`, { task: "wait" })
        await page.goto(`${url}/docs#jobs.events`)
        await page.getByLabel("Bearer token").fill(token)
        const events = operation(page, "jobs.events")
        await open(events, "Try it")
        await events.getByLabel("id (in the path, required)").fill(String(job))
        await press(events, "Send")
        await events.getByText("more is coming").waitFor()
        await press(events, "Stop")
        await soon(async () => assert.notInclude(await events.locator(".status").innerText(), "more is coming"))
        await press(events, "Send")
        await events.getByText("more is coming").waitFor()
      })
      yield* letGo
      yield* Effect.promise(async () => {
        const events = operation(page, "jobs.events")
        await soon(async () =>
          assert.include(await events.getByLabel("Body of the answer").innerText(), "event: ended"),
        )
        await soon(async () => assert.match(await events.locator(".status").innerText(), /ms$/))
      })
    }),
  )

  it.live("finds operations, copies samples, and works by keyboard", () =>
    Effect.gen(function* () {
      const { url } = yield* gateway()
      const { page } = yield* openPage({ permissions: ["clipboard-read", "clipboard-write"] })
      yield* Effect.promise(async () => {
        await page.goto(`${url}/docs`)
        await page.locator("article").first().waitFor()
        await page.getByLabel("Look for").fill("POST cancel")
        await soon(async () => assert.strictEqual(await page.locator("article").count(), 1))
        assert.deepStrictEqual(await page.locator("nav a").allInnerTexts(), ["Cancel a job"])
        await page.getByText("1 found").waitFor()
        await page.getByLabel("Look for").fill("nothing of the kind")
        await page.getByText("No operation has all of these words.").waitFor()
        await page.getByLabel("Look for").fill("")
        await page.locator('nav a[href="#jobs.cancel"]').press("Enter")
        const cancel = operation(page, "jobs.cancel")
        await soon(async () => {
          const { y } = (await cancel.boundingBox()) ?? { y: -1 }
          assert.isTrue(y >= 0 && y < 100, String(y))
        })
        // From there on by Tab: its name, the languages, the copy.
        await page.keyboard.press("Tab")
        assert.strictEqual(await focused(page), "Cancel a job")
        await cancel.getByRole("button", { name: "TypeScript" }).press("Enter")
        await cancel.getByRole("button", { name: "Copy the TypeScript sample" }).press("Enter")
        await cancel.getByText("Copied.").waitFor()
        const copied = await page.evaluate<string>("navigator.clipboard.readText()")
        assert.include(copied, `await fetch("${url}/api/v1/jobs/ID/cancel", {`)
      })
    }),
  )

  it.live("says so when the description cannot be read, and reads it when asked again", () =>
    Effect.gen(function* () {
      const { url } = yield* startProxy()
      const { page } = yield* openPage()
      yield* Effect.promise(async () => {
        await page.route("**/openapi.json", (route) => route.fulfill({ status: 503 }), { times: 1 })
        await page.goto(`${url}/docs`)
        await page.getByText("The description of the API could not be read.").waitFor()
        await page.getByRole("button", { name: "Try again" }).click()
        await page.locator("article").first().waitFor()
      })
    }),
  )
})
