/** The gateway's console with slow, late or missing answers, and for screen readers. */
import { assert, describe, it } from "@effect/vitest"
import { SignJWT } from "jose"
import type { Page, Route } from "playwright-core"
import { makeProblem, PROBLEM_CONTENT_TYPE } from "../../src/domain/problems/problem.ts"
import { focused, hasBrowser, Held, soon } from "../support/browser.ts"
import { SECRET } from "../support/gateway.ts"
import { scene, staysOpen } from "./gateway/scene.ts"
import { ASKS } from "./gateway/stage.ts"

const JOB = /\/api\/v1\/jobs\/[0-9a-f-]{36}$/
const EVENTS = /\/api\/v1\/jobs\/[0-9a-f-]{36}\/events/
const LISTS = /\/api\/v1\/(agents|jobs)(\?|$)/

/** An outage whose answers have distinct traces. `asked` counts refused requests. */
const outage = () => {
  const state = { asked: 0, on: false }
  const answer = async (route: Route): Promise<void> => {
    if (!state.on) return route.continue()
    state.asked++
    const trace_id = String(state.asked).padStart(32, "0")
    const problem = makeProblem({ code: "unavailable", status: 503, title: "Come back later.", trace_id })
    await route.fulfill({ status: 503, contentType: PROBLEM_CONTENT_TYPE, body: JSON.stringify(problem) })
  }
  return { state, answer }
}

const pageIs = (page: Page, n: number): Promise<void> =>
  soon(async () =>
    assert.include(await page.getByRole("navigation", { name: "Pages" }).allInnerTexts(), `Newer\nPage ${n}\nOlder`),
  )

/** Advances the page's clock until `enough`. */
const passing = (page: Page, ms: number, enough: () => void): Promise<void> =>
  soon(async () => {
    await page.clock.fastForward(ms)
    enough()
  })

