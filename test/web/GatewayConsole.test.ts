/** The gateway's console in a real browser, on a real gateway with scripted models. */
import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Redacted } from "effect"
import type { Locator, Page } from "playwright-core"
import { verifyCommand } from "../../src/cli/verifyCommand.ts"
import { GatewayClient } from "../../src/client/gateway.ts"
import { mintToken } from "../../src/services/access/mintToken.ts"
import { callRecord } from "../services/routing/callRecords.ts"
import { focused, fragmentAtOnce, hasBrowser, Held, openPage, soon } from "../support/browser.ts"
import { run } from "../support/cli.ts"
import { sqlite } from "../support/databases.ts"
import { fault } from "../support/FakeUpstream.ts"
import { databaseUrl, startGateway, tokenFor } from "../support/gateway.ts"
import { startProxy } from "../support/proxy.ts"
import { toolServer } from "../support/toolServer.ts"
import { scene } from "./gateway/scene.ts"
import { ASKS, DETAIL, OBJECTION, PROPOSAL, REVISION, TASK } from "./gateway/stage.ts"

/** Presses Tab until the element has the focus; fails if the keyboard cannot reach it. */
const tabTo = async (page: Page, role: "link" | "button" | "textbox", name: string | RegExp): Promise<void> => {
  const wanted = page.getByRole(role, { name }).first()
  for (let presses = 0; presses < 40; presses++) {
    if (await wanted.evaluate((element) => element.matches(":focus"))) return
    await page.keyboard.press("Tab")
  }
  assert.fail(`no way to ${name} by keyboard`)
}

/** Waits until exactly one element contains all these texts. */
const says = (what: Locator, parts: ReadonlyArray<string>): Promise<void> =>
  soon(async () => {
    const texts = await what.allInnerTexts()
    assert.strictEqual(texts.length, 1, `${what} is there once`)
    for (const part of parts) assert.include(texts[0], part)
  })

const counts = (what: Locator, count: number): Promise<void> =>
  soon(async () => assert.strictEqual(await what.count(), count, String(what)))

const hasFocus = (page: Page, name: string): Promise<void> =>
  soon(async () => assert.include(await focused(page), name))

