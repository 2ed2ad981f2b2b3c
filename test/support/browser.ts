/** A real browser for tests of pages: Debian's Chromium, or whatever CHROMIUM names. */
import { existsSync, readFileSync } from "node:fs"
import { createRequire } from "node:module"
import { Effect } from "effect"
import { type Browser, type BrowserContextOptions, chromium, type Page, type Route } from "playwright-core"
import { afterAll, vi } from "vitest"

const executable = [process.env["CHROMIUM"] ?? "", "/usr/bin/chromium", "/usr/bin/chromium-browser"].find(
  (path) => path !== "" && existsSync(path),
)

/** Whether there is a browser. Says so once when there is none, because tests are skipped then. */
export const hasBrowser = executable !== undefined
if (!hasBrowser)
  console.warn("skipped: tests of the consoles need Chromium (apt-get install chromium, or set CHROMIUM)")

/** One browser for all tests of a file; each page has a context of its own. */
let launched: Promise<Browser> | undefined

const browser = (): Promise<Browser> => {
  launched ??= chromium.launch({
    ...(executable === undefined ? {} : { executablePath: executable }),
    // Tests run as root in containers, where the sandbox of the browser does not start. The pages are our own.
    chromiumSandbox: false,
  })
  return launched
}

afterAll(async () => {
  await (await launched)?.close()
})

export const PHONE = { width: 390, height: 844 }
export const DESKTOP = { width: 1280, height: 860 }

export interface OpenedPage {
  readonly page: Page
  /** What the page wrote to its console as a warning or an error, and what it threw. */
  readonly complaints: ReadonlyArray<string>
}

/** A page that lives as long as the scope, and shares nothing with others. */
export const openPage = Effect.fnUntraced(function* (options: BrowserContextOptions = {}) {
  const context = yield* Effect.acquireRelease(
    Effect.promise(async () =>
      (await browser()).newContext({
        viewport: DESKTOP,
        // What is fading in has other colours than it will have in a moment.
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

/** How long a page may take for what it does at once. */
const SOON_MS = 20_000

/**
 * Repeats a check of the page until it holds, and fails with what it said last. The check reads what is there now, such
 * as `count()` or `allInnerTexts()`: what waits by itself for an element has nothing to say when that never comes.
 */
export const soon = (check: () => Promise<void>): Promise<void> => vi.waitFor(check, { timeout: SOON_MS, interval: 20 })

/** Answers that wait until they are let go: `page.route(url, held.hold)`. */
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

  /** Waits until there is just one that is held. */
  one(): Promise<void> {
    return soon(async () => {
      if (this.waiting.length !== 1) throw new Error(`${this.waiting.length} answers are held, and not one`)
    })
  }

  /** Lets go what is held now. */
  next(): void {
    for (const go of this.waiting.splice(0)) go()
  }

  /** Lets go what is held, and whatever comes. */
  releaseBytes(): void {
    this.open = true
    this.next()
  }
}

/** The label or text of what has the focus; `BODY` when nothing has. */
export const focused = (page: Page): Promise<string> =>
  page.evaluate<string>(
    `(({ activeElement: element, body }) =>
      element === null || element === body ? "BODY" : (element.labels?.[0] ?? element).innerText)(document)`,
  )

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8")

/** What axe-core finds wrong with the page as it is: a line per rule and element. */
export const accessibilityViolations = async (page: Page): Promise<ReadonlyArray<string>> => {
  // Evaluated by the debugger, which the page's own content security policy does not hold back.
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
