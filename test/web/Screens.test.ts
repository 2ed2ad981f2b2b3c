/**
 * Checks every state of both consoles, wide and on a phone, light and dark: no sideways scrolling, no finding of axe. With
 * SCREENSHOTS=folder, saves a screenshot of each.
 */
import { mkdirSync } from "node:fs"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import type { Page } from "playwright-core"
import { GatewayClient } from "../../src/client/gateway.ts"
import { makeProblem, PROBLEM_CONTENT_TYPE } from "../../src/domain/problems/problem.ts"
import { callRecord } from "../services/routing/callRecords.ts"
import { accessibilityViolations, DESKTOP, hasBrowser, Held, openPage, PHONE, soon } from "../support/browser.ts"
import { FakeUpstream, fault } from "../support/FakeUpstream.ts"
import { tokenFor } from "../support/gateway.ts"
import { behind, startProxy } from "../support/proxy.ts"
import { scene } from "./gateway/scene.ts"
import { ASKS, TASK } from "./gateway/stage.ts"

const FOLDER = process.env["SCREENSHOTS"]
if (FOLDER !== undefined) mkdirSync(FOLDER, { recursive: true })

/** Opens what is folded, and returns to the state before. */
const UNFOLD = `globalThis.folded = [...document.querySelectorAll("main details:not([open])")]
  for (const details of folded) details.open = true`
const FOLD = "for (const details of folded) details.open = false"

const SIZES = { 1280: DESKTOP, 390: PHONE } as const

/** Checks the current page in every size and colour scheme. */
const looker =
  (page: Page, console: string, fillsThePage = false) =>
  async (state: string) => {
    for (const [width, viewport] of Object.entries(SIZES)) {
      await page.setViewportSize(viewport)
      for (const colorScheme of ["light", "dark"] as const) {
        await page.emulateMedia({ colorScheme })
        if (FOLDER !== undefined) {
          const path = `${FOLDER}/${console}-${state}-${width}-${colorScheme}.png`
          await page.screenshot({ path, fullPage: true })
        }
        const where = `${state} at ${width}, ${colorScheme}`
        if (!fillsThePage) await page.evaluate(UNFOLD)
        await soon(async () =>
          assert.strictEqual(await page.evaluate("document.documentElement.scrollWidth"), viewport.width, where),
        )
        assert.deepStrictEqual(await accessibilityViolations(page), [], where)
        if (!fillsThePage) await page.evaluate(FOLD)
        else if (width === "1280") {
          assert.strictEqual(await page.evaluate("document.documentElement.scrollHeight"), viewport.height, where)
        }
      }
    }
    await page.setViewportSize(DESKTOP)
  }

const VERIFIED = "✓ Answer, receipt and proof verified"
const LONG =
  "Sealing hides what is asked and answered from everybody between this page and the proxy. What remains visible is that there was a request, about when, and how many frames came back; and because frames come by the clock, their number says little about the answer."

/** Dozens of examinations by axe take long on a busy machine. */
const LONG_MS = 180_000