describe.runIf(hasBrowser)("the gateway's console", () => {
  it.live("signs in with a valid token, explains refusals, and does not leak the token", () =>
    Effect.gen(function* () {
      const stranger = yield* mintToken({
        secret: Redacted.make("the secret of some other gateway, not this"),
        issuer: "sealgate",
        audience: "sealgate",
        subject: "mallory",
        roles: [],
        ttl: Duration.hours(1),
      })
      const late = yield* mintToken({
        secret: Redacted.make("any"),
        issuer: "sealgate",
        audience: "sealgate",
        subject: "dana",
        roles: [],
        ttl: Duration.hours(-1),
      })
      yield* scene(
        async ({ consoleUrl, enter, page, token }) => {
          await page.goto(consoleUrl)
          await page.getByText("sealgate gateway --dev").waitFor()
          await page.getByText("sealgate token").waitFor()
          for (const [wrong, why] of [
            ["not a token", "This is not a token of the gateway."],
            [Redacted.value(stranger), "The gateway does not accept this token."],
            [Redacted.value(late), "This token expired on"],
          ] as const) {
            await page.getByLabel("Token").fill(wrong)
            await page.getByRole("button", { name: "Sign in" }).click()
            await page.getByRole("alert").filter({ hasText: why }).waitFor()
          }
          await enter()
          await says(page.locator(".owner"), ["dana", "acme", "admin", "until"])

          const [, , signature = "none"] = token.split(".")
          const everywhere = await page.evaluate<string>(
            `JSON.stringify([
              { ...localStorage }, { ...sessionStorage }, document.cookie, location.href, history.state, name,
              document.documentElement.outerHTML, [...document.querySelectorAll("input")].map((input) => input.value),
            ])`,
          )
          assert.notInclude(everywhere, signature)
          assert.deepStrictEqual(await page.evaluate("indexedDB.databases().then((known) => known.length)"), 0)
          await page.getByRole("button", { name: "Sign out" }).click()
          await page.getByLabel("Token").waitFor()
          assert.strictEqual(await page.getByLabel("Token").inputValue(), "")
          await counts(page.getByRole("alert"), 0)
        },
        { roles: ["admin"] },
      )
    }),
  )

  it.live("keeps the token in its tab on request, until sign-out", () =>
    scene(async ({ consoleUrl, page, token }) => {
      const kept = () => page.evaluate<string | null>(`sessionStorage.getItem("sealgate.token")`)
      await page.goto(consoleUrl)
      await page.getByLabel("Token").fill(`Bearer ${token}`)
      await page.getByLabel("Stay signed in when the page reloads").check()
      await page.getByRole("button", { name: "Sign in" }).click()
      await page.getByText("No calls in 24 hours.").waitFor()
      assert.strictEqual(await kept(), token)
      assert.strictEqual(await page.evaluate("localStorage.length"), 0)
      await page.evaluate(`location.hash = "#/jobs"`)
      await page.getByText("No jobs yet.").waitFor()
      await page.reload()
      // Also shows the same view.
      await page.getByText("No jobs yet.").waitFor()
      await page.getByRole("button", { name: "Sign out" }).click()
      assert.isNull(await kept())
      await page.reload()
      await page.getByLabel("Token").waitFor()
    }),
  )

  it.live("follows an address that changes as the first view appears", () =>
    scene(async ({ consoleUrl, page, token }) => {
      await fragmentAtOnce(page, "nav", "#/jobs")
      await page.goto(consoleUrl)
      await page.getByLabel("Token").fill(token)
      await page.keyboard.press("Enter")
      await page.getByText("No jobs yet.").waitFor()
    }),
  )

  it.live("removes a kept token that is refused after a reload, and says so", () =>
    scene(async ({ consoleUrl, page, token }) => {
      const kept = () => page.evaluate<string | null>(`sessionStorage.getItem("sealgate.token")`)
      await page.goto(consoleUrl)
      const broken = `${token.slice(0, -8)}AAAAAAAA`
      await page.evaluate(`sessionStorage.setItem("sealgate.token", ${JSON.stringify(broken)})`)
      await page.route("**/api/v1/**", (route) => route.abort())
      await page.reload()
      await page.getByRole("alert").filter({ hasText: "The gateway did not answer." }).waitFor()
      assert.strictEqual(await kept(), broken)
      await page.unroute("**/api/v1/**")
      await page.reload()
      await page.getByRole("alert").filter({ hasText: "the token kept in this tab was removed" }).waitFor()
      assert.isNull(await kept())
    }),
  )

  it.live("runs a failed task again with the same options, priority, concurrency key and thread", () =>
    scene(async ({ client, enter, fake, page }) => {
      const { id } = await client.agents.create({ name: "a" })
      fake.when((asked) => asked.text.includes("moody")).script(fault.invalidRequest())
      const thread = await client.threads.create(id)
      const same = {
        task: "Something moody",
        options: { rounds: 1 },
        priority: "high",
        concurrency: { key: "deploy", limit: 3 },
        thread_id: thread.id,
      } as const
      const handle = await client.agents.execute(id, same)
      await handle.wait().catch(() => undefined)
      await enter()
      await page.evaluate(`location.hash = "#/jobs/${handle.id}"`)
      await page.getByRole("alert").filter({ hasText: "The request was refused as invalid." }).waitFor()
      await page.getByRole("region", { name: "Steps", exact: true }).getByText("failed").waitFor()
      await page.getByRole("button", { name: "Run again" }).click()
      await page.getByRole("region", { name: "Answer" }).waitFor()
      const [again] = (await client.jobs.list()).items
      assert.notStrictEqual(again?.id, handle.id)
      assert.deepInclude(again, same)
      const facts = page.getByRole("region", { name: "Job", exact: true })
      await facts.getByText("deploy, at most 3 at once").waitFor()
      await facts.getByText("high", { exact: true }).waitFor()
    }),
  )

  it.live("runs a task with a priority and a concurrency key", () =>
    scene(async ({ client, enter, page }) => {
      const { id } = await client.agents.create({ name: "a" })
      await enter()
      await page.evaluate(`location.hash = "#/agents/${id}"`)
      await page.getByLabel("Task", { exact: true }).fill("Is 391 a prime?")
      await page.getByLabel("Priority").selectOption("high")
      await page.getByLabel("Concurrency key (optional)").fill("two words")
      await page.getByRole("button", { name: "Run", exact: true }).click()
      await page.locator('#task-concurrency:focus[aria-invalid="true"]').fill("primes")
      await page.getByRole("button", { name: "Run", exact: true }).click()
      await page.getByText("primes, at most 1 at once").waitFor()
      const [made] = (await client.jobs.list()).items
      assert.deepInclude(made, { priority: "high", concurrency: { key: "primes", limit: 1 } })
    }),
  )

  it.live("asks a person with a form, and shows the webhooks of the job", () =>
    Effect.gen(function* () {
      let busy = true
      const receiver = yield* toolServer((_, response) => void response.writeHead(busy ? 503 : 200).end())
      yield* scene(async ({ client, enter, fake, gateway, page, token }) => {
        const headers = { authorization: `Bearer ${token}` }
        await fetch(`${gateway.url}/api/v1/webhooks/secret`, { method: "POST", headers })
        const { id } = await client.agents.create({
          name: "Payer",
          default_mode: "direct",
          ask_person: {},
          webhook_url: receiver.url,
        })
        fake.script(ASKS, { text: "Paid." })
        const handle = await client.agents.execute(id, { task: "Pay the bill." })
        await enter()
        await page.evaluate(`location.hash = "#/jobs/${handle.id}"`)
        const form = page.getByRole("form", { name: "The agent asks" })
        await form.getByText("It came without an order.").waitFor()
        const webhooks = page.getByRole("region", { name: "Table of webhooks" }).locator("tbody tr")
        await webhooks.filter({ hasText: /pending.*it waits for a person.*503.*Next attempt at/s }).waitFor()
        busy = false
        await form.getByRole("button", { name: "Answer" }).click()
        // The focus is in the field with the mistake.
        await page.locator('#answer-approved:focus[aria-invalid="true"]').waitFor()
        await form.getByLabel("approved").selectOption("yes")
        await form.getByLabel("note (optional)").fill("Order it next time.")
        await form.getByRole("button", { name: "Answer" }).click()
        await page.getByRole("region", { name: "Answer" }).getByText("Paid.").waitFor()
        await webhooks.filter({ hasText: /delivered.*the job ended/s }).waitFor()
        assert.strictEqual(
          (await client.jobs.get(handle.id)).steps[1]?.tool?.output,
          '{"approved":true,"note":"Order it next time."}',
        )
      })
    }),
  )

  it.live("takes up a failed job, and offers no changes to readers", () =>
    Effect.gen(function* () {
      const reader = yield* tokenFor("rita", { tenant: "acme", roles: ["read"] })
      yield* scene(async ({ client, enter, fake, page }) => {
        const { id } = await client.agents.create({ name: "a" })
        fake.when((asked) => asked.text.includes("moody")).script(fault.invalidRequest())
        const handle = await client.agents.execute(id, { task: "Something moody" })
        await handle.wait().catch(() => undefined)
        await enter(reader)
        for (const [hash, shown] of [
          [`#/jobs/${handle.id}`, "The job as JSON"],
          [`#/agents/${id}`, "Your token only reads."],
          ["#/agents", /made (just now|\d)/],
        ] as const) {
          await page.evaluate(`location.hash = "${hash}"`)
          await page.getByText(shown).waitFor()
          const changes = page.getByRole("main").getByRole("button", { name: /Run|Resume|Delete|Cancel/ })
          assert.strictEqual((await changes.count()) + (await page.getByRole("link", { name: "New agent" }).count()), 0)
        }
        await page.getByRole("button", { name: "Sign out" }).click()
        await enter()
        await page.evaluate(`location.hash = "#/jobs/${handle.id}"`)
        await page.getByRole("button", { name: "Resume" }).click()
        await page.getByRole("region", { name: "Answer" }).waitFor()
        assert.deepInclude(await client.jobs.get(handle.id), { status: "completed", attempt: 2 })
      })
    }),
  )

  it.live("logs no error when a job is left while its typical cost loads", () =>
    scene(async ({ client, enter, page }) => {
      const { id } = await client.agents.create({ name: "a" })
      const handle = await client.agents.execute(id, { task: TASK })
      await handle.wait()
      await enter()
      const [summary, agent] = [new Held(), new Held()]
      await page.route("**/api/v1/jobs/summary", summary.hold)
      await page.route(`**/api/v1/agents/${id}`, agent.hold)
      await page.evaluate(`location.hash = "#/jobs/${handle.id}"`)
      await Promise.all([summary.one(), agent.one()])
      const stopped = page.waitForEvent("requestfailed", (request) => request.url().endsWith(id))
      await page.evaluate(`location.hash = "#/agents"`)
      await stopped
      await page.getByRole("link", { name: "a", exact: true }).waitFor()
    }),
  )

  it.live("follows a failed job that another client resumes", () =>
    scene(async ({ client, enter, fake, page }) => {
      const { id } = await client.agents.create({ name: "a" })
      fake.when((asked) => asked.text.includes("moody")).script(fault.invalidRequest())
      const handle = await client.agents.execute(id, { task: "Something moody" })
      await handle.wait().catch(() => undefined)
      await page.clock.install()
      await enter()
      await page.evaluate(`location.hash = "#/jobs/${handle.id}"`)
      await page.getByRole("button", { name: "Resume" }).waitFor()
      await client.jobs.resume(handle.id)
      await soon(async () => {
        await page.clock.fastForward(10_000)
        assert.strictEqual(await page.getByRole("region", { name: "Answer" }).count(), 1)
      })
      await page.getByText("Status: completed").waitFor()
    }),
  )

  it.live("says why an attempt failed while the job waits, what such a job costs, and which providers fail", () =>
    scene(
      async ({ client, enter, fake, page }) => {
        await page.context().grantPermissions(["clipboard-read", "clipboard-write"])
        const { id } = await client.agents.create({ name: "a" })
        const done = await (await client.agents.execute(id, { task: TASK })).wait()
        fake.when((asked) => asked.text.includes("moody")).always(fault.unauthorized())
        await (await client.agents.execute(id, { task: "Something moody" })).wait().catch(() => undefined)
        await enter()
        const providers = page.getByRole("region", { name: "Providers now" })
        await providers
          .getByText(/unauthorized for .*, first .*check PROVIDER\d_API_KEY/)
          .first()
          .waitFor()
        await providers.getByText("needs its operator").first().waitFor()
        fake.when((asked) => asked.text.includes("busy")).always(fault.overloaded())
        const handle = await client.agents.execute(id, { task: "Something busy" })
        await page.evaluate(`location.hash = "#/jobs/${handle.id}"`)
        await page.getByText("The last attempt failed: ").waitFor()
        await page.getByText("follows by itself.").waitFor()
        await says(page.getByRole("region", { name: "Job", exact: true }), [
          "Waits\nto try again after a failure, until ",
          `Usually\n$${((done.cost_micro_usd ?? 0) / 1e6).toFixed(6)}`,
          "At most",
        ])
        await page.getByRole("button", { name: "Copy the job id" }).click()
        await page.getByRole("button", { name: "Copied the job id" }).waitFor()
        assert.strictEqual(await page.evaluate("navigator.clipboard.readText()"), handle.id)
      },
      { roles: ["admin"] },
    ),
  )

  it.live("shows the receipts of sealed proxies, to download and verify", () =>
    Effect.gen(function* () {
      const proxy = yield* startProxy()
      const gateway = yield* startGateway(
        yield* databaseUrl(sqlite),
        {
          PROVIDER1_SEALED_PIN: proxy.kid,
          PROVIDER1_BASE_URL: proxy.url,
          PROVIDER1_API_KEY: "none",
          PROVIDER1_MODEL: "echo",
        },
        "configured",
      )
      const token = yield* tokenFor("dana", { tenant: "acme" })
      const { page } = yield* openPage()
      const file = yield* Effect.promise(async () => {
        const client = new GatewayClient({ baseUrl: gateway.url, token })
        const { id } = await client.agents.create({ name: "a" })
        const handle = await client.agents.execute(id, { task: "hello" })
        await handle.wait().catch(() => undefined)
        await page.goto(`${gateway.url}/console#/jobs/${handle.id}`)
        await page.getByLabel("Token").fill(token)
        await page.keyboard.press("Enter")
        const receipts = page.getByRole("region", { name: "Receipts" })
        await receipts.getByText(proxy.kid).first().waitFor()
        const downloading = page.waitForEvent("download")
        await receipts.getByRole("button", { name: "Download the receipt of Proposal" }).click()
        return (await downloading).path()
      })
      const checked = yield* run(verifyCommand, [file, "--pin", proxy.kid])
      assert.strictEqual(checked.code, 0, checked.stderr)
    }),
  )

  it.live("returns to sign-in when the token is refused later, and says so", () =>
    scene(async ({ enter, page }) => {
      await enter()
      await page.route("**/api/v1/jobs*", async (route) => {
        const { authorization: _, ...headers } = await route.request().allHeaders()
        await route.continue({ headers: { ...headers, authorization: "Bearer stale" } })
      })
      await page.getByRole("link", { name: "Jobs" }).click()
      await page.getByRole("alert").filter({ hasText: "You were signed out." }).waitFor()
      await page.getByLabel("Token").waitFor()
    }),
  )

  it.live("shows the next user nothing that was announced in a session that ended", () =>
    scene(async ({ client, enter, page, token }) => {
      const { id } = await client.agents.create({ name: "a" })
      const handle = await client.agents.execute(id, { task: TASK })
      await handle.wait()
      await enter()
      await page.evaluate(`location.hash = "#/jobs/${handle.id}"`)
      const status = page.getByRole("status")
      await says(status, ["The job is completed."])
      await page.route("**/api/v1/agents*", async (route) => {
        const { authorization: _, ...headers } = await route.request().allHeaders()
        await route.continue({ headers: { ...headers, authorization: "Bearer stale" } })
      })
      await page.getByRole("link", { name: "Agents" }).click()
      await page.getByRole("alert").filter({ hasText: "You were signed out." }).waitFor()
      await page.unroute("**/api/v1/agents*")
      await page.getByLabel("Token").fill(token)
      await page.keyboard.press("Enter")
      await page.getByRole("link", { name: "a", exact: true }).waitFor()
      assert.deepStrictEqual(await status.allTextContents(), [""])
    }),
  )

  it.live("leads from sign-in to the result by keyboard, and shows steps live", () =>
    scene(async ({ consoleUrl, fake, gate, page, token }) => {
      await page.goto(consoleUrl)
      await page.getByLabel("Token").waitFor()
      await page.keyboard.insertText(token)
      await page.keyboard.press("Enter")
      await page.getByText("No calls in 24 hours.").waitFor()
      await hasFocus(page, "Overview")
      await tabTo(page, "link", "Agents")
      await page.keyboard.press("Enter")
      await page.getByText("No agents yet.").waitFor()
      await hasFocus(page, "Agents")
      await tabTo(page, "link", "New agent")
      await page.keyboard.press("Enter")
      await page.getByRole("heading", { name: "New agent" }).waitFor()
      await soon(async () => assert.strictEqual(await page.title(), "New agent · sealgate gateway"))
      await page.locator('a[aria-current="true"]', { hasText: "Agents" }).waitFor()

      await tabTo(page, "button", "Create agent")
      await page.keyboard.press("Enter")
      // The focus goes to the missing field.
      await page.locator('#agent-name:focus[aria-invalid="true"]').waitFor()
      await page.keyboard.insertText("Reviewer")
      await tabTo(page, "textbox", /^Cost/)
      await page.keyboard.insertText("0.50")
      await page.keyboard.press("Enter")
      await page.getByRole("heading", { name: "Reviewer" }).waitFor()

      gate.hold()
      // Polling always returns the first state here, so news came as events.
      let first: string | undefined
      await page.route(/\/api\/v1\/jobs\/[0-9a-f-]{36}$/, async (route) => {
        first ??= await (await route.fetch()).text()
        await route.fulfill({ body: first, contentType: "application/json" })
      })
      await tabTo(page, "textbox", "Task")
      await page.keyboard.insertText(TASK)
      await page.keyboard.press("Control+Enter")
      const debate = page.getByRole("region", { name: "Debate" })
      const steps = page.getByRole("region", { name: "Steps", exact: true }).locator("tbody tr")
      await debate.getByText("The proposal is being written").waitFor()
      await hasFocus(page, "localStorage")
      await counts(steps, 0)

      const order = ["Proposal", "Round 1: critique", "Round 1: response", "Round 2: critique", "Judgement"]
      for (const [i, label] of order.entries()) {
        await fake.received(i + 1)
        await counts(steps, i)
        gate.next()
        await steps.nth(i).getByText(label, { exact: true }).waitFor()
        await debate.getByRole("heading", { name: label.replace(/: response/, ": critique") }).waitFor()
      }
      const answer = page.getByRole("region", { name: "Answer" })
      await answer.getByText(REVISION).waitFor()
      await answer.getByText("0.86").waitFor()
      await says(debate, ["confidence in the answer 0.86 (from what the judge states)"])
      await page.getByRole("status").filter({ hasText: "The job is completed." }).waitFor({ state: "attached" })
      await says(debate, [
        PROPOSAL,
        OBJECTION,
        DETAIL,
        "major",
        "minor",
        "resolved",
        "The proposer revised the answer.",
      ])
      await says(steps.first(), ["gemini-3.8-flash"])
      await steps
        .first()
        .filter({ hasText: /420\s*90\s*\$0\.000653/ })
        .waitFor()
      await counts(page.getByRole("button", { name: "Cancel" }), 0)
      await page.getByText("The job as JSON").click()
      await says(page.locator("details pre"), ['"verdict": "revised"'])
    }),
  )

  it.live("shows a verification with its samples and checks", () =>
    scene(async ({ client, enter, page }) => {
      const { id } = await client.agents.create({ name: "a" })
      const handle = await client.agents.execute(id, { task: "Is 391 a prime?", mode: "verified" })
      const { result } = await handle.wait()
      await enter()
      await page.evaluate(`location.hash = "#/jobs/${handle.id}"`)
      const region = page.getByRole("region", { name: "Verification" })
      assert.isDefined(result)
      assert.isTrue("checks" in result)
      const checks = "checks" in result ? result.checks : []
      await says(
        region,
        checks.flatMap(({ independent_answer, note, question }) => [question, independent_answer, note]),
      )
      await region.filter({ hasText: /391 is a prime[^]*gemini[^]*17 × 23[^]*claude/ }).waitFor()
      await region.filter({ hasText: /consistent[^]*consistent/ }).waitFor()
    }),
  )

  it.live("cancels a job that is running", () =>
    scene(async ({ client, enter, fake, gate, page }) => {
      const { id } = await client.agents.create({ name: "a" })
      gate.hold()
      const handle = await client.agents.execute(id, { task: TASK })
      await fake.received(1)
      await enter()
      await page.evaluate(`location.hash = "#/jobs/${handle.id}"`)
      await page.getByRole("button", { name: "Cancel" }).click()
      await page.getByRole("status").filter({ hasText: "The job is cancelled." }).waitFor({ state: "attached" })
      await page.getByText("It ended before its first step.").waitFor()
      assert.strictEqual((await client.jobs.get(handle.id)).status, "cancelled")
    }),
  )

  it.live("asks before deleting, and restores the focus", () =>
    scene(async ({ client, enter, page }) => {
      await client.agents.create({ name: "First" })
      await client.agents.create({ name: "Second" })
      await enter()
      await page.getByRole("link", { name: "Agents" }).click()
      await tabTo(page, "button", "Delete Second")
      await page.keyboard.press("Enter")
      const dialog = page.getByRole("dialog", { name: "Delete Second?" })
      await dialog.waitFor()
      // Pressing Enter at once is harmless.
      await hasFocus(page, "Keep it")
      await page.keyboard.press("Escape")
      // The element, because a closed dialog has no role any more, and the page has not yet heard that it closed.
      await page.locator("dialog").waitFor({ state: "detached" })
      await hasFocus(page, "Delete")
      assert.strictEqual((await client.agents.list()).items.length, 2)
      await page.keyboard.press("Enter")
      await dialog.waitFor()
      await page.keyboard.press("Tab")
      await page.keyboard.press("Enter")
      await page.getByText("Second was deleted.").waitFor({ state: "attached" })
      await page.getByRole("link", { name: "Second", exact: true }).waitFor({ state: "detached" })
      assert.deepStrictEqual(
        (await client.agents.list()).items.map(({ name }) => name),
        ["First"],
      )
    }),
  )

  it.live("lists jobs by status and page, updates the list, and pauses while hidden", () =>
    scene(async ({ client, enter, gate, page }) => {
      const { id } = await client.agents.create({ name: "Reviewer" })
      const done = await client.agents.execute(id, { task: "one that is done" })
      await done.wait()
      gate.hold()
      for (let i = 0; i < 21; i++) await client.agents.execute(id, { task: `open ${i}` })
      await page.clock.install()
      await enter()
      await page.getByRole("link", { name: "Jobs" }).click()
      await page.getByRole("link", { name: "open 20" }).waitFor()
      await page.locator("tbody tr").first().getByText("Reviewer").waitFor()
      await counts(page.locator("tbody tr"), 20)
      await page.getByRole("button", { name: "Older" }).click()
      await page.getByRole("link", { name: "one that is done" }).waitFor()
      await counts(page.locator("tbody tr"), 2)
      await page.getByLabel("Status").selectOption("completed")
      await page.getByText("1 job shown").waitFor()
      await page.getByLabel("Status").selectOption("failed")
      await page.getByText("No such jobs.").waitFor()
      await page.getByLabel("Status").selectOption("")
      await page.getByLabel("Search").fill("ONE THAT")
      await page.getByLabel("Search").press("Enter")
      await page.getByText("1 job shown").waitFor()
      await page.getByLabel("Mode").selectOption("verified")
      await page.getByText("No such jobs.").waitFor()
      await page.getByLabel("Mode").selectOption("adversarial")
      await page.getByLabel("Agent").selectOption("Reviewer")
      await page.getByLabel("Created").selectOption("in the last hour")
      await page.getByRole("link", { name: "one that is done" }).waitFor()
      await page.getByLabel("Search").fill("")
      await page.getByLabel("Search").press("Enter")
      await page.getByRole("link", { name: "open 20" }).waitFor()

      await client.agents.execute(id, { task: "made elsewhere" })
      await page.clock.fastForward(5000)
      await page.getByRole("link", { name: "made elsewhere" }).waitFor()

      const asked: Array<string> = []
      page.on("request", (request) => asked.push(request.url()))
      const look = async (hidden: boolean) => {
        await page.evaluate(`Object.defineProperty(document, "hidden", { value: ${hidden}, configurable: true })`)
        await page.evaluate(`document.dispatchEvent(new Event("visibilitychange"))`)
      }
      await look(true)
      asked.length = 0
      await page.clock.fastForward(60_000)
      assert.deepStrictEqual(asked, [])
      await client.agents.execute(id, { task: "made while away" })
      await look(false)
      await page.getByRole("link", { name: "made while away" }).waitFor()
    }),
  )

  const HOUR = 3_600_000
  const NOW = Date.now()
  const calls = [
    callRecord({ at: NOW - 2 * HOUR, cost: 1234, baseline: 5000 }),
    callRecord({ at: NOW - 2 * HOUR, cost: 9000, baseline: 1000, model: "large" }),
    callRecord({ at: NOW - 50 * HOUR, cost: 700_000, baseline: 2_000_000 }),
    callRecord({ at: NOW - 2 * HOUR, cost: null, baseline: null, outcome: "timeout" }),
    callRecord({ at: NOW - 2 * HOUR, cost: 11, baseline: 12, tenant: "umbrella" }),
  ]

  it.live("opens with calls, latencies and savings, in a chart, in figures and in words", () =>
    scene(
      async ({ client, enter, page }) => {
        // Page and test use the same time, also if an hour ends in between.
        await page.clock.setFixedTime(NOW)
        await enter()
        for (const [button, interval, hours] of [
          ["7 days", "day", 8 * 24],
          ["24 hours", "hour", 24],
        ] as const) {
          await page.getByRole("button", { name: button }).click()
          await page.getByRole("heading", { name: `Cost per ${interval}, ${button}` }).waitFor()
          const chart = page.getByRole("img", { name: new RegExp(`^Cost per ${interval}`) })
          await chart.locator("canvas").waitFor()
          await page.getByText("The same as a table").click()
          const table = page.getByRole("region", { name: "Table of figures over time" }).locator("tbody tr")
          await table.first().waitFor()
          const shown = (await table.allInnerTexts()).map((row) => row.split("\t"))
          const from = shown[0]?.[0]?.replace(" UTC", "Z").replace(" ", "T") ?? ""
          const stats = await client.routing.stats({ from, to: new Date(NOW), interval })
          assert.isAtMost(NOW - Date.parse(from), hours * HOUR)
          assert.deepStrictEqual(
            shown.map(([, ...figures]) => figures),
            (stats.over_time ?? []).map((part) => [
              ...[part.calls, part.failed_calls, part.unpriced_calls].map(String),
              ...[part.latency_p50_ms, part.latency_p95_ms].map((ms) => (ms === null ? "–" : `${ms} ms`)),
              ...[part.actual_micro_usd, part.baseline_micro_usd, part.saved_micro_usd].map(
                (amount) => `${amount < 0 ? "−" : ""}$${(Math.abs(amount) / 1e6).toFixed(6)}`,
              ),
            ]),
          )
          await soon(async () =>
            assert.include(await chart.getAttribute("aria-label"), `${stats.calls} calls cost`, interval),
          )
          await page.getByText("The same as a table").click()
        }
        // 1,234 and 9,000 against 5,000 and 1,000.
        await says(page.locator(".figures"), ["−$0.004234", "$0.0102", "$0.006000", "33.3 % of all", "50 ms"])
        // The calls have no key.
        await page.getByRole("region", { name: "Table of keys" }).getByText("other keys, and tokens").waitFor()
        await page.getByRole("region", { name: "Table of agents" }).waitFor()
        await page.getByRole("button", { name: "Latency" }).click()
        await page.getByRole("heading", { name: "Latency per hour, 24 hours" }).waitFor()
        await page.getByText("How this is calculated").click()
        await page.getByText("Baseline: the same input").waitFor()
        await page.getByRole("button", { name: "all tenants" }).click()
        await page.getByText("25.0 % of all").waitFor()
      },
      { calls, roles: ["admin"] },
    ),
  )

  it.live("lets administrators edit the routing configuration", () =>
    scene(
      async ({ client, enter, page }) => {
        const before = await client.routing.config()
        await enter()
        await page.getByRole("link", { name: "Routing" }).click()
        await page.getByText("The default is in force.").waitFor()
        await page.getByLabel("Strategy").selectOption("fallback")
        await page.getByLabel("Context, tokens").first().fill("many")
        await page.getByRole("button", { name: "Save" }).click()
        await hasFocus(page, "Context, tokens")
        await page.getByLabel("Context, tokens").first().fill("400000")
        await page.getByLabel("Input, $ per million", { exact: true }).first().fill("1")
        await page.getByLabel("Output, $ per million").first().fill("2")
        const changes = page.getByRole("region", { name: "What Save changes" })
        await says(changes, ["strategy\tcost\tfallback", "input, $ per million\tempty\t1"])
        await says(page.getByRole("region", { name: "Prices in force" }), [
          "Cached\tCache writes\t",
          "provider3/claude-haiku-4-5\t1\t5\t0.1\t1.25\t",
          "provider1/gpt-6-sol\t",
          "as of",
        ])
        await page.getByRole("button", { name: "Save" }).click()
        await page.getByText("Version 1 is in force.").first().waitFor()
        await says(changes, ["Nothing yet."])
        const after = await client.routing.config()
        assert.deepInclude(after, { version: 1, strategy: "fallback", baseline: before.baseline, retry: before.retry })
        assert.deepInclude(after.targets[0], {
          model: before.targets[0]?.model ?? "",
          max_context_tokens: 400_000,
          prices: { input: 1_000_000, output: 2_000_000, cached_input: 1_000_000 },
        })
        assert.deepStrictEqual(after.targets.slice(1), before.targets.slice(1))

        // Another administrator saved first.
        await client.routing.replaceConfig({ ...before, version: 1 })
        await page.getByRole("button", { name: "Save" }).click()
        await page.getByRole("alert").filter({ hasText: "The routing configuration changed meanwhile" }).waitFor()
      },
      { calls, roles: ["admin"] },
    ),
  )

  it.live("explains empty views, and shows problems with their trace", () =>
    scene(async ({ enter, page }) => {
      await enter()
      await page.getByText("No calls in 24 hours.").waitFor()
      // Only administrators may ask for all tenants.
      await counts(page.getByRole("button", { name: "all tenants" }), 0)
      await page.getByRole("link", { name: "Agents" }).click()
      await page.getByText("No agents yet.").waitFor()
      await page.getByRole("link", { name: "Jobs" }).click()
      await page.getByText("No jobs yet.").waitFor()
      await page.evaluate(`location.hash = "#/jobs/01890a5d-ac96-774b-bcce-b302099a8057"`)
      const alert = page.getByRole("alert")
      await alert.filter({ hasText: "There is no such job." }).waitFor()
      await alert.filter({ hasText: /Trace id [0-9a-f]{32}/ }).waitFor()
      await says(alert, ["Go back to the list."])
    }),
  )

  it.live("renders the words of users and models as text, never as markup", () =>
    scene(async ({ client, enter, page }) => {
      const markup = `<img src=x onerror="document.title='run'"><b>bold</b> javascript:alert(1)`
      const { id } = await client.agents.create({ name: markup, instructions: markup })
      const handle = await client.agents.execute(id, { task: markup })
      await handle.wait()
      await enter()
      for (const [hash, own] of [
        ["#/agents", "New agent"],
        [`#/agents/${id}`, "Its latest jobs"],
        ["#/jobs", "newest first"],
        [`#/jobs/${handle.id}`, "The job as JSON"],
      ] as const) {
        await page.evaluate(`location.hash = "${hash}"`)
        await page.getByText(own).waitFor()
        await page.getByText("<b>bold</b>").filter({ visible: true }).first().waitFor()
        await counts(page.locator("main img, main b"), 0)
      }
    }),
  )

  it.live("creates one job for a task that is sent again after a lost answer", () =>
    scene(async ({ client, enter, page }) => {
      const { id } = await client.agents.create({ name: "Reviewer" })
      await enter()
      await page.evaluate(`location.hash = "#/agents/${id}"`)
      let lost = 0
      await page.route("**/execute", async (route) => {
        await route.fetch()
        lost++
        await route.abort()
      })
      await page.getByRole("textbox", { name: "Task" }).fill(TASK)
      await page.getByRole("button", { name: "Run", exact: true }).click()
      await page.getByRole("alert").filter({ hasText: "The gateway did not answer." }).waitFor()
      await page.unroute("**/execute")
      await page.getByRole("button", { name: "Run", exact: true }).click()
      await page.getByRole("region", { name: "Answer" }).waitFor()
      assert.isAbove(lost, 1)
      assert.strictEqual((await client.jobs.list()).items.length, 1)
    }),
  )

  it.live("works without a secure context", () =>
    scene(async ({ client, enter, page }) => {
      await page.addInitScript("delete Crypto.prototype.randomUUID; delete Crypto.prototype.subtle")
      const { id } = await client.agents.create({ name: "Reviewer" })
      await enter()
      await page.evaluate(`location.hash = "#/agents/${id}"`)
      await page.getByRole("textbox", { name: "Task" }).fill(TASK)
      await page.getByRole("button", { name: "Run", exact: true }).click()
      await page.getByRole("region", { name: "Answer" }).getByText(REVISION).waitFor()
    }),
  )
})
