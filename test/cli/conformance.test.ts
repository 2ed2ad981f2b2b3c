/** `sealgate conformance`, as those use it who write a server or a client of their own. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { conformanceCommand } from "../../src/cli/conformanceCommand.ts"
import { SealedClient } from "../../src/client/sealed/SealedClient.ts"
import { run, sealgate } from "../support/cli.ts"
import { run as runProcess } from "../support/processes.ts"
import { startProxy } from "../support/proxy.ts"

interface Report {
  readonly ok: boolean
  readonly failed: number
  readonly results: ReadonlyArray<{
    readonly must: string
    readonly name: string
    readonly outcome: string
    readonly saw: string
  }>
}

/** The command prints exactly this shape. */
const reportIn = (stdout: string) => JSON.parse(stdout) as Report

describe("sealgate conformance proxy", () => {
  it.live("checks one rule and reports what it observed", () =>
    Effect.gen(function* () {
      const { kid, url } = yield* startProxy()
      const { code, stdout } = yield* run(conformanceCommand, ["proxy", url, "--pin", kid, "--only", "P8", "--json"])
      const { failed, ok, results } = reportIn(stdout)
      assert.deepStrictEqual([code, ok, failed], [0, true, 0])
      assert.deepStrictEqual([...new Set(results.map(({ must }) => must))], ["P8"])
      assert.isAbove(results.length, 2)

      const shown = yield* run(conformanceCommand, [
        "proxy",
        url,
        "--pin",
        kid,
        "--only",
        "init-no-common-suite",
        "--all",
      ])
      assert.include(shown.stdout, "400 no-common-suite")
      assert.include(shown.stdout, "1 passed, 0 failed")
    }),
  )

  it.live("fails a server with another key, and one that cannot be reached", () =>
    Effect.gen(function* () {
      const { url } = yield* startProxy()
      for (const address of [url, "http://127.0.0.1:9"]) {
        const args = ["proxy", address, "--pin", "A".repeat(43), "--only", "P10", "--json"]
        const { code, stdout } = yield* run(conformanceCommand, args)
        assert.deepStrictEqual([code, reportIn(stdout).ok], [1, false])
      }
    }),
  )

  it.live("lists all checks without a server, and rejects unknown ids", () =>
    Effect.gen(function* () {
      const { code, stdout } = yield* sealgate(["conformance", "proxy", "--list"])
      assert.strictEqual(code, 0)
      assert.match(stdout, /^P17 +replay-later: /m)
      const unknown = yield* run(conformanceCommand, ["proxy", "--list", "--only", "P99"])
      assert.strictEqual(unknown.code, 2)
      assert.include(unknown.stderr, "--list")
    }),
  )
})

/** A program that believes every answer. It begins a session, so that there is one. */
const CREDULOUS = `
const suites = [{ kem: 32, kdf: 1, aead: 2 }]
const body = JSON.stringify({ client_nonce: "A".repeat(22), suites })
const headers = { "content-type": "application/json" }
fetch(process.argv[1] + "/v1/init", { method: "POST", headers, body }).then(() => process.exit(0))
`

describe("sealgate conformance client", () => {
  it.live("runs a command for each case and reports which ones it believed", () =>
    Effect.gen(function* () {
      const only = ["--only", "C14", "--only", "honest-stream"]
      const command = ["--", process.execPath, "-e", CREDULOUS, "{url}"]
      const { code, stdout } = yield* run(conformanceCommand, ["client", "--json", ...only, ...command])
      const { results } = reportIn(stdout)
      assert.strictEqual(code, 1)
      const saw = (name: string) => results.find((result) => result.name === name)?.saw
      assert.strictEqual(saw("offer-hash-other"), "it believed it")
      assert.strictEqual(saw("honest-stream"), "it believed the answer but did not show it")
    }),
  )

  it.live("fails a client that refuses everything or does nothing", () =>
    Effect.gen(function* () {
      const { code, stdout } = yield* run(conformanceCommand, ["client", "--json", "--only", "C14", "--", "false"])
      assert.strictEqual(code, 1)
      assert.isTrue(reportIn(stdout).results.every(({ outcome }) => outcome === "fail"))
    }),
  )

  it.live("serves its cases to clients without a command and accepts their reports", () =>
    Effect.gen(function* () {
      const server = yield* runProcess(["conformance", "client", "--json", "--only", "honest-stream", "--only", "C43"])
      const { pin, text, url } = yield* Effect.promise(() =>
        // It prints exactly this shape.
        server.line((line) =>
          line.startsWith("{") ? (JSON.parse(line) as Record<"pin" | "text" | "url", string>) : undefined,
        ),
      )
      yield* Effect.promise(async () => {
        const { cases } = (await (await fetch(url)).json()) as {
          readonly cases: ReadonlyArray<{ readonly expect: string; readonly url: string; readonly verdict: string }>
        }
        assert.isAbove(cases.length, 5)
        for (const { expect, url, verdict } of cases) {
          const answer = await new SealedClient({ baseUrl: url, pins: [pin] }).stream({ prompt: "hello" })
          const output = await answer.text().catch(() => undefined)
          assert.strictEqual(output, expect === "believed" ? text : undefined)
          const said = output === undefined ? { believed: false } : { believed: true, output }
          const { status } = await fetch(verdict, { method: "POST", body: JSON.stringify(said) })
          assert.strictEqual(status, 200)
        }
        const report = (await (await fetch(`${url}/report`)).json()) as Report
        assert.deepStrictEqual([report.ok, report.failed, report.results.length], [true, 0, cases.length])
      })
    }),
  )
})