describe.runIf(hasBrowser)("every state of the proxy's console", { timeout: LONG_MS }, () => {
  it.live("fits and is accessible", () =>
    Effect.gen(function* () {
      const upstream = yield* FakeUpstream.make()
      const proxy = yield* startProxy({ settings: { ...behind(upstream), provider1Model: "gpt-6-sol" } })
      const { page } = yield* openPage()
      yield* Effect.promise(async () => {
        const look = looker(page, "proxy", true)
        const ask = async (question: string) => {
          await page.getByLabel("Your question").fill(question)
          await page.getByLabel("Your question").press("Enter")
        }
        await page.goto(`${proxy.url}/console`)
        await page.getByText("✓ ready").waitFor()
        await look("01-unpinned")
        await page.getByLabel("Key id to pin").fill("nonsense")
        await page.keyboard.press("Enter")
        await page.getByRole("alert").waitFor()
        await look("02-not-a-pin")
        await page.goto("about:blank")
        await page.goto(`${proxy.url}/console#pin=${proxy.kid}`)
        await page.getByText("○ From a link, not checked").waitFor()
        await look("03-pinned-by-link")
        await page.getByRole("button", { name: "I checked it" }).click()
        upstream.always({ text: LONG, usage: { input: 21, output: 60 } })
        await ask("What can somebody see who listens between us?")
        await page.getByText(VERIFIED).waitFor()
        await look("04-answered")
        const held = new Held()
        await page.route("**/v1/completions", held.hold)
        await ask("And somebody who keeps everything for ten years?")
        await held.one()
        await look("05-asking")
        held.releaseBytes()
        await page.getByText(VERIFIED).nth(1).waitFor()
        await page.unroute("**/v1/completions")
        await page.getByRole("switch", { name: "Play the attacker" }).check()
        await look("12-attacker-on")
        await ask("What if somebody changes the answer?")
        await page.getByText("✕ Refused", { exact: true }).waitFor()
        await page.locator(".crossing.refused").scrollIntoViewIfNeeded()
        await look("06-tampered")
        await page.getByRole("switch", { name: "Play the attacker" }).uncheck()
        await page.getByRole("button", { name: "New conversation" }).click()
        upstream.script(fault.invalidRequest())
        await ask("Something that the provider does not take")
        await page.getByText("✕ No answer").waitFor()
        await look("07-refused-by-provider")
        upstream.script({ text: ["one ", "two"], delivery: { breaks: { after: 1, how: "silence" } } })
        await page.getByRole("button", { name: "New conversation" }).click()
        await ask("Something long")
        await page.locator(".answer").waitFor()
        await look("13-streaming")
        await page.getByRole("button", { name: "Stop" }).click()
        await page.getByText("■ Stopped").waitFor()
        await look("08-stopped")
        await page.goto("about:blank")
        await page.goto(`${proxy.url}/console#pin=${"A".repeat(43)}`)
        await page.getByRole("region", { name: "Another identity" }).waitFor()
        await look("09-another-identity")
        await page.getByRole("button", { name: "Pin what the link names" }).click()
        await ask("Is it still you?")
        await page.getByText("✕ Refused", { exact: true }).waitFor()
        await look("10-identity-refused")
        await page.route("**/*", (route) => route.abort())
        await ask("Anybody there?")
        await page.getByText("✕ No answer").waitFor()
        await look("11-proxy-gone")
      })
    }),
  )
})

const HOUR = 3_600_000
const BUDGETS = [
  { per: "day", max_cost_micro_usd: 500_000 },
  { per: "total", max_cost_micro_usd: 100_000_000, max_tokens: 100_000 },
] as const
const NOW = Date.now()
const calls = Array.from({ length: 20 }, (_, i) =>
  callRecord({
    at: NOW - (i + 0.5) * HOUR,
    cost: 1200 + 331 * (i % 7),
    baseline: 5000 + 900 * (i % 5),
    model: i % 3 === 0 ? "gpt-6-sol" : "gemini-3.8-flash",
    ...(i === 4 ? { cost: null, baseline: null, outcome: "timeout" } : {}),
  }),
)

const goTo = async (page: Page, hash: string, text: string | RegExp) => {
  await page.evaluate(`location.hash = "${hash}"`)
  await page.getByText(text).first().waitFor()
}

