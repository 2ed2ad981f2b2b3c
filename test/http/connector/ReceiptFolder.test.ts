import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import type { VerifiedAnswer } from "../../../src/client/sdk/sealedFetch.ts"
import { openReceiptFolder } from "../../../src/http/connector/ReceiptFolder.ts"
import { failing } from "../../support/promises.ts"
import { temporaryFolder } from "../../support/proxy.ts"

/** Evidence that no single write to a file takes whole. */
const LARGE = "x".repeat(16 * 1024 * 1024)

const answer = (jti: string): VerifiedAnswer => {
  const kept = { nonce: "n", answer: { large: LARGE }, collateral: {}, verified_at: 1 }
  const parts = { receipt: { jti }, statements: { receipt: `receipt of ${jti}` }, keys: { keys: [] }, code: { kept } }
  // The folder reads no other part.
  return parts as unknown as VerifiedAnswer
}

const opened = Effect.gen(function* () {
  const folder = join(yield* temporaryFolder, "receipts")
  return { folder, keep: yield* openReceiptFolder({ folder, evidence: false }) }
})

describe("a folder of receipts", () => {
  it.live("contains the whole evidence of the code once one of several concurrent answers is stored", () =>
    Effect.gen(function* () {
      const { folder, keep } = yield* opened
      const names = ["a", "b", "c", "d"]
      const seen = yield* Effect.promise(() =>
        Promise.all(
          names.map(async (name) => {
            await keep(answer(name))
            return readFileSync(join(folder, "code-n.json")).length
          }),
        ),
      )
      assert.isAbove(Math.min(...seen), LARGE.length)
      assert.deepStrictEqual(
        readdirSync(folder).toSorted(),
        [...names.map((name) => `${name}.json`), "code-n.json"].toSorted(),
      )
      for (const file of readdirSync(folder)) assert.strictEqual(statSync(join(folder, file)).mode & 0o777, 0o600)
    }),
  )

  it.live("replaces no receipt, and contains no part of a receipt that could not be stored", () =>
    Effect.gen(function* () {
      const { folder, keep } = yield* opened
      writeFileSync(join(folder, "a.json"), "first")
      const error = yield* failing(keep(answer("a")))
      assert.include(String(error), "it exists already")
      assert.strictEqual(readFileSync(join(folder, "a.json"), "utf8"), "first")
      assert.deepStrictEqual(readdirSync(folder).toSorted(), ["a.json", "code-n.json"])
    }),
  )
})