describe.runIf(hasBrowser)("the gateway's console under faults", () => {
  it.live("accepts a token that never expires", () =>
    scene(async ({ enter, page }) => {
      const token = await new SignJWT({ tenant: "dana" })
        .setProtectedHeader({ alg: "HS256" })
        .setSubject("dana")
        .setIssuer("sealgate")
        .setAudience("sealgate")
        .setExpirationTime(9_999_999_999_999)
        .sign(new TextEncoder().encode(SECRET))
      await enter(token)
      await page.locator(".owner", { hasText: "until +275760-09-13 00:00 UTC" }).waitFor()
    }),
  )

  it.live("warns while the gateway is not ready", () =>
    scene(async ({ enter, page }) => {
      await page.clock.install()
      let status = 503
      await page.route("**/ready", (route) => route.fulfill({ status, body: "{}" }))
      await enter()
      const warning = page.getByText("This gateway is not ready.")
      await warning.waitFor()
      status = 200
      await passing(page, 10_000, () => undefined)
      await warning.waitFor({ state: "detached" })
    }),
  )

  it.live("titles and focuses a view as soon as it appears", () =>
    scene(async ({ consoleUrl, page, token }) => {
      await page.goto(consoleUrl)
      await page.getByLabel("Token").waitFor()
      // Observes a heading before anything else can happen in the page.
      await page.evaluate(`
        globalThis.seen = []
        new MutationObserver(() => {
          const heading = document.querySelector("h2")
          if (heading === globalThis.heading) return
          globalThis.heading = heading
          const focus = document.activeElement
          seen.push([heading.innerText, document.title, focus.innerText || focus.id])
        }).observe(document.body, { childList: true, subtree: true })`)
      await page.getByLabel("Token").fill(token)
      await page.keyboard.press("Enter")
      await page.getByRole("link", { name: "Agents" }).click()
      await page.getByRole("link", { name: "New agent" }).click()
      await page.getByRole("heading", { name: "New agent" }).waitFor()
      await page.getByRole("button", { name: "Sign out" }).click()
      await page.getByLabel("Token").waitFor()
      assert.deepStrictEqual(await page.evaluate("seen"), [
        ["Overview", "Overview · sealgate gateway", "Overview"],
        ["Agents", "Agents · sealgate gateway", "Agents"],
        ["New agent", "New agent · sealgate gateway", "New agent"],
        ["Sign in", "Sign in · sealgate gateway", "token"],
      ])
    }),
  )

  it.live("turns one page at a time, however often the button is pressed while a page loads", () =>
    scene(async ({ client, enter, page }) => {
      for (let i = 0; i < 41; i++) await client.agents.create({ name: `agent ${i}` })
      await enter()
      await page.getByRole("link", { name: "Agents" }).click()
      await page.getByRole("link", { name: "agent 40", exact: true }).waitFor()
      const held = new Held()
      await page.route(LISTS, held.hold)
      await page.getByRole("button", { name: "Older" }).focus()
      await page.keyboard.press("Enter")
      await pageIs(page, 2)
      await page.keyboard.press("Enter")
      await held.one()
      await pageIs(page, 2)
      held.releaseBytes()
      await page.getByRole("link", { name: "agent 20", exact: true }).waitFor()
      await pageIs(page, 2)
      await page.keyboard.press("Enter")
      await page.getByRole("link", { name: "agent 0", exact: true }).waitFor()
      await pageIs(page, 3)
    }),
  )

  it.live("pages only by the cursor of the current rows, and keeps the focus on its buttons", () =>
    scene(async ({ client, enter, gate, page }) => {
      const { id } = await client.agents.create({ name: "Reviewer" })
      gate.hold()
      for (let i = 0; i < 21; i++) await client.agents.execute(id, { task: `open ${i}` })
      await enter()
      await page.getByRole("link", { name: "Jobs" }).click()
      await page.getByRole("link", { name: "open 20" }).waitFor()
      // There and back: the last page has no next cursor while the first one loads.
      await page.getByRole("button", { name: "Older" }).press("Enter")
      await page.getByRole("link", { name: "open 0", exact: true }).waitFor()
      const held = new Held()
      await page.route(LISTS, held.hold)
      await page.getByRole("button", { name: "Newer" }).press("Enter")
      await held.one()
      await soon(async () => assert.strictEqual(await focused(page), "Newer"))
      held.releaseBytes()
      await page.getByRole("link", { name: "open 20" }).waitFor()
      await soon(async () => assert.strictEqual(await focused(page), "Newer"))

      await page.unroute(LISTS)
      const asked: Array<string> = []
      page.on("request", (request) => asked.push(request.url()))
      const filtered = new Held()
      await page.route(/status=/, filtered.hold)
      await page.getByLabel("Status").selectOption("completed")
      await filtered.one()
      await page.getByRole("button", { name: "Older" }).press("Enter")
      filtered.releaseBytes()
      await page.getByText("No such jobs.").waitFor()
      assert.deepStrictEqual(
        asked.filter((url) => url.includes("status=") && url.includes("cursor=")),
        [],
      )
    }),
  )

  it.live("resumes a job after an outage, and announces the outage once", () =>
    scene(async ({ client, enter, fake, gate, page }) => {
      const { id } = await client.agents.create({ name: "Reviewer" })
      gate.hold()
      const handle = await client.agents.execute(id, { task: "one that takes long" })
      await fake.received(1)
      const { answer, state } = outage()
      await page.route(JOB, answer)
      // News arrives by polling, not by the stream.
      await page.route(EVENTS, () => undefined)
      await page.clock.install()
      await enter()
      await page.evaluate(`location.hash = "#/jobs/${handle.id}"`)
      const running = page.getByText("Status: running")
      await running.waitFor()
      state.on = true
      const alert = page.getByRole("alert").filter({ hasText: "Come back later." })
      await passing(page, 2000, () => assert.isAbove(state.asked, 0))
      await alert.waitFor()
      const said = await alert.innerText()
      const before = state.asked
      // A read makes three attempts before it fails.
      await passing(page, 2000, () => assert.isAbove(state.asked, before + 6))
      assert.strictEqual(await alert.innerText(), said)
      state.on = false
      await soon(async () => {
        await page.clock.fastForward(2000)
        assert.strictEqual(await alert.count(), 0)
      })
      await running.waitFor()
      gate.release()
      await handle.wait()
      await page.getByRole("region", { name: "Answer" }).waitFor()
    }),
  )

  it.live("retries a job that could not be read at first, but not one that does not exist", () =>
    scene(async ({ client, enter, fake, gate, page }) => {
      const { id } = await client.agents.create({ name: "Reviewer" })
      gate.hold()
      const handle = await client.agents.execute(id, { task: "one that takes long" })
      await fake.received(1)
      const { answer, state } = outage()
      state.on = true
      await page.route(JOB, answer)
      await page.clock.install()
      await enter()
      await page.evaluate(`location.hash = "#/jobs/${handle.id}"`)
      await page.getByRole("alert").filter({ hasText: "Come back later." }).waitFor()
      state.on = false
      await soon(async () => {
        await page.clock.fastForward(2000)
        assert.strictEqual(await page.getByText("Status: running").count(), 1)
      })
      assert.strictEqual(await page.getByRole("alert").count(), 0)
      await page.evaluate(`location.hash = "#/jobs/01890a5d-ac96-774b-bcce-b302099a8057"`)
      await page.getByRole("alert").filter({ hasText: "There is no such job." }).waitFor()
      const asked: Array<string> = []
      page.on("request", (request) => asked.push(new URL(request.url()).pathname))
      await page.clock.runFor(10_000)
      assert.strictEqual(await page.getByRole("button", { name: "Try again" }).count(), 0)
      assert.deepStrictEqual([...new Set(asked)], ["/ready"])
    }),
  )

  it.live("says that the gateway does not answer while a read hangs, and reads again", () =>
    scene(async ({ client, consoleUrl, enter, fake, gate, page, token }) => {
      const { id } = await client.agents.create({ name: "Reviewer" })
      gate.hold()
      const handle = await client.agents.execute(id, { task: "one that takes long" })
      await fake.received(1)
      const alert = page.getByRole("alert").filter({ hasText: "The gateway did not answer." })
      // Nothing announces changes.
      await page.route(/\/(changes|events)/, (route) => route.abort())
      await page.clock.install()
      await page.goto(consoleUrl)

      const hangs = async (what: RegExp) => {
        let asked = 0
        await page.route(what, () => void asked++)
        return () => passing(page, 3000, () => assert.isAtLeast(asked, 1))
      }
      const isSaid = () =>
        soon(async () => {
          await page.clock.fastForward(30_000)
          assert.strictEqual(await alert.count(), 1)
        })
      const signingIn = await hangs(LISTS)
      await page.getByLabel("Token").fill(token)
      await page.keyboard.press("Enter")
      await signingIn()
      await isSaid()
      await page.unroute(LISTS)
      await enter()
      for (const [hash, what] of [
        ["#/jobs", LISTS],
        [`#/jobs/${handle.id}`, JOB],
      ] as const) {
        await page.evaluate(`location.hash = "${hash}"`)
        await page.getByText("one that takes long").first().waitFor()
        const reading = await hangs(what)
        await reading()
        await isSaid()
        await page.unroute(what)
        await soon(async () => {
          await page.clock.fastForward(3000)
          assert.strictEqual(await alert.count(), 0)
        })
      }
    }),
  )

  it.live("announces once that a list cannot be read", () =>
    scene(async ({ enter, page }) => {
      await page.clock.install()
      await enter()
      const { answer, state } = outage()
      state.on = true
      await page.route(LISTS, answer)
      await page.getByRole("link", { name: "Jobs" }).click()
      const alert = page.getByRole("alert").filter({ hasText: "Come back later." })
      await alert.waitFor()
      const said = await alert.innerText()
      const before = state.asked
      await passing(page, 3000, () => assert.isAbove(state.asked, before + 6))
      assert.strictEqual(await alert.innerText(), said)
      // A manual retry announces its result.
      await page.getByRole("button", { name: "Try again" }).click()
      await soon(async () => assert.notInclude(await alert.allInnerTexts(), said))
    }),
  )

  it.live("reads the overview when the gateway announces a change, over one stream that closes while hidden", () =>
    scene(async ({ client, enter, page }) => {
      const { id } = await client.agents.create({ name: "a" })
      const sent: Array<string> = []
      page.on("request", (request) => sent.push(new URL(request.url()).pathname))
      const cut: Array<string> = []
      page.on("requestfailed", (request) => cut.push(new URL(request.url()).pathname))
      const asked = (path: string) => sent.filter((known) => known === path).length
      const show = async (hidden: boolean) => {
        await page.evaluate(`Object.defineProperty(document, "hidden", { value: ${hidden}, configurable: true })`)
        await page.evaluate(`document.dispatchEvent(new Event("visibilitychange"))`)
      }
      const completed = page.getByRole("link", { name: /completed/ })
      const shows = (count: number) => completed.filter({ hasText: String(count) }).waitFor()
      await enter()
      await shows(0)
      // The first announcement, which comes in any case.
      await soon(async () => assert.strictEqual(asked("/api/v1/jobs/summary"), 2))
      await page.clock.install()
      await page.clock.pauseAt(Date.now() + 1000)
      await (await client.agents.execute(id, { task: "x" })).wait()
      // Less than the time between reads without announcements.
      await page.clock.fastForward(4000)
      await soon(async () => {
        await page.clock.runFor(10)
        assert.match((await completed.allInnerTexts()).join(), /^1\s/)
      })
      assert.strictEqual(asked("/api/v1/changes"), 1)
      await show(true)
      await soon(async () => assert.deepStrictEqual(cut, ["/api/v1/changes"]))

      await page.route("**/api/v1/changes*", (route) => route.abort())
      await (await client.agents.execute(id, { task: "x" })).wait()
      await show(false)
      await shows(2)
      await (await client.agents.execute(id, { task: "x" })).wait()
      await passing(page, 10_000, () => undefined)
      await shows(3)
    }),
  )

  it.live("announces how every step ended, also a repeated one", () =>
    scene(async ({ client, enter, fake, gate, page }) => {
      const { id } = await client.agents.create({ name: "Reviewer" })
      gate.hold()
      const handle = await client.agents.execute(id, { task: "x" })
      await fake.received(1)
      const job = await client.jobs.get(handle.id)
      const step = {
        name: "propose",
        kind: "propose",
        provider: "provider1",
        model: "small",
        usage: null,
        cost_micro_usd: null,
        started_at: job.created_at,
        finished_at: job.created_at,
      }
      const steps: Array<typeof step & { status: string }> = []
      await page.route(JOB, (route) => route.fulfill({ json: { ...job, status: "running", steps } }))
      await page.route(EVENTS, () => undefined)
      await page.clock.install()
      await enter()
      await page.evaluate(`location.hash = "#/jobs/${handle.id}"`)
      const says = (text: string) =>
        soon(async () => {
          await page.clock.fastForward(2000)
          assert.deepStrictEqual(await page.getByRole("status").allTextContents(), [text])
        })
      await says("The job is running.")
      steps.push({ ...step, status: "failed" })
      await says("Proposal: failed.")
      steps.push({ ...step, status: "completed" })
      await says("Proposal: done.")
    }),
  )

  it.live("does not ask an answered question again because of a read that began before the answer", () =>
    scene(async ({ client, enter, fake, page }) => {
      const { id } = await client.agents.create({ name: "Payer", default_mode: "direct", ask_person: {} })
      fake.script(ASKS, { text: "Paid." })
      const handle = await client.agents.execute(id, { task: "Pay the bill." })
      await page.route(EVENTS, () => undefined)
      await enter()
      await page.evaluate(`location.hash = "#/jobs/${handle.id}"`)
      const form = page.getByRole("form", { name: "The agent asks" })
      await form.getByLabel("approved").selectOption("yes")
      const asking = await client.jobs.get(handle.id)
      const held = new Held((route) => route.fulfill({ json: asking }))
      await page.route(JOB, held.hold)
      await held.one()
      await form.getByRole("button", { name: "Answer" }).click()
      await form.waitFor({ state: "detached" })
      held.next()
      // The next read begins after the late answer.
      await held.one()
      assert.strictEqual(await form.count(), 0)
    }),
  )

  it.live("shows the newest read of a job, also if an earlier one arrives later", () =>
    scene(async ({ client, enter, fake, gate, page }) => {
      const { id } = await client.agents.create({ name: "Reviewer" })
      gate.hold()
      const handle = await client.agents.execute(id, { task: "x" })
      await fake.received(1)
      await enter()
      await page.evaluate(`location.hash = "#/jobs/${handle.id}"`)
      const shown = () => page.getByRole("region", { name: "Job", exact: true }).innerText()
      await page.getByText("The proposal is being written").waitFor()
      const early = await client.jobs.get(handle.id)
      const held = new Held((route) => route.fulfill({ json: early }))
      await page.route(JOB, held.hold)
      await held.one()
      // The next read follows the event of a step.
      await page.route(JOB, (route) => route.continue(), { times: 1 })
      gate.next()
      await soon(async () => assert.include(await shown(), "Calls\n1\n"))
      held.next()
      await held.one()
      assert.include(await shown(), "Calls\n1\n")
    }),
  )

  it.live("keeps the question before deleting open until the answer, and then says what became of it", () =>
    scene(async ({ client, enter, page }) => {
      await client.agents.create({ name: "Doomed" })
      await enter()
      await page.getByRole("link", { name: "Agents" }).click()
      await page.getByRole("button", { name: "Delete Doomed" }).click()
      const dialog = page.getByRole("dialog")
      const confirm = dialog.getByRole("button", { name: "Delete", exact: true })
      const lost = new Held((route) => route.abort())
      await page.route("**/api/v1/agents/*", lost.hold)
      await confirm.click()
      await lost.one()
      await staysOpen(page, "Keep it")
      lost.releaseBytes()
      await dialog.getByRole("alert").filter({ hasText: "The gateway did not answer." }).waitFor()

      const held = new Held()
      await page.route("**/api/v1/agents/*", held.hold)
      await confirm.click()
      await held.one()
      await staysOpen(page, "Keep it")
      held.releaseBytes()
      await page.getByRole("status").filter({ hasText: "Doomed was deleted." }).waitFor({ state: "attached" })
      await page.getByRole("link", { name: "Doomed", exact: true }).waitFor({ state: "detached" })
      assert.strictEqual(await page.locator("dialog").count(), 0)
    }),
  )

  it.live("lets a question be left whose answer takes too long", () =>
    scene(async ({ client, enter, page }) => {
      await client.agents.create({ name: "Doomed" })
      await page.clock.install()
      await enter()
      await page.getByRole("link", { name: "Agents" }).click()
      await page.getByRole("button", { name: "Delete Doomed" }).click()
      const dialog = page.getByRole("dialog")
      const lost = new Held((route) => route.abort())
      await page.route("**/api/v1/agents/*", lost.hold)
      await dialog.getByRole("button", { name: "Delete", exact: true }).click()
      await lost.one()
      await page.clock.fastForward(30_000)
      await dialog.getByRole("alert").filter({ hasText: "The gateway did not answer." }).waitFor()
      await dialog.getByRole("button", { name: "Keep it" }).click()
      await dialog.waitFor({ state: "detached" })
      lost.releaseBytes()
    }),
  )

  it.live("keeps the form of a schedule open until the answer, and then lists the schedule", () =>
    scene(async ({ client, enter, page }) => {
      await client.agents.create({ name: "Reviewer" })
      await enter()
      await page.evaluate(`location.hash = "#/schedules"`)
      await page.getByRole("button", { name: "New schedule" }).click()
      await page.getByLabel("Agent").selectOption("Reviewer")
      await page.getByLabel("Task").fill("every morning")
      const held = new Held()
      await page.route("**/api/v1/schedules", held.hold)
      await page.getByRole("button", { name: "Make schedule" }).click()
      await held.one()
      await staysOpen(page, "Cancel")
      held.releaseBytes()
      await page.locator("dialog").waitFor({ state: "detached" })
      await page.getByRole("heading", { name: "every morning" }).waitFor()
    }),
  )

  it.live("keeps the token that was accepted, also if the field changed while the gateway checked it", () =>
    scene(async ({ consoleUrl, page, token }) => {
      await page.goto(consoleUrl)
      const held = new Held()
      await page.route(LISTS, held.hold)
      await page.getByLabel("Token").fill(token)
      await page.getByLabel("Stay signed in when the page reloads").check()
      await page.getByRole("button", { name: "Sign in" }).click()
      await held.one()
      await page.getByLabel("Token").fill("another")
      held.releaseBytes()
      await page.getByRole("heading", { name: "Overview", exact: true }).waitFor()
      assert.strictEqual(await page.evaluate(`sessionStorage.getItem("sealgate.token")`), token)
    }),
  )

  it.live("does not navigate when an answer comes late", () =>
    scene(async ({ client, enter, page }) => {
      const { id } = await client.agents.create({ name: "Reviewer" })
      await enter()
      await page.evaluate(`location.hash = "#/agents/${id}"`)
      const held = new Held()
      await page.route("**/execute", held.hold)
      await page.getByRole("textbox", { name: "Task" }).fill("one that starts slowly")
      await page.getByRole("button", { name: "Run", exact: true }).click()
      await held.one()
      await page.getByRole("link", { name: "Jobs" }).click()
      await page.getByText("No jobs yet.").waitFor()
      held.releaseBytes()
      // It appears with the next read of the list, which is after the late answer.
      await page.getByRole("link", { name: "one that starts slowly" }).waitFor()
      assert.strictEqual(await page.evaluate("location.hash"), "#/jobs")
    }),
  )

  it.live("does not end a session because of a late refusal to an earlier one", () =>
    scene(async ({ client, enter, page, token }) => {
      const { id } = await client.agents.create({ name: "Reviewer" })
      await enter()
      await page.evaluate(`location.hash = "#/agents/${id}"`)
      const held = new Held(async (route) => {
        const problem = makeProblem({ code: "unauthorized", status: 401, title: "Who are you?" })
        await route.fulfill({ status: 401, contentType: PROBLEM_CONTENT_TYPE, body: JSON.stringify(problem) })
      })
      await page.route("**/execute", held.hold)
      await page.getByRole("textbox", { name: "Task" }).fill("x")
      await page.getByRole("button", { name: "Run", exact: true }).click()
      await held.one()
      await page.getByRole("button", { name: "Sign out" }).click()
      await page.getByLabel("Token").fill(token)
      await page.keyboard.press("Enter")
      await page.getByRole("heading", { name: "Run a task" }).waitFor()
      const answered = page.waitForResponse("**/execute")
      held.releaseBytes()
      await (await answered).finished()
      await page.getByRole("link", { name: "Jobs" }).click()
      await page.getByText("No jobs yet.").waitFor()
      assert.strictEqual(await page.getByLabel("Token").count(), 0)
    }),
  )
})
