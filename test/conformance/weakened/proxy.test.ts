/** The kit for servers fails copies of ours whose rules are broken, one at a time, and passes variants that are allowed. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { CHECKS } from "../../../src/conformance/proxy/checks/all.ts"
import { runProxy } from "../../support/processes.ts"
import { temporaryFolder } from "../../support/proxy.ts"
import { resultsOfServer as resultsOf } from "../support/results.ts"
import { KEY_MISTAKES, SERVER_VARIANTS, SERVER_WEAKNESSES } from "../support/serverWeaknesses.ts"
import { bundleWeakened } from "../support/weakened.ts"

/** Time for hundreds of processes on a busy machine. */
const MINUTES = 600_000

describe("our server", () => {
  it.live(
    "passes with only Chat Completions, and with delayed openings",
    () =>
      Effect.gen(function* () {
        const folder = yield* temporaryFolder
        const module = yield* Effect.promise(() => bundleWeakened("cli/main.ts", SERVER_VARIANTS, folder))
        yield* Effect.forEach(
          SERVER_VARIANTS,
          ({ name }) =>
            Effect.gen(function* () {
              const proxy = yield* runProxy({ module, env: { WEAKNESS: name } })
              assert.deepStrictEqual((yield* resultsOf(proxy, CHECKS)).failed, [], name)
            }).pipe(Effect.scoped),
          { discard: true },
        )
      }),
    MINUTES,
  )

  it.live(
    "fails only once for several checks with one cause",
    () =>
      Effect.gen(function* () {
        const folder = yield* temporaryFolder
        const weaknesses = SERVER_WEAKNESSES.filter(({ name }) => name === "statements without a version")
        const module = yield* Effect.promise(() => bundleWeakened("cli/main.ts", weaknesses, folder))
        const proxy = yield* runProxy({ module, env: { WEAKNESS: "statements without a version" } })
        const { failed, skipped } = yield* resultsOf(proxy, CHECKS)
        assert.isBelow(failed.length, 6, failed.map(({ name, saw }) => `${name}: ${saw}`).join("\n"))
        assert.isAbove(skipped.filter(({ saw }) => saw.startsWith("it fails as ")).length, 30)
      }),
    MINUTES,
  )

  it.live(
    "learns which mistake in its keys keeps frames from opening",
    () =>
      Effect.gen(function* () {
        const folder = yield* temporaryFolder
        const module = yield* Effect.promise(() => bundleWeakened("cli/main.ts", KEY_MISTAKES, folder))
        const plain = CHECKS.filter(({ must }) => must === "P32" || must === "P33")
        yield* Effect.forEach(
          KEY_MISTAKES,
          ({ name, says }) =>
            Effect.gen(function* () {
              const proxy = yield* runProxy({ module, env: { WEAKNESS: name } })
              const { failed, passed } = yield* resultsOf(proxy, plain)
              assert.deepStrictEqual(
                failed.map(({ saw }) => saw.includes(says)),
                [true],
                failed.map(({ saw }) => `${name}: ${saw}`).join("\n"),
              )
              assert.deepStrictEqual(passed, [], name)
            }).pipe(Effect.scoped),
          { concurrency: 3, discard: true },
        )
      }),
    MINUTES,
  )

  it.live(
    "fails if any of its rules is broken",
    () =>
      Effect.gen(function* () {
        const folder = yield* temporaryFolder
        const module = yield* Effect.promise(() => bundleWeakened("cli/main.ts", SERVER_WEAKNESSES, folder))
        const failing = Effect.fnUntraced(function* (
          musts: ReadonlySet<string>,
          env: Readonly<Record<string, string>>,
        ) {
          const checks = CHECKS.filter(({ must }) => musts.has(must))
          return (yield* resultsOf(yield* runProxy({ module, env }), checks)).failed
        }, Effect.scoped)
        assert.deepStrictEqual(yield* failing(new Set(SERVER_WEAKNESSES.map(({ must }) => must)), {}), [])
        yield* Effect.forEach(
          SERVER_WEAKNESSES,
          ({ must, name }) =>
            Effect.map(failing(new Set([must]), { WEAKNESS: name }), (failed) =>
              assert.isNotEmpty(failed, `${must}: ${name}`),
            ),
          { concurrency: 3, discard: true },
        )
      }),
    MINUTES,
  )
})
