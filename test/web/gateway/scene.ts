/** A page at the console of a new gateway, with a user to sign in. */
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import type { BrowserContextOptions, Page } from "playwright-core"
import { GatewayClient } from "../../../src/client/gateway.ts"
import type { CallRecord } from "../../../src/services/routing/CallRecord.ts"
import { openPage } from "../../support/browser.ts"
import { tokenFor } from "../../support/gateway.ts"
import { setStage } from "./stage.ts"

/** Browser messages about answers that tests provoke. */
const ASKED_FOR =
  /Failed to load resource: (the server responded with a status of (401|403|404|412|503)|net::ERR_FAILED)/

/** Fails if Escape, or the button that leaves the dialog, closes it. */
export const staysOpen = async (page: Page, button: string): Promise<void> => {
  const dialog = page.locator("dialog")
  const isOpen = async () => {
    await page.evaluate("new Promise((go) => requestAnimationFrame(() => requestAnimationFrame(go)))")
    assert.isTrue(await page.evaluate(`document.querySelector("dialog")?.matches(":modal")`))
  }
  const tryToClose = async () => {
    await page.keyboard.press("Escape")
    await isOpen()
    await dialog.getByRole("button", { name: button }).press("Enter")
    await isOpen()
  }
  await tryToClose()
  // As in a browser that does not know the attribute.
  await dialog.evaluate((element) => element.removeAttribute("closedby"))
  await tryToClose()
}

type Stage = Effect.Success<ReturnType<typeof setStage>>
interface Scene extends Stage {
  readonly page: Page
  readonly token: string
  readonly client: GatewayClient
  /** Signs in with {@link token}, or another one, and waits for the first view. */
  readonly enter: (token?: string) => Promise<void>
}

/** Opens the console of a new gateway. Fails if the browser logged errors. */
export const scene = (
  play: (scene: Scene) => Promise<void>,
  {
    calls = [],
    roles = [],
    ...options
  }: BrowserContextOptions & {
    readonly calls?: ReadonlyArray<CallRecord>
    readonly roles?: ReadonlyArray<string>
  } = {},
) =>
  Effect.scoped(
    Effect.gen(function* () {
      const stage = yield* setStage(calls)
      const token = yield* tokenFor("dana", { tenant: "acme", roles })
      const { complaints, page } = yield* openPage(options)
      const enter = async (own = token) => {
        await page.goto(stage.consoleUrl)
        await page.getByLabel("Token").fill(own)
        await page.keyboard.press("Enter")
        await page.getByRole("heading", { name: "Overview", exact: true }).waitFor()
      }
      const client = new GatewayClient({ baseUrl: stage.gateway.url, token })
      yield* Effect.promise(() => play({ ...stage, page, token, client, enter }))
      assert.deepStrictEqual(
        complaints.filter((complaint) => !ASKED_FOR.test(complaint)),
        [],
      )
    }),
  )
