/** The proxy's console in a real browser: seals, shows the traffic, refuses changed answers. */
import { readFile } from "node:fs/promises"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import type { Locator, Page, Route } from "playwright-core"
import { verifyCommand } from "../../src/cli/verifyCommand.ts"
import {
  accessibilityViolations,
  focused,
  fragmentAtOnce,
  hasBrowser,
  Held,
  openPage,
  PHONE,
  soon,
} from "../support/browser.ts"
import { makeProblem, PROBLEM_CONTENT_TYPE } from "../../src/domain/problems/problem.ts"
import { run, sealgate } from "../support/cli.ts"
import { FakeUpstream, fault } from "../support/FakeUpstream.ts"
import { ATTACKS } from "../../src/web/proxy/intruder.ts"
import { X25519 } from "../../src/domain/protocol/suites.ts"
import { startEvidenceProxy } from "../support/evidence/evidenceProxy.ts"
import { configfs } from "../support/evidence/standIns.ts"
import { behind, startProxy, temporaryFolder } from "../support/proxy.ts"
import { INIT } from "../support/sealing.ts"

const OTHER_PIN = "A".repeat(43)
const ANSWER_VERIFIED = "✓ Answer, receipt and proof verified"

const ask = async (page: Page, question: string): Promise<void> => {
  await page.getByLabel("Your question").fill(question)
  await page.getByLabel("Your question").press("Enter")
}

/** Waits until an element contains this text. */
const says = (what: Locator, text: string | RegExp): Promise<void> =>
  what.filter({ hasText: text }).waitFor({ state: "attached" })

const counts = (what: Locator, count: number): Promise<void> =>
  soon(async () => assert.strictEqual(await what.count(), count, String(what)))

const hasFocus = (page: Page, name: string): Promise<void> =>
  soon(async () => assert.strictEqual(await focused(page), name))

const exchangeOf = (page: Page, question: string) => page.locator(".exchange", { hasText: question })

const refused = (page: Page, question: string) => exchangeOf(page, question).getByText("✕ Refused", { exact: true })

/** A session request with a changed list of suites. */
const withSuites = (route: Route, change: (suites: ReadonlyArray<unknown>) => ReadonlyArray<unknown>): string => {
  const body = JSON.parse(route.request().postData() ?? "") as { readonly suites: ReadonlyArray<unknown> }
  return JSON.stringify({ ...body, suites: change(body.suites) })
}

