/** The pages of keys and of the audit trail in a real browser. */
import { assert, describe, it } from "@effect/vitest"
import { GatewayClient, GatewayProblem } from "../../src/client/gateway.ts"
import { makeProblem, PROBLEM_CONTENT_TYPE } from "../../src/domain/problems/problem.ts"
import { focused, hasBrowser, Held, soon } from "../support/browser.ts"
import { scene, staysOpen } from "./gateway/scene.ts"
import { TASK } from "./gateway/stage.ts"

describe.runIf(hasBrowser)("the gateway's page of keys", () => {
  it.live("creates a key by keyboard, shows its secret once, and revokes it", () =>
    scene(
      async ({ client, enter, gateway, page }) => {
        await page.context().grantPermissions(["clipboard-read", "clipboard-write"])
        await enter()
        await page.getByRole("link", { name: "Keys" }).click()
        await page.getByText("No keys yet.").waitFor()
        await page.getByRole("button", { name: "New key" }).click()
        const dialog = page.getByRole("dialog")
        await dialog.getByLabel("Name").waitFor()
        await page.keyboard.press("Enter")
        // The focus is in the field with the mistake.
        await page.locator('#key-name:focus[aria-invalid="true"]').waitFor()
        await page.keyboard.insertText("ci")
        await dialog.getByLabel("US dollars").fill("0.0000001")
        await page.keyboard.press("Enter")
        await dialog.getByText("Enter US dollars, such as 0.50").waitFor()
        await dialog.getByLabel("US dollars").fill("5")
        await dialog.getByRole("button", { name: "Add a budget per hour" }).click()
        await dialog.getByLabel("Period").nth(1).selectOption("total")
        await dialog.getByLabel("Tokens").nth(1).fill("100000")
        await dialog.getByLabel("Only these models").fill("*mini*, gpt-6-sol")
        await dialog.getByLabel("Days until it expires").fill("90")
        await dialog.getByLabel("Weight").fill("101")
        await dialog.getByLabel("Running jobs at most").fill("2")
        await dialog.getByLabel("Calls in flight at most").fill("4")
        await dialog.getByRole("button", { name: "Create key" }).click()
        await dialog.getByText("Enter a whole number up to 100, or leave it empty.").waitFor()
        await dialog.getByLabel("Weight").fill("3")
        await dialog.getByRole("button", { name: "Create key" }).click()
        await dialog.getByRole("button", { name: "Copy the key" }).click()
        await dialog.getByRole("button", { name: "Copied the key" }).waitFor()
        const secret = await page.evaluate<string>("navigator.clipboard.readText()")
        assert.match(secret, /^sgk_/)
        // A key press must not lose the secret.
        await page.keyboard.press("Escape")
        await dialog.getByText(secret).waitFor()
        await dialog.getByRole("button", { name: "I stored it" }).click()
        const list = page.getByRole("group", { name: "List of keys" })
        await list.getByText("$0.00 of $5.00 per day spent").waitFor()
        await list.getByText("0 of 100,000 tokens in total spent").waitFor()
        await list.getByText("weight 3 · at most 2 running jobs · at most 4 calls in flight").waitFor()
        assert.notInclude(await page.evaluate<string>("document.documentElement.outerHTML"), secret)
        const [key] = (await client.keys.list()).items
        assert.deepInclude(key, {
          name: "ci",
          roles: ["run"],
          models: { allow: ["*mini*", "gpt-6-sol"] },
          weight: 3,
          max_running_jobs: 2,
          max_calls_in_flight: 4,
          budgets: [
            { per: "day", max_cost_micro_usd: 5_000_000 },
            { per: "total", max_tokens: 100_000 },
          ],
        })

        const holder = new GatewayClient({ baseUrl: gateway.url, token: secret })
        assert.deepStrictEqual((await holder.agents.list()).items, [])
        await page.getByRole("button", { name: "Revoke ci" }).click()
        await page.keyboard.press("Escape")
        await page.locator("dialog").waitFor({ state: "detached" })
        await soon(async () => assert.include(await focused(page), "Revoke"))
        await page.keyboard.press("Enter")
        await dialog.getByRole("button", { name: "Revoke", exact: true }).click()
        await page.getByText("No keys yet.").waitFor()
        const refusal = await holder.agents.list().catch((error: unknown) => error)
        assert.strictEqual(refusal instanceof GatewayProblem && refusal.problem.status, 401)

        await page.getByRole("link", { name: "Audit trail" }).click()
        const rows = page.getByRole("region", { name: "Table of changes" }).locator("tbody tr")
        await rows.first().getByText("revoked the key").waitFor()
        await rows.nth(1).getByText("created the key").waitFor()
      },
      { roles: ["admin"] },
    ),
  )

  it.live("shows a new key's secret until it is stored, whatever happens to the page and the session", () =>
    scene(
      async ({ enter, page, token }) => {
        await enter()
        await page.getByRole("link", { name: "Keys" }).click()
        await page.getByRole("button", { name: "New key" }).click()
        const dialog = page.getByRole("dialog")
        await dialog.getByLabel("Name").fill("ci")
        await dialog.getByRole("button", { name: "Create key" }).click()
        const secret = page.getByText(/^sgk_/)
        await secret.waitFor()
        const pressEscape = async () => {
          for (let presses = 0; presses < 3; presses++) await page.keyboard.press("Escape")
          await page.evaluate("new Promise((go) => requestAnimationFrame(() => requestAnimationFrame(go)))")
          assert.isTrue(await secret.isVisible())
          assert.isTrue(await page.evaluate(`document.querySelector("dialog").matches(":modal")`))
        }
        await pressEscape()
        // As in a browser that does not know the attribute.
        await page.evaluate(`document.querySelector("dialog").removeAttribute("closedby")`)
        await pressEscape()

        await page.route("**/api/v1/jobs*", async (route) => {
          const problem = makeProblem({ code: "unauthorized", status: 401, title: "Who are you?" })
          await route.fulfill({ status: 401, contentType: PROBLEM_CONTENT_TYPE, body: JSON.stringify(problem) })
        })
        await page.evaluate(`location.hash = "#/jobs"`)
        await page.getByText("You were signed out.").waitFor()
        assert.isTrue(await secret.isVisible())
        await dialog.getByRole("button", { name: "I stored it" }).click()
        // A closed dialog has no role any more while its text is still in the page.
        await secret.waitFor({ state: "detached" })

        await page.unroute("**/api/v1/jobs*")
        await page.getByLabel("Token").fill(token)
        await page.keyboard.press("Enter")
        await page.getByText("No jobs yet.").waitFor()
      },
      { roles: ["admin"] },
    ),
  )

  it.live("keeps the form of a key open until the answer, and shows the secret even if the page was left", () =>
    scene(
      async ({ client, enter, page }) => {
        await enter()
        await page.getByRole("link", { name: "Keys" }).click()
        const dialog = page.getByRole("dialog")
        const secret = page.getByText(/^sgk_/)
        const held = new Held()
        await page.route("**/api/v1/keys", held.hold)
        const create = async (name: string) => {
          await page.getByRole("button", { name: "New key" }).click()
          await dialog.getByLabel("Name").fill(name)
          await dialog.getByRole("button", { name: "Create key" }).click()
          await held.one()
        }
        const store = async () => {
          await secret.waitFor()
          await dialog.getByRole("button", { name: "I stored it" }).click()
          await secret.waitFor({ state: "detached" })
        }
        await create("ci")
        await staysOpen(page, "Cancel")
        held.next()
        await store()
        await soon(async () => assert.strictEqual(await focused(page), "New key"))
        await page.getByRole("group", { name: "List of keys" }).getByRole("heading", { name: "ci" }).waitFor()

        await create("deputy")
        await page.evaluate(`location.hash = "#/jobs"`)
        await dialog.waitFor({ state: "detached" })
        held.releaseBytes()
        await store()

        const [{ id } = { id: "" }] = (await client.keys.list()).items
        await page.getByRole("link", { name: "Keys" }).click()
        await page.getByRole("button", { name: "Change deputy" }).click()
        await dialog.getByLabel("Name").fill("deputy 2")
        const changed = new Held()
        await page.route(`**/api/v1/keys/${id}`, changed.hold)
        await dialog.getByRole("button", { name: "Save" }).click()
        await changed.one()
        await staysOpen(page, "Cancel")
        changed.releaseBytes()
        await page.getByRole("heading", { name: "deputy 2" }).waitFor()
      },
      { roles: ["admin"] },
    ),
  )

  it.live("shows what is spent and left of a key's budgets", () =>
    scene(
      async ({ client, enter, gateway, page }) => {
        const budgets = [{ per: "day", max_cost_micro_usd: 500_000, max_tokens: 100_000 }] as const
        const { id, key } = await client.keys.create({ name: "ci", roles: ["run"], budgets })
        const agent = await client.agents.create({ name: "a" })
        const holder = new GatewayClient({ baseUrl: gateway.url, token: key })
        await (await holder.agents.execute(agent.id, { task: TASK })).wait()
        const [use] = await client.budgets.get({ key: id })
        assert.isAbove(use?.spent_tokens ?? 0, 0)
        await enter()
        await page.getByRole("link", { name: "Keys" }).click()
        const list = page.getByRole("group", { name: "List of keys" })
        await list.getByText(`${use?.spent_tokens.toLocaleString("en-US")} of 100,000 tokens per day spent`).waitFor()
        await list.getByText(`${use?.left_tokens?.toLocaleString("en-US")} left`).waitFor()
        await list.getByText(/^renews .* 00:00 UTC$/).waitFor()
        const bars = list.locator("svg.budget")
        assert.strictEqual(await bars.count(), 2)
        const width = Number(await bars.nth(1).locator(".span-part").getAttribute("width"))
        assert.closeTo(width / 320, (use?.spent_tokens ?? 0) / 100_000, 0.001)
      },
      { roles: ["admin"] },
    ),
  )

  it.live("changes a key by keyboard, and only what was typed", () =>
    scene(
      async ({ client, enter, page }) => {
        const budgets = [{ per: "day", max_tokens: 100_000 }] as const
        const { id } = await client.keys.create({ name: "ci", roles: ["run"], budgets, weight: 3 })
        await enter()
        await page.getByRole("link", { name: "Keys" }).click()
        const button = page.getByRole("button", { name: "Change ci" })
        await button.focus()
        await page.keyboard.press("Enter")
        const dialog = page.getByRole("dialog", { name: "Change ci" })
        await dialog.getByLabel("Tokens").waitFor()
        assert.strictEqual(await dialog.getByLabel("Tokens").inputValue(), "100000")
        await client.keys.update(id, { max_running_jobs: 2 })
        await dialog.getByLabel("Weight").fill("0")
        await page.keyboard.press("Enter")
        await page.locator('#key-weight:focus[aria-invalid="true"]').waitFor()
        await dialog.getByLabel("Weight").fill("")
        await dialog.getByLabel("Name").fill("ci 2")
        await page.keyboard.press("Enter")
        await page.locator("dialog").waitFor({ state: "detached" })
        await soon(async () => assert.include(await focused(page), "Change"))
        await page.getByRole("heading", { name: "ci 2" }).waitFor()
        const key = await client.keys.get(id)
        assert.deepInclude(key, { name: "ci 2", roles: ["run"], budgets, max_running_jobs: 2 })
        assert.notProperty(key, "weight")
      },
      { roles: ["admin"] },
    ),
  )

  it.live("opens the key as it is now, and sends nothing if nothing was changed", () =>
    scene(
      async ({ client, enter, page }) => {
        const { id } = await client.keys.create({ name: "ci", roles: ["run"], expires_at: "2020-01-01T00:00:00Z" })
        const changes: Array<unknown> = []
        page.on("request", (request) => request.method() === "PATCH" && changes.push(request.postDataJSON()))
        await enter()
        await page.getByRole("link", { name: "Keys" }).click()
        const button = page.getByRole("button", { name: "Change ci" })
        const save = page.getByRole("button", { name: "Save" })
        await button.click()
        await save.click()
        await page.locator("dialog").waitFor({ state: "detached" })
        assert.strictEqual(await page.getByText("The key of ci was changed.").count(), 0)
        await client.keys.update(id, { models: { allow: ["*mini*"] } })
        await button.click()
        await page.getByLabel("Not these models").fill("gpt-6-mini")
        await save.click()
        await page.getByText("The key of ci was changed.").waitFor()
        assert.deepStrictEqual(changes, [{ models: { allow: ["*mini*"], deny: ["gpt-6-mini"] } }])
        await page.locator("dialog").waitFor({ state: "detached" })
        await client.keys.revoke(id)
        await button.click()
        await page.getByRole("alert").filter({ hasText: "There is no such key." }).waitFor()
      },
      { roles: ["admin"] },
    ),
  )

  it.live("shows the key that made a schedule", () =>
    scene(
      async ({ client, enter, gateway, page }) => {
        const { id, key } = await client.keys.create({ name: "ci", roles: ["manage"] })
        const agent = await client.agents.create({ name: "a" })
        const holder = new GatewayClient({ baseUrl: gateway.url, token: key })
        await holder.schedules.create({ agent_id: agent.id, cron: "0 7 * * *", request: { task: TASK } })
        await enter()
        await page.evaluate(`location.hash = "#/schedules"`)
        await page.getByRole("listitem").filter({ hasText: TASK }).getByTitle(id).waitFor()
      },
      { roles: ["admin"] },
    ),
  )

  it.live("gives managers keys without limits that they could evade, and no administrator's", () =>
    scene(
      async ({ client, enter, page }) => {
        await enter()
        await page.getByRole("link", { name: "Keys" }).click()
        await page.getByText("No keys yet.").waitFor()
        assert.strictEqual(await page.getByRole("link", { name: "Audit trail" }).count(), 0)
        await page.getByRole("button", { name: "New key" }).click()
        const dialog = page.getByRole("dialog")
        const roles = await dialog.getByLabel("Role").locator("option").allInnerTexts()
        assert.deepStrictEqual(
          roles.map((text) => text.split(":")[0]),
          ["read", "run", "manage"],
        )
        await dialog.getByLabel("Name").fill("deputy")
        await dialog.getByLabel("US dollars").fill("5")
        await dialog.getByLabel("Role").selectOption("manage")
        assert.strictEqual(await dialog.getByLabel("US dollars").count(), 0)
        await dialog.getByRole("button", { name: "Create key" }).click()
        await dialog.getByRole("button", { name: "I stored it" }).waitFor()
        assert.notProperty((await client.keys.list()).items[0], "budgets")
      },
      { roles: ["manage"] },
    ),
  )

  it.live("is not offered to callers who may not manage keys", () =>
    scene(async ({ enter, page }) => {
      await enter()
      assert.strictEqual(await page.getByRole("link", { name: "Keys" }).count(), 0)
      await page.evaluate(`location.hash = "#/keys"`)
      await page.getByRole("alert").filter({ hasText: 'This needs the role "manage".' }).waitFor()
    }),
  )
})