describe.runIf(hasBrowser)("every state of the gateway's console", { timeout: LONG_MS }, () => {
  it.live("fits and is accessible while empty", () =>
    scene(
      async ({ consoleUrl, enter, page }) => {
        const look = looker(page, "gateway")
        await page.goto(consoleUrl)
        await page.getByLabel("Token").waitFor()
        await look("01-sign-in")
        await page.getByLabel("Token").fill("not a token")
        await page.keyboard.press("Enter")
        await page.getByRole("alert").waitFor()
        await look("02-no-token")
        await enter()
        await page.getByText("No calls in 24 hours.").waitFor()
        await look("03-no-calls")
        await goTo(page, "#/audit", "No changes yet.")
        await look("09-no-changes")
        await goTo(page, "#/agents", "No agents yet.")
        await look("05-no-agents")
        await goTo(page, "#/jobs", "No jobs yet.")
        await look("04-no-jobs")
        await goTo(page, "#/schedules", "No schedules yet.")
        await look("50-no-schedules")
        await goTo(page, "#/agents/new", "Limits of one job")
        await page.getByRole("button", { name: "Create agent" }).click()
        await look("06-new-agent")
        await page.evaluate(`location.hash = "#/jobs/01890a5d-ac96-774b-bcce-b302099a8057"`)
        await page.getByRole("alert").waitFor()
        await look("07-no-such-job")
        const held = new Held((route) => route.abort())
        await page.route("**/api/v1/**", held.hold)
        await goTo(page, "#/jobs", "Loading jobs")
        await look("31-loading")
        held.releaseBytes()
        await page.getByRole("alert").filter({ hasText: "The gateway did not answer." }).waitFor()
        await look("32-offline")
        await page.unroute("**/api/v1/**")
        await page.route("**/api/v1/**", async (route) => {
          const problem = makeProblem({ code: "unauthorized", status: 401, title: "Who are you?" })
          await route.fulfill({ status: 401, contentType: PROBLEM_CONTENT_TYPE, body: JSON.stringify(problem) })
        })
        await goTo(page, "#/agents", "You were signed out.")
        await look("34-signed-out")
      },
      { roles: ["admin"] },
    ),
  )

  it.live("fits and is accessible in use", () =>
    scene(
      async ({ client, enter, fake, gate, page }) => {
        const look = looker(page, "gateway")
        const { id } = await client.agents.create({
          name: "Security reviewer",
          role: "A careful reviewer of web services",
          instructions: "Name the attack before the defence. Say what you are not sure of.",
          limits: { max_cost_micro_usd: 500_000 },
        })
        await client.agents.create({ name: "Fact checker", default_mode: "verified" })
        const debate = await client.agents.execute(id, { task: TASK })
        await debate.wait()
        const verified = await client.agents.execute(id, { task: "Is 391 a prime?", mode: "verified" })
        await verified.wait()
        fake.when((asked) => asked.text.includes("unwelcome")).always(fault.invalidRequest())
        const failed = await client.agents.execute(id, { task: "Something unwelcome" })
        await failed.wait().catch(() => undefined)
        gate.hold()
        const cancelled = await client.agents.execute(id, { task: "Something that nobody needs any more" })
        await client.jobs.cancel(cancelled.id)
        const running = await client.agents.execute(id, { task: "Which cipher suites should a new service offer?" })
        await soon(async () => assert.strictEqual((await client.jobs.get(running.id)).status, "running"))
        await enter()
        await page.getByText("By model").waitFor()
        await look("19-overview")
        await page.getByRole("button", { name: "Latency" }).click()
        await page.getByRole("heading", { name: "Latency per hour, 24 hours" }).waitFor()
        await look("19-overview-latency")
        await goTo(page, "#/agents", "Fact checker")
        await look("10-agents")
        await page.getByRole("button", { name: "Delete Fact checker" }).click()
        await page.getByRole("dialog").waitFor()
        await look("11-delete-agent")
        await page.keyboard.press("Escape")
        await goTo(page, `#/agents/${id}`, "Its latest jobs")
        await look("12-agent")
        await goTo(page, "#/jobs", "newest first")
        await look("13-jobs")
        await goTo(page, `#/jobs/${running.id}`, "The proposal is being written")
        await look("14-running")
        await goTo(page, `#/jobs/${debate.id}`, "Judgement")
        await look("15-debate")
        await goTo(page, `#/jobs/${verified.id}`, "Verification")
        await look("16-verified")
        await goTo(page, `#/jobs/${failed.id}`, "failed")
        await look("17-failed")
        await goTo(page, `#/jobs/${cancelled.id}`, "cancelled")
        await look("18-cancelled")
        await goTo(page, "#/routing", "The default is in force.")
        await page.getByLabel("Strategy").selectOption("quality")
        await page.getByLabel("Input, $ per million").first().fill("dear")
        await page.getByRole("button", { name: "Save" }).click()
        await look("20-routing-mistake")
        await page.getByLabel("Input, $ per million").first().fill("")
        await page.getByLabel("Strategy").selectOption("fallback")
        await page.getByRole("button", { name: "Save" }).click()
        await page.getByText("Version 1 is in force.").first().waitFor()
        await look("21-routing-saved")
        gate.release()
      },
      { roles: ["admin"], calls },
    ),
  )

  it.live("fits and is accessible with long words, waiting jobs, doubtful verdicts, and for readers", () =>
    Effect.gen(function* () {
      const reader = yield* tokenFor("rita.with.a.rather.long.name@an-identity-provider.example", {
        tenant: "acme",
        roles: ["read"],
      })
      yield* scene(
        async ({ client, enter, fake, gate, gateway, page, token }) => {
          const look = looker(page, "gateway")
          const headers = { authorization: `Bearer ${token}` }
          await fetch(`${gateway.url}/api/v1/webhooks/secret`, { method: "POST", headers })
          const { id } = await client.agents.create({
            name: "A payer of bills with quite a long name, as people like to give them, evenifitisoneword".repeat(2),
            instructions: "averylonginstruction".repeat(30),
            default_mode: "direct",
            model_policy: { deny: ["*preview*"] },
            tools: [
              {
                name: "look_up_order",
                description: "Finds an order.",
                url: "http://127.0.0.1:9/order",
                input_schema: { type: "object" },
              },
            ],
            ask_person: {},
            budgets: [{ per: "day", max_cost_micro_usd: 5_000_000, max_tokens: 1_000_000 }],
            // An address at which nothing listens.
            webhook_url: "http://127.0.0.1:9/hook",
          })
          fake.script(ASKS)
          const asking = await client.agents.execute(id, { task: "Pay the bill." })
          await soon(async () => assert.strictEqual((await client.jobs.get(asking.id)).status, "input_required"))
          const doubtful = await client.agents.create({ name: "Doubtful", limits: { timeout_seconds: 1 } })
          fake.when(({ system, text }) => `${system}${text}`.includes("You decide whether")).always({ text: "Hm." })
          const undecided = await client.agents.execute(doubtful.id, { task: TASK })
          await undecided.wait()
          fake.when((asked) => asked.text.includes("busy")).always(fault.overloaded())
          const retrying = await client.agents.execute(id, { task: "averylongword".repeat(20) + " busy" })
          await soon(async () => assert.isDefined((await client.jobs.get(retrying.id)).waiting?.until))
          gate.hold()
          const late = await client.agents.execute(doubtful.id, { task: "Something slow" })
          await late.wait().catch(() => undefined)
          await enter()
          await page.getByText("unavailable").first().waitFor()
          await look("33-overview-failing")
          await goTo(page, `#/agents/${id}`, "look_up_order")
          await look("35-agent-with-tools")
          await goTo(page, "#/agents", "Doubtful")
          await look("36-agents-long-names")
          await goTo(page, "#/jobs", "to try again after a failure")
          await look("37-jobs-long-words")
          await goTo(page, `#/jobs/${asking.id}`, "Next attempt at")
          await page.getByRole("button", { name: "Answer" }).click()
          await look("38-asked")
          await goTo(page, `#/jobs/${undecided.id}`, "inconclusive")
          await look("39-inconclusive")
          await goTo(page, `#/jobs/${retrying.id}`, "The last attempt failed")
          await look("40-retrying")
          await goTo(page, `#/jobs/${late.id}`, "timed out")
          await look("41-timed-out")
          await enter(reader)
          await look("42-overview-of-reader")
          await goTo(page, `#/agents/${id}`, "Your token only reads.")
          await look("43-agent-of-reader")
          await goTo(page, `#/jobs/${asking.id}`, "has to answer")
          await look("44-asked-of-reader")
        },
        { roles: ["admin"] },
      )
    }),
  )

  it.live("fits and is accessible with schedules and threads, and shows readers no buttons", () =>
    Effect.gen(function* () {
      const reader = yield* tokenFor("rita", { tenant: "acme", roles: ["read"] })
      yield* scene(
        async ({ client, enter, page }) => {
          const look = looker(page, "gateway")
          const { id } = await client.agents.create({ name: "Security reviewer" })
          const thread = (await client.threads.create(id)).id
          const first = await client.agents.execute(id, { task: TASK, thread_id: thread })
          await first.wait()
          await client.agents.execute(id, { task: "Something else" })
          await enter()
          await goTo(page, "#/jobs", "newest first")
          await page.getByRole("link", { name: "Schedules" }).click()
          await page.getByText("No schedules yet.").waitFor()
          await page.getByRole("button", { name: "New schedule" }).click()
          await page.getByRole("button", { name: "Make schedule" }).click()
          await page.getByText("Write the task.").waitFor()
          await look("51-new-schedule")
          await page.getByLabel("Agent").selectOption({ label: "Security reviewer" })
          await page.getByLabel("Task").fill("Summarize the issues of the night. averylongword".repeat(6))
          await page.getByLabel("Times").fill("0 0 31 2 *")
          await page.getByRole("button", { name: "Make schedule" }).click()
          await page.getByText("no time matches").waitFor()
          await look("56-mistake-in-schedule")
          await page.getByLabel("Times").fill("0 7 * * 1-5")
          await page.getByRole("button", { name: "Make schedule" }).click()
          await page.getByText("0 7 * * 1-5").waitFor()
          await look("52-schedules")
          const [made] = (await client.schedules.list()).items
          assert.deepInclude(made, { agent_id: id, cron: "0 7 * * 1-5" })
          await enter(reader)
          await goTo(page, "#/schedules", "0 7 * * 1-5")
          assert.strictEqual(await page.getByRole("main").getByRole("button").count(), 0)
          await look("53-schedules-of-reader")
          await enter()
          await goTo(page, "#/schedules", "0 7 * * 1-5")
          await page.getByRole("button", { name: /^Delete/ }).click()
          await page.getByRole("dialog").waitFor()
          await look("54-delete-schedule")
          await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click()
          await page.getByText("No schedules yet.").waitFor()
          assert.deepStrictEqual((await client.schedules.list()).items, [])
          await goTo(page, `#/jobs/${first.id}`, "Thread")
          await page.getByRole("link", { name: "its jobs" }).click()
          await page.getByText("Jobs of the thread").waitFor()
          await page.getByText("1 job shown").waitFor()
          await look("55-jobs-of-thread")
        },
        { roles: ["manage"] },
      )
    }),
  )

  it.live("fits and is accessible with keys", () =>
    scene(
      async ({ client, enter, gateway, page }) => {
        const look = looker(page, "gateway")
        await enter()
        await goTo(page, "#/keys", "No keys yet.")
        await look("08-no-keys")
        const ci = await client.keys.create({ name: "ci", roles: ["run"], budgets: BUDGETS })
        const { id } = await client.agents.create({ name: "a" })
        const holder = new GatewayClient({ baseUrl: gateway.url, token: ci.key })
        await (await holder.agents.execute(id, { task: TASK })).wait()
        await client.keys.create({ name: "dashboard", roles: ["read"], expires_at: "2020-01-01T00:00:00Z" })
        await goTo(page, "#/overview", "By model")
        await goTo(page, "#/keys", "dashboard")
        await look("22-keys")
        await page.getByRole("button", { name: "Change ci" }).click()
        await page.getByRole("button", { name: "Save" }).waitFor()
        await look("27-change-key")
        await page.keyboard.press("Escape")
        await page.locator("dialog").waitFor({ state: "detached" })
        await page.getByRole("button", { name: "Revoke ci" }).click()
        await page.getByRole("dialog").waitFor()
        await look("23-revoke-key")
        await page.keyboard.press("Escape")
        await page.locator("dialog").waitFor({ state: "detached" })
        await page.getByRole("button", { name: "New key" }).click()
        await page.getByRole("button", { name: "Create key" }).click()
        await page.getByText("Give the key a name").waitFor()
        await look("24-new-key")
        await page.getByLabel("Name").fill("intern")
        await page.getByRole("button", { name: "Create key" }).click()
        await page.getByRole("button", { name: "I stored it" }).waitFor()
        await look("25-secret")
        await page.getByRole("button", { name: "I stored it" }).click()
        await goTo(page, "#/audit", "created the key")
        await look("26-audit")
      },
      { roles: ["admin"] },
    ),
  )
})
