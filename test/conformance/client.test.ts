/** The kit for clients: ours believes the honest proxies and none of the hostile ones. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { SealedClient } from "../../src/client/sealed/SealedClient.ts"
import type { Case } from "../../src/conformance/client/Case.ts"
import { CASES } from "../../src/conformance/client/cases/all.ts"
import { WATCHED } from "../../src/conformance/client/Conduct.ts"
import { specification } from "../support/protocol/pages.ts"
import { haveCryptography } from "../support/pythonCryptography.ts"
import { pythonTester } from "./support/pythonTester.ts"
import { type Options, resultsOfClient as resultsOf, testerOf } from "./support/results.ts"

/** Rules for clients that no case tries: each case gives the client a pin. */
const UNTRIED = ["C7"]

describe("the cases", () => {
  it("cover every rule for clients except the listed ones", () => {
    const rules = new Set([...specification.matchAll(/\*\*(?:\[P\d+\] )?\[(C\d+)\]/g)].map(([, id]) => id))
    assert.isAbove(rules.size, 40)
    const tried = [...CASES.map(({ must }) => must), ...Object.keys(WATCHED), ...UNTRIED]
    assert.deepStrictEqual([...new Set(tried)].sort(), [...rules].sort())
  })

  it("have unique names that are valid in a path", () => {
    const names = CASES.map(({ name }) => name)
    assert.strictEqual(new Set(names).size, names.length)
    assert.deepStrictEqual(
      names.filter((name) => !/^[a-z0-9-]+$/.test(name)),
      [],
    )
    assert.isAbove(CASES.filter(({ expect }) => expect !== "answer").length, 150)
  })
})

describe("our client", () => {
  it.live("believes honest proxies and no others", () =>
    Effect.gen(function* () {
      const { failed, passed, skipped } = yield* resultsOf(CASES, testerOf(SealedClient))
      assert.deepStrictEqual(failed, [])
      assert.deepStrictEqual(skipped, ["offer-suite-other", "restart-forbidden"])
      assert.isAbove(passed.length, 150)
    }),
  )

  it.live("does so with the other suite, without a pace, and without restarts", () =>
    Effect.gen(function* () {
      const options: Options = { suites: ["X25519"], pace: 0, restart: false }
      // As a stream wherever a case allows either form.
      const streamed = CASES.map((each): Case => ({ form: "stream", ...each }))
      const { failed, skipped } = yield* resultsOf(streamed, testerOf(SealedClient, options))
      assert.deepStrictEqual(failed, [])
      assert.deepStrictEqual(
        skipped.filter((name) => !name.includes("mlkem")),
        ["honest-restart", "provider-of-restart", "restart-without-provider", "restart-text"],
      )
    }),
  )
})

describe.skipIf(!haveCryptography)("the client in Python", () => {
  it.live("believes honest proxies and no others", () =>
    Effect.gen(function* () {
      const { failed, passed } = yield* resultsOf(CASES, yield* pythonTester, 1)
      assert.deepStrictEqual(failed, [])
      assert.isAbove(passed.length, 150)
    }),
  )
})
