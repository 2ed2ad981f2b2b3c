/** The kit for clients: ours believes the honest proxies and none of the hostile ones, and a weakened copy of it does not pass. */
import { pathToFileURL } from "node:url"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { SealedClient, type SealedClientOptions } from "../../src/client/sealed/SealedClient.ts"
import type { Case } from "../../src/conformance/client/Case.ts"
import { CASES } from "../../src/conformance/client/cases/all.ts"
import { serveCases } from "../../src/conformance/client/CaseServer.ts"
import { WATCHED } from "../../src/conformance/client/Conduct.ts"
import type { ClientVerdict } from "../../src/conformance/client/judge.ts"
import { runCases, type Tester } from "../../src/conformance/client/runCases.ts"
import { specification } from "../support/protocol/pages.ts"
import { temporaryFolder } from "../support/proxy.ts"
import { CLIENT_WEAKNESSES } from "./support/clientWeaknesses.ts"
import { haveCryptography } from "../support/pythonCryptography.ts"
import { pythonTester } from "./support/pythonTester.ts"
import { bundleWeakened } from "./support/weakened.ts"

/** Rules for clients that no case tries: each case gives the client a pin. */
const UNTRIED = ["C7"]

/** Some hundred exchanges and more, on a machine that may be busy. */
const TEST_MS = 120_000

interface Options extends Partial<SealedClientOptions> {
  readonly restart?: boolean
}

/** A client in this process, which is asked for either form. */
const testerOf =
  (Client: typeof SealedClient, { restart = true, ...options }: Options = {}): Tester =>
  ({ form, pin, url }) =>
    Effect.promise(async (): Promise<ClientVerdict> => {
      const client = new Client({ baseUrl: url, pins: [pin], ...options })
      try {
        const output =
          form === "complete"
            ? String((await client.complete({ prompt: "hello" })).completion.choices[0]?.message.content)
            : await (await client.stream({ prompt: "hello" }, { restart })).text()
        return { type: "believed", output }
      } catch {
        return { type: "refused" }
      }
    })

/** Runs `cases` with a new server, because a server remembers its clients. */
const resultsOf = Effect.fnUntraced(function* (cases: ReadonlyArray<Case>, tester: Tester, concurrency = 8) {
  const server = yield* Effect.acquireRelease(
    Effect.promise(() => serveCases(cases, 0)),
    ({ close }) => Effect.promise(close),
  )
  const { results } = yield* runCases(server, cases, { tester, concurrency })
  const of = (outcome: string) => results.filter((result) => result.outcome === outcome)
  return { passed: of("pass"), failed: of("fail"), skipped: of("skipped").map(({ name }) => name) }
})

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
  it.live(
    "believes honest proxies and no others",
    () =>
      Effect.gen(function* () {
        const { failed, passed, skipped } = yield* resultsOf(CASES, testerOf(SealedClient))
        assert.deepStrictEqual(failed, [])
        assert.deepStrictEqual(skipped, ["offer-suite-other", "restart-forbidden"])
        assert.isAbove(passed.length, 150)
      }).pipe(Effect.scoped),
    TEST_MS,
  )

  it.live(
    "does so with the other suite, without a pace, and without restarts",
    () =>
      Effect.gen(function* () {
        const options: Options = { suites: ["X25519"], pace: 0, restart: false }
        // In a stream wherever a case takes either form.
        const streamed = CASES.map((each): Case => ({ form: "stream", ...each }))
        const { failed, skipped } = yield* resultsOf(streamed, testerOf(SealedClient, options))
        assert.deepStrictEqual(failed, [])
        assert.deepStrictEqual(
          skipped.filter((name) => !name.includes("mlkem")),
          ["honest-restart", "provider-of-restart", "restart-without-provider", "restart-text"],
        )
      }).pipe(Effect.scoped),
    TEST_MS,
  )

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
      }).pipe(Effect.scoped),
    TEST_MS,
  )
})

describe.skipIf(!haveCryptography)("the client in Python", () => {
  it.live(
    "believes honest proxies and no others",
    () =>
      Effect.gen(function* () {
        const { failed, passed } = yield* resultsOf(CASES, yield* pythonTester, 1)
        assert.deepStrictEqual(failed, [])
        assert.isAbove(passed.length, 150)
      }).pipe(Effect.scoped),
    TEST_MS,
  )
})