describe.runIf(hasBrowser)("the proxy's console", () => {
  it.live("seals a chat, shows the traffic with its meaning, and reveals nothing on the path", () =>
    Effect.gen(function* () {
      const proxy = yield* startProxy()
      const { complaints, page } = yield* openPage()
      yield* Effect.promise(async () => {
        const sent: Array<string> = []
        page.on("request", (request) => sent.push(`${request.url()} ${request.postData() ?? ""}`))
        await page.goto(`${proxy.url}/console`)
        // Nothing can be asked without a pin.
        await soon(async () => assert.isTrue(await page.getByLabel("Your question").isDisabled()))
        await page.getByLabel("Key id to pin").fill("nonsense")
        await page.getByRole("button", { name: "Pin this identity" }).click()
        await says(page.getByRole("alert"), "is not a key id")
        await page.getByLabel("Key id to pin").fill(proxy.kid)
        await page.keyboard.press("Enter")

        await ask(page, "purple elephants")
        await page.getByText(ANSWER_VERIFIED).waitFor()
        await page.getByText("✓ Pinned, and it answers").waitFor()
        await says(page.locator(".answer"), /^The model answered: purple elephants$/)
        // Every message is verified or public, and the chain has a link per frame plus the proof.
        await soon(async () => {
          const states = await page.locator(".crossing .state").allTextContents()
          assert.deepStrictEqual([...new Set(states)].sort(), ["○ in the clear", "● sealed here", "✓ verified"].sort())
          const frames = await page.locator(".crossing", { hasText: /^proxy → youFrame/ }).count()
          assert.isAtLeast(frames, 2)
          assert.strictEqual(await page.locator(".chain li").count(), frames + 1)
        })
        // The suite, and the pace of the frames.
        await says(page.locator(".crossing", { hasText: "The question, sealed" }), "in the suite MLKEM768-X25519.")
        await says(page.locator(".crossing", { hasText: "Frame 0" }), /after 0\.\d s/)
        await says(page.getByLabel("On the wire"), /frames? came by the clock, one every 0\.1 s/)
        await says(page.locator(".crossings"), "“purple")

        // The conversation continues in the same session.
        await ask(page, "and more")
        await page.getByText(ANSWER_VERIFIED).nth(1).waitFor()
        assert.strictEqual(sent.filter((request) => request.includes("/v1/init")).length, 1)
        assert.notInclude(sent.join("\n"), "elephants")
        assert.deepStrictEqual(complaints, [])
      })
    }),
  )

  it.live("remembers pins, takes them from a link, and refuses another identity before anything is sealed", () =>
    Effect.gen(function* () {
      const proxy = yield* startProxy()
      const { page } = yield* openPage()
      yield* Effect.promise(async () => {
        await page.goto(`${proxy.url}/console#pin=${proxy.kid}`)
        await ask(page, "hello")
        await page.getByText(ANSWER_VERIFIED).waitFor()
        await page.goto("about:blank")
        await page.goto(`${proxy.url}/console`)
        await says(page.locator(".trust code").first(), proxy.kid)

        await page.getByRole("button", { name: "Change" }).click()
        await page.getByLabel("Key id to pin").fill(OTHER_PIN)
        await page.getByRole("button", { name: "Pin this identity" }).click()
        const completions: Array<string> = []
        page.on("request", (request) => request.url().endsWith("/v1/completions") && completions.push(request.url()))
        await ask(page, "a secret")
        await refused(page, "a secret").waitFor()
        const exchange = exchangeOf(page, "a secret")
        await says(exchange, "This is not the proxy that you pinned. Nothing was sealed.")
        await says(exchange, proxy.kid)
        await says(page.locator(".crossing.refused"), "The offer of a session")
        assert.deepStrictEqual(completions, [])
      })
    }),
  )

  it.live("asks before a link replaces what is pinned, and never calls a link's pin checked", () =>
    Effect.gen(function* () {
      const proxy = yield* startProxy()
      const { page } = yield* openPage()
      yield* Effect.promise(async () => {
        const trust = page.getByRole("region", { name: "Trust" })
        const question = page.getByRole("region", { name: "Another identity" })
        const checked = trust.getByText(/^(● Pinned by you|✓ Pinned, and it answers)$/)
        const unchecked = trust.getByText("○ From a link, not checked", { exact: true })
        const press = (name: string) => page.getByRole("button", { name, exact: true }).click()
        const open = async (fragment = "") => {
          await page.goto("about:blank")
          await page.goto(`${proxy.url}/console${fragment}`)
        }
        // Without a pin, the link's pin is used but stays marked as unchecked, now and at the next visit.
        await open(`#pin=${proxy.kid}`)
        await unchecked.waitFor()
        await open()
        await unchecked.waitFor()
        await counts(checked, 0)
        // The user marks it as checked; after that the same link changes nothing.
        await press("I checked it")
        await checked.waitFor()
        await open(`#pin=${proxy.kid}`)
        await checked.waitFor()
        await counts(question, 0)

        // Another identity appears beside the pinned one, which stays in force until the user decides.
        await open(`#pin=${OTHER_PIN}`)
        await says(question, proxy.kid)
        await says(question, OTHER_PIN)
        assert.deepStrictEqual(await trust.locator("code").allTextContents(), [proxy.kid, "sealgate"])
        await ask(page, "still yours?")
        await page.getByText(ANSWER_VERIFIED).waitFor()
        await press("Keep what is pinned")
        await counts(question, 0)
        await hasFocus(page, "Your question")
        await page.reload()
        await checked.waitFor()
        await counts(question, 0)

        // A link opened in the loaded page asks, too.
        await page.goto(`${proxy.url}/console#pin=${OTHER_PIN}`)
        await says(question, OTHER_PIN)
        // Links within the page leave the question open.
        await page.getByRole("link", { name: "Skip to the content" }).press("Enter")
        await page.waitForURL("**/console#main")
        await page.evaluate("new Promise((go) => requestAnimationFrame(() => requestAnimationFrame(go)))")
        await counts(question, 1)
        await press("Pin what the link names")
        await unchecked.waitFor()
        await counts(checked, 0)
        assert.deepStrictEqual(await trust.locator("code").allTextContents(), [OTHER_PIN, "sealgate"])
        await ask(page, "a secret")
        await refused(page, "a secret").waitFor()
      })
    }),
  )

  it.live("takes the pin of a link that is opened while the page appears", () =>
    Effect.gen(function* () {
      const proxy = yield* startProxy()
      const { page } = yield* openPage()
      yield* Effect.promise(async () => {
        await fragmentAtOnce(page, ".chat", `#pin=${proxy.kid}`)
        await page.goto(`${proxy.url}/console`)
        await page.getByText("○ From a link, not checked", { exact: true }).waitFor()
      })
    }),
  )

  it.live("begins a new conversation when the pin changes, so that nothing earlier is sealed to the new one", () =>
    Effect.gen(function* () {
      const upstream = yield* FakeUpstream.make()
      const proxy = yield* startProxy({ settings: behind(upstream) })
      const { page } = yield* openPage()
      upstream.always({ text: "an answer" })
      const askedAt = async (n: number) => {
        const { asked } = await upstream.received(n)
        await page
          .getByText(ANSWER_VERIFIED)
          .nth(n - 1)
          .waitFor()
        return asked?.turns.length
      }
      yield* Effect.promise(async () => {
        const press = (name: string) => page.getByRole("button", { name, exact: true }).click()
        const boundary = page.getByText("A new conversation begins here")
        await page.goto(`${proxy.url}/console#pin=${proxy.kid}`)
        await ask(page, "first")
        assert.strictEqual(await askedAt(1), 1)
        // The same identity, confirmed and entered again.
        await press("I checked it")
        await press("Change")
        await press("Pin this identity")
        await ask(page, "second")
        assert.strictEqual(await askedAt(2), 3)
        await counts(boundary, 0)

        await press("Change")
        await page.getByLabel("Key id to pin").fill(`${proxy.kid} ${OTHER_PIN}`)
        await press("Pin this identity")
        await boundary.waitFor()
        await ask(page, "third")
        assert.strictEqual(await askedAt(3), 1)
        await ask(page, "fourth")
        assert.strictEqual(await askedAt(4), 3)
        const texts = await page.locator(".chat ol > li").allInnerTexts()
        assert.deepStrictEqual(
          texts.map((text) => /first|second|third|fourth|new conversation/.exec(text)?.[0]),
          ["first", "second", "new conversation", "third", "fourth"],
        )
      })
    }),
  )

  it.live("stops a question that was asked before the one of the last conversation had stopped", () =>
    Effect.gen(function* () {
      const proxy = yield* startProxy()
      const { page } = yield* openPage()
      yield* Effect.promise(async () => {
        // Never answers. An aborted request fails only once the test says so.
        await page.addInitScript(`
          const real = fetch
          globalThis.stopping = []
          globalThis.fetch = (url, init) => url.endsWith("/v1/completions")
            ? new Promise((_, reject) => init.signal.addEventListener("abort", () => stopping.push(() => reject(init.signal.reason))))
            : real(url, init)`)
        await page.goto(`${proxy.url}/console#pin=${proxy.kid}`)
        const sealed = () => page.locator(".crossing", { hasText: "The question, sealed" }).waitFor()
        await ask(page, "first")
        await sealed()
        await page.getByRole("button", { name: "New conversation" }).click()
        await ask(page, "second")
        await sealed()
        await page.evaluate("stopping.pop()()")
        await page.getByRole("button", { name: "Stop" }).click()
        await soon(async () => assert.strictEqual(await page.evaluate("stopping.length"), 1))
        await page.evaluate("stopping.pop()()")
        await exchangeOf(page, "second").getByText("■ Stopped").waitFor()
      })
    }),
  )

  it.live("shows that an answer was changed on the path", () =>
    Effect.gen(function* () {
      const proxy = yield* startProxy()
      const { page } = yield* openPage()
      yield* Effect.promise(async () => {
        await page.route("**/v1/completions", async (route) => {
          const response = await route.fetch()
          const body = await response.text()
          const at = body.indexOf('"ciphertext":"', body.indexOf('"ciphertext":"') + 1) + '"ciphertext":"'.length
          const changed = body.slice(0, at) + (body[at] === "A" ? "B" : "A") + body.slice(at + 1)
          await route.fulfill({ response, body: changed })
        })
        await page.goto(`${proxy.url}/console#pin=${proxy.kid}`)
        await ask(page, "one two three")
        await refused(page, "one two three").waitFor()
        await says(page.locator(".exchange"), "Somebody interfered. This is not an answer.")
        await says(page.locator(".crossing.refused"), "Frame 1")
        // The refusal is announced to screen readers, and not part of the conversation.
        await says(page.getByRole("status"), "Somebody interfered")
        await counts(page.getByRole("button", { name: /Download/ }), 0)
      })
    }),
  )

  it.live("seals nothing if an attacker removes the post-quantum suite", () =>
    Effect.gen(function* () {
      const proxy = yield* startProxy()
      const classical = JSON.stringify({ ...INIT, suites: [X25519.id] })
      const attacks: ReadonlyArray<(route: Route) => Promise<void>> = [
        // A changed request: the body differs, also if only the order changes.
        (route) => route.continue({ postData: withSuites(route, (suites) => suites.slice(1)) }),
        (route) => route.continue({ postData: withSuites(route, (suites) => suites.toReversed()) }),
        // A replaced offer: a genuine one for a session requested with X25519 only.
        async (route) => route.fulfill({ response: await route.fetch({ postData: classical }) }),
      ]
      for (const attack of attacks) {
        const { page } = yield* openPage()
        const sealed: Array<string> = []
        yield* Effect.promise(async () => {
          await page.route("**/v1/init", attack)
          page.on(
            "request",
            (request) => void (request.url().endsWith("/v1/completions") && sealed.push(request.url())),
          )
          await page.goto(`${proxy.url}/console#pin=${proxy.kid}`)
          await ask(page, "a secret")
          await refused(page, "a secret").waitFor()
          await says(page.locator(".exchange"), "Somebody interfered. This is not an answer.")
        })
        assert.deepStrictEqual(sealed, [])
      }
    }),
  )

  it.live("lets the user simulate an attacker, and refuses every attack", () =>
    Effect.gen(function* () {
      const proxy = yield* startProxy()
      const { complaints, page } = yield* openPage()
      yield* Effect.promise(async () => {
        await page.goto(`${proxy.url}/console#pin=${proxy.kid}`)
        for (const [intrusion, reason] of [
          ["flip", "not authentic"],
          ["drop", "was due, but"],
          ["repeat", "was due, but"],
          ["cut", "ended before"],
          ["key", "signature"],
          ["suite", "answers another request"],
        ] as const) {
          await page.getByRole("switch", { name: "Play the attacker" }).check()
          await page.getByRole("radio", { name: ATTACKS[intrusion] }).check()
          const question = `some words to ${intrusion}`
          await ask(page, question)
          await refused(page, question).waitFor()
          await says(exchangeOf(page, question).locator(".note p"), reason)
          await page.getByText("✕ Somebody interfered", { exact: true }).waitFor()
        }
        await page.getByRole("switch", { name: "Play the attacker" }).uncheck()
        await ask(page, "alone again")
        await page.getByText(ANSWER_VERIFIED).waitFor()
        assert.deepStrictEqual(complaints, [])
      })
    }),
  )

  it.live("downloads receipts that `sealgate verify` accepts and that reveal nothing by default", () =>
    Effect.gen(function* () {
      const proxy = yield* startProxy()
      const { page } = yield* openPage()
      const save = (button: string) =>
        Effect.promise(async () => {
          const downloading = page.waitForEvent("download")
          await page.getByRole("button", { name: button }).click()
          return (await downloading).path()
        })
      yield* Effect.promise(async () => {
        await page.goto(`${proxy.url}/console#pin=${proxy.kid}`)
        await ask(page, "purple elephants")
        await page.getByText(ANSWER_VERIFIED).waitFor()
      })
      const receipt = yield* save("Download receipt and proof")
      assert.notInclude(yield* Effect.promise(() => readFile(receipt, "utf8")), "elephants")
      const checked = yield* sealgate(["verify", receipt, "--pin", proxy.kid])
      assert.strictEqual(checked.code, 0, checked.stderr)
      assert.include(checked.stdout, "The recorded stream is exactly what was sent")
      const revealed = yield* run(verifyCommand, [yield* save("Download with question and answer"), "--pin", proxy.kid])
      assert.strictEqual(revealed.code, 0, revealed.stderr)
      assert.include(revealed.stdout, "purple elephants")
      const unpinned = yield* run(verifyCommand, [receipt, "--pin", OTHER_PIN])
      assert.notStrictEqual(unpinned.code, 0)
    }),
  )

  it.live("shows problems, stops on request, and continues after both", () =>
    Effect.gen(function* () {
      const upstream = yield* FakeUpstream.make()
      const proxy = yield* startProxy({ settings: behind(upstream) })
      const { page } = yield* openPage()
      yield* Effect.promise(async () => {
        await page.goto(`${proxy.url}/console#pin=${proxy.kid}`)
        upstream.script(fault.invalidRequest())
        await ask(page, "unwelcome")
        await page.getByText("✕ No answer").waitFor()
        // Sealed and proven, so no item is unchecked or marked as readable.
        await says(exchangeOf(page, "unwelcome"), "The pinned proxy said so under seal.")
        await says(page.locator(".crossing.verified"), "The proof")
        await counts(page.locator(".crossing .state", { hasText: "not checked" }), 0)
        upstream.script({ text: ["one ", "two"], delivery: { breaks: { after: 1, how: "silence" } } })
        await ask(page, "endless")
        await exchangeOf(page, "endless").locator(".answer").waitFor()
        await page.getByRole("button", { name: "Stop" }).click()
        await page.getByText("■ Stopped").waitFor()
        await ask(page, "well?")
        await page.getByText(ANSWER_VERIFIED).waitFor()
        await page.getByRole("button", { name: "New conversation" }).click()
        await counts(page.locator(".exchange"), 0)
      })
    }),
  )

  it.live("keeps the keyboard focus, and asks once however often Enter is pressed", () =>
    Effect.gen(function* () {
      const proxy = yield* startProxy()
      const { page } = yield* openPage()
      yield* Effect.promise(async () => {
        const press = (name: string) => page.getByRole("button", { name, exact: true }).press("Enter")
        await page.goto(`${proxy.url}/console`)
        await page.getByLabel("Key id to pin").fill(proxy.kid)
        await press("Pin this identity")
        await hasFocus(page, "Your question")
        await press("Change")
        await hasFocus(page, "Key id to pin")
        await page.keyboard.insertText(" nonsense")
        await page.keyboard.press("Enter")
        await says(page.getByRole("alert"), "is not a key id")
        await press("Keep it as it is")
        await hasFocus(page, "Change")
        await press("Change")
        await page.getByLabel("Key id to pin").waitFor()
        await counts(page.getByRole("alert"), 0)
        await press("Forget")
        await hasFocus(page, "Key id to pin")
        await page.keyboard.insertText(proxy.kid)
        await page.keyboard.press("Enter")
        await hasFocus(page, "Your question")

        const held = new Held()
        await page.route("**/v1/completions", held.hold)
        await page.keyboard.insertText("once")
        await page.getByRole("button", { name: "Seal and send" }).focus()
        await page.keyboard.press("Enter")
        await hasFocus(page, "Your question")
        await page.keyboard.press("Enter")
        // The send button never becomes the stop button.
        await page.getByRole("button", { name: "Seal and send" }).press("Enter")
        await held.one()
        await page.getByRole("button", { name: "Stop" }).focus()
        held.next()
        await page.getByText(ANSWER_VERIFIED).waitFor()
        await hasFocus(page, "Stop")
        await counts(page.locator(".exchange"), 1)

        await ask(page, "never")
        await held.one()
        await press("Stop")
        await page.getByText("■ Stopped").waitFor()
        await hasFocus(page, "Stop")
        held.next()
        await press("New conversation")
        await hasFocus(page, "Your question")
      })
    }),
  )

  it.live("does not send a question when Enter confirms a word of an input method", () =>
    Effect.gen(function* () {
      const proxy = yield* startProxy()
      const { page } = yield* openPage()
      yield* Effect.promise(async () => {
        await page.goto(`${proxy.url}/console#pin=${proxy.kid}`)
        const field = page.getByLabel("Your question")
        // Safari ends the composition before the key event, which then has only the old code.
        for (const more of [{ isComposing: true }, { keyCode: 229 }]) {
          await field.fill("こん")
          await field.dispatchEvent("keydown", { key: "Enter", ...more })
        }
        await ask(page, "こんにちは")
        await page.getByText(ANSWER_VERIFIED).waitFor()
        await says(page.locator(".answer"), "こんにちは")
        await counts(page.locator(".exchange"), 1)
      })
    }),
  )

  it.live("scrolls to new text only after a question or at the end", () =>
    Effect.gen(function* () {
      const proxy = yield* startProxy()
      const { page } = yield* openPage({ viewport: PHONE })
      yield* Effect.promise(async () => {
        const top = () => page.evaluate<number>("scrollY")
        const held = new Held()
        await page.route("**/v1/completions", held.hold)
        await page.goto(`${proxy.url}/console#pin=${proxy.kid}`)
        await page.getByText("✓ ready").waitFor()
        assert.strictEqual(await top(), 0)

        const long = "word ".repeat(100).trim()
        await ask(page, `first ${long}`)
        await held.one()
        await soon(async () => assert.isAbove(await top(), 0))
        // Scroll events arrive with the next animation frame.
        await page.evaluate("scrollTo(0, 0)")
        await page.evaluate("new Promise((go) => requestAnimationFrame(() => requestAnimationFrame(go)))")
        held.next()
        await page.getByText(ANSWER_VERIFIED).waitFor()
        assert.strictEqual(await top(), 0)

        // At the end, the view follows.
        await ask(page, `second ${long}`)
        await held.one()
        await soon(async () => assert.isAbove(await top(), 0))
        held.next()
        const second = exchangeOf(page, "second").getByText(ANSWER_VERIFIED)
        await second.waitFor()
        await soon(async () => {
          const box = await second.boundingBox()
          assert.isTrue(box !== null && box.y >= 0 && box.y + box.height <= PHONE.height, JSON.stringify(box))
        })
      })
    }),
  )

  it.live("leads to the traffic and back on a phone, with the composer always visible", () =>
    Effect.gen(function* () {
      const proxy = yield* startProxy()
      const { page } = yield* openPage({ viewport: PHONE })
      yield* Effect.promise(async () => {
        const inView = (what: Locator) =>
          soon(async () => {
            const { height, y } = (await what.boundingBox()) ?? { y: -1, height: 0 }
            assert.isTrue(y >= 0 && y + height <= PHONE.height, `${y} and ${height}`)
          })
        await page.goto(`${proxy.url}/console#pin=${proxy.kid}`)
        await ask(page, "word ".repeat(200).trim())
        await page.getByText(ANSWER_VERIFIED).waitFor()
        await ask(page, "last")
        await page.getByText(ANSWER_VERIFIED).nth(1).waitFor()
        await page.getByRole("button", { name: "Show on the wire" }).first().click()
        const heading = page.getByRole("heading", { name: "On the wire" })
        await inView(heading)
        await inView(page.getByLabel("Your question"))
        await hasFocus(page, "On the wire")
        await page.getByRole("button", { name: "Back to the chat" }).click()
        await hasFocus(page, "On the wire: shown")
        await inView(page.getByLabel("Your question"))
      })
    }),
  )

  it.live("shows that the proxy stopped answering, and that it answers again", () =>
    Effect.gen(function* () {
      const proxy = yield* startProxy()
      const { page } = yield* openPage()
      yield* Effect.promise(async () => {
        await page.clock.install()
        await page.goto(`${proxy.url}/console#pin=${proxy.kid}`)
        await page.getByText("✓ ready").waitFor()
        await page.route("**/ready", (route) => route.abort())
        await page.clock.fastForward(6000)
        await page.getByText("✕ does not answer").waitFor()
        await page.unroute("**/ready")
        await page.clock.fastForward(6000)
        await page.getByText("✓ ready").waitFor()
      })
    }),
  )

  it.live("says that a proxy does not answer while it hangs, and never asks twice at once", () =>
    Effect.gen(function* () {
      const proxy = yield* startProxy()
      const { page } = yield* openPage()
      yield* Effect.promise(async () => {
        await page.clock.install()
        await page.goto(`${proxy.url}/console`)
        await page.getByText("✓ ready").waitFor()
        let asked = 0
        let ended = 0
        page.on("requestfailed", (request) => request.url().endsWith("/ready") && ended++)
        await page.route("**/ready", () => void asked++)
        for (const look of [1, 2, 3, 4]) {
          await page.clock.fastForward(6000)
          await soon(async () => {
            assert.isAtLeast(asked, look)
            assert.strictEqual(asked - ended, 1)
          })
        }
        await page.getByText("✕ does not answer").waitFor()
      })
    }),
  )

  it.live("stays usable while a limit or another server answers about its state, and calls no such answer ready", () =>
    Effect.gen(function* () {
      const proxy = yield* startProxy()
      const { complaints, page } = yield* openPage()
      const problem = makeProblem({ code: "rate-limited", status: 429, title: "Too many requests." })
      const answers = [
        { status: 429, contentType: PROBLEM_CONTENT_TYPE, body: JSON.stringify(problem) },
        { status: 503, json: { error: "no healthy upstream" } },
        { status: 503, json: null },
      ]
      yield* Effect.promise(async () => {
        await page.clock.install()
        for (const answer of answers) {
          await page.route("**/v1/models", (route) => route.fulfill(answer))
          await page.goto("about:blank")
          await page.goto(`${proxy.url}/console#pin=${proxy.kid}`)
          await page.getByText("✓ ready").waitFor()
          await ask(page, "hello")
          await page.getByText(ANSWER_VERIFIED).waitFor()
          await page.route("**/ready", (route) => route.fulfill(answer))
          await page.clock.fastForward(6000)
          await page.getByText("✕ does not answer").waitFor()
          await page.unroute("**/ready")
        }
      })
      assert.deepStrictEqual(
        complaints.filter((complaint) => !complaint.startsWith("Failed to load resource")),
        [],
      )
    }),
  )

  it.live("works at an address with a user and a password", () =>
    Effect.gen(function* () {
      const proxy = yield* startProxy()
      const { complaints, page } = yield* openPage()
      yield* Effect.promise(async () => {
        await page.goto(`${proxy.url.replace("//", "//dana:secret@")}/console#pin=${proxy.kid}`)
        await page.getByText("✓ ready").waitFor()
        await ask(page, "hello")
        await page.getByText(ANSWER_VERIFIED).waitFor()
        assert.deepStrictEqual(complaints, [])
      })
    }),
  )

  it.live("works without browser storage, and then remembers nothing", () =>
    Effect.gen(function* () {
      const proxy = yield* startProxy()
      for (const denial of [
        `Object.defineProperty(globalThis, "localStorage", { get() { throw new DOMException("no", "SecurityError") } })`,
        `Storage.prototype.setItem = () => { throw new DOMException("full", "QuotaExceededError") }`,
      ]) {
        const { complaints, page } = yield* openPage()
        yield* Effect.promise(async () => {
          await page.addInitScript(denial)
          await page.goto(`${proxy.url}/console#pin=${proxy.kid}`)
          await ask(page, "hello")
          await page.getByText(ANSWER_VERIFIED).waitFor()
          await page.getByRole("button", { name: "Change" }).click()
          await page.getByRole("button", { name: "Forget" }).click()
          await page.getByLabel("Key id to pin").fill(proxy.kid)
          await page.keyboard.press("Enter")
          await page.getByText("● Pinned by you").waitFor()
          await page.goto("about:blank")
          await page.goto(`${proxy.url}/console`)
          await page.getByLabel("Key id to pin").waitFor()
          assert.deepStrictEqual(complaints, [])
        })
      }
    }),
  )

  it.live("shows evidence of the code, says what it did not check, and refuses evidence of something else", () =>
    Effect.gen(function* () {
      const proxy = yield* startEvidenceProxy(yield* temporaryFolder, { attest: "tsm" }, configfs("tdx_guest", 568))
      const plain = yield* startProxy()
      const { complaints, page } = yield* openPage({ viewport: PHONE })
      const { page: other } = yield* openPage()
      yield* Effect.promise(async () => {
        const askAt = async ({ kid, url }: { readonly kid: string; readonly url: string }) => {
          await page.goto("about:blank")
          await page.goto(`${url}/console#pin=${kid}`)
          await page.getByText("Which code runs there").click()
          await page.getByRole("button", { name: "Ask for evidence" }).click()
        }
        await askAt(proxy)
        await page.getByText("○ Shown, not verified").waitFor()
        await page.getByText("Not checked, because browsers cannot").waitFor()
        await says(page.getByLabel("Configuration"), '"software_digest"')
        assert.deepStrictEqual(await accessibilityViolations(page), [])
        await soon(async () =>
          assert.strictEqual(await page.evaluate("document.documentElement.scrollWidth"), PHONE.width),
        )
        assert.deepStrictEqual(complaints, [])
        await page.route("**/v1/evidence", async (route) => {
          const answer: object = await (await route.fetch()).json()
          await route.fulfill({ json: { ...answer, configuration: "e30" } })
        })
        await askAt(proxy)
        await page.getByText("✕ Not about this key, configuration and question").waitFor()
        await page.unroute("**/v1/evidence")
        await other.goto(`${proxy.url}/console#pin=${OTHER_PIN}`)
        await other.getByText("Which code runs there").click()
        await other.getByRole("button", { name: "Ask for evidence" }).click()
        await other.getByText("✕ Evidence of another key than the pinned one").waitFor()
        await askAt(plain)
        await page.getByText("This proxy shows no evidence").waitFor()
        await page.clock.install()
        await page.route("**/v1/evidence", () => {})
        await askAt(plain)
        await page.getByRole("button", { name: "Ask for evidence", disabled: true }).waitFor()
        await page.clock.fastForward(31_000)
        await page.getByText("The proxy does not answer.").waitFor()
      })
    }),
  )

  for (const colorScheme of ["light", "dark"] as const) {
    it.live(`is accessible and fits a phone, ${colorScheme}`, () =>
      Effect.gen(function* () {
        const proxy = yield* startProxy()
        const { page } = yield* openPage({ viewport: PHONE, colorScheme })
        yield* Effect.promise(async () => {
          const look = async () => {
            assert.deepStrictEqual(await accessibilityViolations(page), [])
            await soon(async () =>
              assert.strictEqual(await page.evaluate("document.documentElement.scrollWidth"), PHONE.width),
            )
          }
          await page.goto(`${proxy.url}/console`)
          await page.getByText("✓ ready").waitFor()
          await look()
          // By keyboard alone: past the skip link, into the field, then pin and ask.
          await page.getByLabel("Key id to pin").focus()
          await page.keyboard.type(proxy.kid)
          await page.keyboard.press("Enter")
          await page.getByText("● Pinned by you").waitFor()
          await ask(page, "hello from a phone, with a rather long word: ".concat("w".repeat(120)))
          await page.getByText(ANSWER_VERIFIED).waitFor()
          await look()
          await page.getByRole("switch", { name: "Play the attacker" }).check()
          await ask(page, "hello again")
          await refused(page, "hello again").waitFor()
          await look()
          await page.goto(`${proxy.url}/console#pin=${OTHER_PIN}`)
          await page.getByRole("button", { name: "Pin what the link names" }).waitFor()
          await look()
          await page.getByRole("button", { name: "Pin what the link names" }).press("Enter")
          await page.getByText("○ From a link, not checked").waitFor()
          await look()
        })
      }),
    )
  }

  it.live("is absent if switched off", () =>
    Effect.gen(function* () {
      const proxy = yield* startProxy({ settings: { console: false } })
      for (const path of ["/console", "/console/main.js"]) {
        const response = yield* Effect.promise(() => fetch(`${proxy.url}${path}`))
        assert.strictEqual(response.status, 404)
      }
    }),
  )
})
