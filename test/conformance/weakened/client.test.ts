/** The kit for clients fails copies of ours that lack a check, one at a time. */
import { pathToFileURL } from "node:url"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import type { SealedClient } from "../../../src/client/sealed/SealedClient.ts"
import { CASES } from "../../../src/conformance/client/cases/all.ts"
import { temporaryFolder } from "../../support/proxy.ts"
import { CLIENT_WEAKNESSES } from "../support/clientWeaknesses.ts"
import { resultsOfClient as resultsOf, testerOf } from "../support/results.ts"
import { bundleWeakened } from "../support/weakened.ts"

/** Time for hundreds of exchanges on a busy machine. */
const TEST_MS = 600_000

describe("our client", () => {
  it.live(
    "fails if any of its checks is removed",
    () =>
      Effect.gen(function* () {
        const folder = yield* temporaryFolder
        const bundled = yield* Effect.promise(() =>
          bundleWeakened("client/sealed/SealedClient.ts", CLIENT_WEAKNESSES, folder),
        )
        // It exports what the source does, weakened.
        const made = (yield* Effect.promise(() => import(pathToFileURL(bundled).href))) as {
          SealedClient: typeof SealedClient
        }
        const tester = testerOf(made.SealedClient, { suites: ["X25519"], restart: false })
        yield* Effect.addFinalizer(() => Effect.sync(() => delete process.env["WEAKNESS"]))
        const casesOf = (musts: ReadonlySet<string>) => CASES.filter(({ must }) => musts.has(must))
        const all = casesOf(new Set(CLIENT_WEAKNESSES.map(({ must }) => must)))
        delete process.env["WEAKNESS"]
        assert.deepStrictEqual((yield* resultsOf(all, tester)).failed, [])
        for (const { must, name } of CLIENT_WEAKNESSES) {
          process.env["WEAKNESS"] = name
          assert.isNotEmpty((yield* resultsOf(casesOf(new Set([must])), tester)).failed, `${must}: ${name}`)
        }
      }),
    TEST_MS,
  )
})
