/** The programs in README, run as they stand there: only address, pin and token are those of the servers of the test. */
import { execFile } from "node:child_process"
import { readFileSync } from "node:fs"
import { promisify } from "node:util"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { databaseUrl, startGateway, tokenFor } from "../support/gateway.ts"
import { startProxy } from "../support/proxy.ts"

const programs = [...readFileSync("README.md", "utf8").matchAll(/```ts\n([^]*?)```/g)].map(([, text = ""]) => text)

/** Runs a program in this package, whose name it imports. */
const run = (program: string, env: Readonly<Record<string, string>> = {}) =>
  Effect.promise(() =>
    promisify(execFile)(
      process.execPath,
      ["--conditions=@sealgate/source", "--input-type=module-typescript", "--eval", program],
      { env: { PATH: process.env["PATH"], ...env } },
    ),
  )

describe("README", () => {
  it("has two programs", () => assert.strictEqual(programs.length, 2))

  it.live("has a client that completes, streams and verifies", () =>
    Effect.gen(function* () {
      const { kid, url } = yield* startProxy()
      const program = (programs[0] ?? "")
        .replace("http://localhost:3001", url)
        .replace("<the pin the proxy printed>", kid)
      const { stdout } = yield* run(program)
      assert.strictEqual(stdout, "Hello echo echo-1\nTell me more")

      const withoutPin = (programs[0] ?? "")
        .replace("http://localhost:3001", url)
        .replace("<the pin the proxy printed>", "")
      const failed = yield* Effect.promise(() =>
        promisify(execFile)(process.execPath, [
          "--conditions=@sealgate/source",
          "--input-type=module-typescript",
          "--eval",
          withoutPin,
        ]).then(
          () => "",
          ({ stderr }: { readonly stderr: string }) => stderr,
        ),
      )
      assert.include(failed, "One of the pins is empty; a pin has 43")
    }).pipe(Effect.scoped),
  )

  it.live("has a client of the gateway that gives a task and waits", () =>
    Effect.gen(function* () {
      const { url } = yield* startGateway(yield* databaseUrl({ kind: "sqlite" }))
      const program = (programs[1] ?? "").replace("http://localhost:3000", url)
      const { stdout } = yield* run(`${program}\nconsole.log(result?.verdict, cost_micro_usd)`, {
        SEALGATE_TOKEN: yield* tokenFor("alice"),
      })
      assert.strictEqual(stdout, "inconclusive 0\n")
    }).pipe(Effect.scoped),
  )
})
