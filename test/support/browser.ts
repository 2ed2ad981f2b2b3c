/** A real browser for tests of pages: Debian's Chromium, or the one that CHROMIUM names. */
import { existsSync, readFileSync } from "node:fs"
import { createRequire } from "node:module"
import { Effect } from "effect"
import { type Browser, type BrowserContextOptions, chromium, type Page, type Route } from "playwright-core"
import { afterAll, vi } from "vitest"

const executable = [process.env["CHROMIUM"] ?? "", "/usr/bin/chromium", "/usr/bin/chromium-browser"].find(
  (path) => path !== "" && existsSync(path),
)

/** True if a browser exists; otherwise tests are skipped with one warning. */
export const hasBrowser = executable !== undefined
if (!hasBrowser)
  console.warn("skipped: tests of the consoles need Chromium (apt-get install chromium, or set CHROMIUM)")

/** One browser for all tests of a file; each page has a separate context. */
let launched: Promise<Browser> | undefined

const browser = (): Promise<Browser> => {
  launched ??= chromium.launch({
    ...(executable === undefined ? {} : { executablePath: executable }),
    // Tests run as root in containers, where the browser's sandbox does not start. The pages are trusted.
    chromiumSandbox: false,
  })
  return launched
}

afterAll(async () => {
  await (await launched)?.close()
})

export const PHONE = { width: 390, height: 844 }
export const DESKTOP = { width: 1280, height: 860 }

interface OpenedPage {
  readonly page: Page
  /** Warnings and errors of the page's console, and uncaught exceptions. */
  readonly complaints: ReadonlyArray<string>
}

/** Opens an isolated page that lives as long as the scope. */
export const openPage = Effect.fnUntraced(function* (options: BrowserContextOptions = {}) {
  const context = yield* Effect.acquireRelease(
    Effect.promise(async () =>
      (await browser()).newContext({
        viewport: DESKTOP,
        // Fading elements have transient colours, which axe would report.
        reducedMotion: "reduce",
        ...options,
      }),
    ),
    (context) => Effect.promise(() => context.close()),
  )
  const page = yield* Effect.promise(() => context.newPage())
  const complaints: Array<string> = []
  page.on("pageerror", (error) => complaints.push(error.message))
  page.on("console", (message) => {
    if (message.type() === "error" || message.type() === "warning") complaints.push(message.text())
  })
  return { page, complaints } satisfies OpenedPage
})

/** Time limit for immediate reactions of a page. */
const SOON_MS = 20_000

/**
 * Repeats a check of the page until it holds, and fails with its last message. The check must read the current state, such
 * as `count()` or `allInnerTexts()`: methods that wait for an element give no message if it never comes.
 */
export const soon = (check: () => Promise<void>): Promise<void> => vi.waitFor(check, { timeout: SOON_MS, interval: 20 })

/** Holds answers until they are released: `page.route(url, held.hold)`. */
export class Held {
  private readonly pass: (route: Route) => Promise<void>
  private waiting: Array<() => void> = []
  private open = false

  constructor(pass: (route: Route) => Promise<void> = (route) => route.continue()) {
    this.pass = pass
  }

  readonly hold = async (route: Route): Promise<void> => {
    if (!this.open) await new Promise<void>((go) => this.waiting.push(go))
    await this.pass(route)
  }

  /** Waits until exactly one answer is held. */
  one(): Promise<void> {
    return soon(async () => {
      if (this.waiting.length !== 1) throw new Error(`${this.waiting.length} answers are held instead of one`)
    })
  }

  /** Releases the held answers. */
  next(): void {
    for (const go of this.waiting.splice(0)) go()
  }

  /** Releases the held answers and all later ones. */
  releaseBytes(): void {
    this.open = true
    this.next()
  }
}

/** Sets the fragment of the address as soon as an element is there, so before the page's effects run. Call it before `goto`. */
export const fragmentAtOnce = (page: Page, selector: string, fragment: string): Promise<unknown> =>
  page.addInitScript(`{
    const observer = new MutationObserver(() => {
      if (document.querySelector(${JSON.stringify(selector)}) === null) return
      observer.disconnect()
      location.hash = ${JSON.stringify(fragment)}
    })
    observer.observe(document, { childList: true, subtree: true })
  }`)

/** The label or text of the focused element; `BODY` if there is none. */
export const focused = (page: Page): Promise<string> =>
  page.evaluate<string>(
    `(({ activeElement: element, body }) =>
      element === null || element === body ? "BODY" : (element.labels?.[0] ?? element).innerText)(document)`,
  )

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8")

/** Returns axe-core's findings, a line per rule and element. */
export const accessibilityViolations = async (page: Page): Promise<ReadonlyArray<string>> => {
  // Evaluated by the debugger, which bypasses the page's content security policy.
  await page.evaluate(AXE)
  const found = await page.evaluate(async () => {
    const axe: unknown = Reflect.get(globalThis, "axe")
    const { violations } = await (axe as { run: () => Promise<{ violations: ReadonlyArray<Violation> }> }).run()
    return violations.map(({ id, nodes }) => ({ id, nodes: nodes.map(({ html }) => html) }))
  })
  return found.flatMap(({ id, nodes }) => nodes.map((html) => `${id}: ${html.slice(0, 200)}`))
}

interface Violation {
  readonly id: string
  readonly nodes: ReadonlyArray<{ readonly html: string }>
}
