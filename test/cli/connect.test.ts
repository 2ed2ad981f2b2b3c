/** `sealgate connect`: refusals, log and end. */
import { readdirSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { ConfigProvider, Effect, Option } from "effect"
import { connectCommand } from "../../src/cli/connectCommand.ts"
import { joinPins } from "../../src/cli/flags.ts"
import { credentialFrom } from "../../src/cli/credential.ts"
import { SealgateError } from "../../src/client/errors.ts"
import { SealedClient } from "../../src/client/sealed/SealedClient.ts"
import { run } from "../support/cli.ts"
import { startConnector } from "../support/connector.ts"
import { run as runProcess } from "../support/processes.ts"
import { failing } from "../support/promises.ts"
import { startProxy, temporaryFolder } from "../support/proxy.ts"

const PIN = "A".repeat(43)
/** The folder of the tests may have the key of a proxy that somebody tried. */
const NO_KEY = ConfigProvider.fromEnvRecord({ ATTESTATION_KEY_FILE: "/nowhere/key.pem" })

describe("sealgate connect", () => {
  it.live("exits with 2 unless the arguments allow trust on first use and listening beyond this machine", () =>
    Effect.gen(function* () {
      const proxy = ["--proxy", "http://127.0.0.1:9"]
      const cases: ReadonlyArray<readonly [args: ReadonlyArray<string>, says: string]> = [
        [proxy, "--trust-on-first-use"],
        [[...proxy, "--pin", PIN, "--host", "192.168.1.5"], "--allow-remote"],
        [[...proxy, "--pin", PIN, "--host", "[::]"], "--allow-remote"],
      ]
      for (const [args, says] of cases) {
        const { code, stderr, stdout } = yield* Effect.provide(run(connectCommand, args), ConfigProvider.layer(NO_KEY))
        assert.strictEqual(code, 2, args.join(" "))
        assert.include(stdout + stderr, says)
      }
    }),
  )

  it.live("exits with 1 if the proxy has another key, and warns if there is no proxy yet", () =>
    Effect.gen(function* () {
      const { kid, url } = yield* startProxy()
      const args = (proxy: string) => ["connect", "--port", "0", "--pin", PIN, "--proxy", proxy]
      const wrong = yield* runProcess(args(url))
      assert.strictEqual(yield* Effect.promise(() => wrong.exit), 1)
      assert.include(wrong.stderr.join("\n"), `identifies itself as ${kid}, which is not pinned`)
      const early = yield* runProcess(args("http://127.0.0.1:9"))
      const warning = yield* Effect.promise(() =>
        early.line((line) => (line.includes("no session with") ? line : undefined)),
      )
      assert.include(warning, "nothing listens there")
      early.kill("SIGTERM")
      assert.strictEqual(yield* Effect.promise(() => early.exit), 0)
    }),
  )

  it.live("answers with a remedy once the file of the credential is gone, and sends nothing", () =>
    Effect.gen(function* () {
      const { kid, url } = yield* startProxy()
      const file = join(yield* temporaryFolder, "credential.txt")
      writeFileSync(file, "key")
      const sealed = { baseUrl: url, pins: [kid], ...(yield* credentialFrom(Option.some(file))) }
      rmSync(file)
      const says = `The file of --credential-file cannot be read (${file}: there is no such file). Check its path`
      const connector = yield* startConnector({ sealed })
      const answer = yield* Effect.promise(() =>
        fetch(`${connector.url}/v1/chat/completions`, {
          method: "POST",
          headers: { "content-type": "application/json" },
          body: JSON.stringify({ messages: [{ role: "user", content: "Hi" }] }),
        }),
      )
      assert.strictEqual(answer.status, 401)
      assert.include(yield* Effect.promise(() => answer.text()), says)
      const error = yield* failing(new SealedClient(sealed).complete({ prompt: "Hi" }))
      if (!(error instanceof SealgateError)) return assert.fail(String(error))
      assert.isFalse(error.mayHaveBeenServed)
      assert.include(error.message, says)
    }),
  )

  it.live("exits with 2 if receipts cannot be written, and logs it if that fails later", () =>
    Effect.gen(function* () {
      const { kid, url } = yield* startProxy()
      const folder = yield* temporaryFolder
      const [file, receipts] = [join(folder, "file"), join(folder, "receipts")]
      writeFileSync(file, "")
      const args = (path: string) => ["connect", "--port", "0", "--pin", kid, "--proxy", url, "--receipts", path]
      for (const path of [file, join(file, "below"), "/proc/receipts"]) {
        const refused = yield* runProcess(args(path))
        assert.strictEqual(yield* Effect.promise(() => refused.exit), 2, path)
        const says = refused.stderr.join("\n")
        assert.include(says, `Receipts cannot be written to ${path}: `)
        assert.include(says, "Check --receipts.")
      }
      const running = yield* runProcess(args(receipts))
      yield* Effect.promise(async () => {
        const port = await running.line((line) => /listening on http:\/\/127\.0\.0\.1:(\d+)\/v1/.exec(line)?.at(-1))
        assert.deepStrictEqual(readdirSync(receipts), [])
        rmSync(receipts, { recursive: true })
        writeFileSync(receipts, "")
        const answer = await fetch(`http://127.0.0.1:${port}/v1/chat/completions`, {
          method: "POST",
          headers: { "content-type": "application/json" },
          body: JSON.stringify({ messages: [{ role: "user", content: "Hi" }] }),
        })
        assert.strictEqual(answer.status, 500)
        await running.line((line) => (line.includes(`receipts cannot be written to ${receipts}`) ? true : undefined))
      })
    }),
  )

  it.live("logs its address and the trusted key, warns about other machines, and exits with 0", () =>
    Effect.gen(function* () {
      const { kid, url } = yield* startProxy()
      const receipts = join(yield* temporaryFolder, "receipts")
      const address = ["--host", "0.0.0.0", "--port", "0", "--allow-remote"]
      const kept = ["--receipts", receipts, "--evidence"]
      const running = yield* runProcess([
        "connect",
        "--proxy",
        url,
        "--trust-on-first-use",
        ...address,
        ...kept,
        "--json",
      ])
      const sees = (pattern: RegExp) => running.line((line) => pattern.exec(line)?.at(-1))
      yield* Effect.promise(async () => {
        const port = await sees(/listening on http:\/\/0\.0\.0\.0:(\d+)\/v1/)
        await sees(/other machines can use this connector/)
        await sees(/prompts and answers are kept/)
        const answer = await fetch(`http://127.0.0.1:${port}/v1/chat/completions`, {
          method: "POST",
          headers: { "content-type": "application/json" },
          body: JSON.stringify({ messages: [{ role: "user", content: "Hi" }] }),
        })
        assert.strictEqual(answer.status, 200)
        assert.strictEqual(await sees(/trusting ([\w-]+) because it answered first/), kid)
        running.kill("SIGTERM")
        assert.strictEqual(await running.exit, 0)
      })
    }),
  )
})

describe("joinPins", () => {
  it("joins a pin that begins with a dash to its flag", () => {
    const dashed = `-${"A".repeat(42)}`
    assert.deepStrictEqual(joinPins(["verify", "f", "--pin", dashed, "--json"]), [
      "verify",
      "f",
      `--pin=${dashed}`,
      "--json",
    ])
    assert.deepStrictEqual(joinPins(["--pin", "--json", "x", "--pin"]), ["--pin", "--json", "x", "--pin"])
  })
})
