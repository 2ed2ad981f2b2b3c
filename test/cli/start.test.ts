import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { runProxy } from "../support/processes.ts"

const MARK = "loaded: "
/** Says at the end of a process what of two HTTP clients it has loaded: that of the package, and that inside of Node. */
const tellLoaded = `data:text/javascript,${encodeURIComponent(`
import { _cache } from "node:module"
process.on("exit", () => {
  const inside = process.moduleLoadList.filter((name) => name.includes("deps/undici"))
  const files = Object.keys(_cache).filter((file) => file.includes("/node_modules/undici/"))
  process._rawDebug(${JSON.stringify(MARK)} + JSON.stringify([...inside, ...files]))
})`)}`

it.live("an unused proxy has not loaded an HTTP client", () =>
  Effect.gen(function* () {
    const proxy = yield* runProxy({ env: { PROVIDER1_API_KEY: "k", NODE_OPTIONS: `--import=${tellLoaded}` } })
    proxy.kill("SIGTERM")
    assert.strictEqual(yield* Effect.promise(() => proxy.exit), 0)
    const told = proxy.stderr.filter((line) => line.startsWith(MARK))
    assert.deepStrictEqual(told, [`${MARK}[]`])
  }),
)
