/** Where settings come from, the same for every command. */
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Result } from "effect"
import { nearest } from "../../src/cli/settings/nearest.ts"
import { readConfig } from "../../src/cli/settings/sources.ts"
import { VARIABLES } from "../../src/cli/settings/knownSettings.ts"
import * as Processes from "../support/processes.ts"
import { temporaryFolder } from "../support/proxy.ts"

const KEY = "sk-canary-4711"
const PIN = "A".repeat(43)

/** Runs a command to its end in `folder`, with exactly this environment. */
const ended = Effect.fnUntraced(function* (
  folder: string,
  args: ReadonlyArray<string>,
  env: Readonly<Record<string, string>> = {},
) {
  const running = yield* Processes.run(args, { folder, env })
  const code = yield* Effect.promise(() => running.exit)
  return { code, stdout: running.stdout.join("\n"), stderr: running.stderr.join("\n") }
})

describe("settings of every command", () => {
  it.live(
    "come from the environment, else a file of --env-file, else sealgate.config.json; and are told with that",
    () =>
      Effect.gen(function* () {
        const folder = yield* temporaryFolder
        const write = (name: string, text: string) => writeFileSync(join(folder, name), text)
        write(
          "sealgate.config.json",
          JSON.stringify({ PORT: 1, HOST: "::1", LOG_LEVEL: "warn", ALLOWED_HOSTS: ["a", "b"] }),
        )
        write(".env", `export PORT=2\nHOST='127.0.0.2'\nPROVIDER1_API_KEY="${KEY}"\n`)
        const args = ["config", "proxy", "--env-file", ".env", "--json"]
        const shown = yield* ended(folder, args, { PORT: "3", HOST: " " })
        assert.strictEqual(shown.code, 0, shown.stderr)
        assert.notInclude(shown.stdout, KEY)
        const rows = (JSON.parse(shown.stdout) as { readonly proxy: ReadonlyArray<Readonly<Record<string, unknown>>> })
          .proxy
        assert.deepStrictEqual(
          rows.map(({ from, secret, setting, value }) => [setting, value, secret, from]),
          [
            ["PORT", "3", false, "the environment"],
            ["HOST", "127.0.0.2", false, ".env"],
            ["ALLOWED_HOSTS", "a,b", false, "sealgate.config.json"],
            ["LOG_LEVEL", "warn", false, "sealgate.config.json"],
            ["PROVIDER1_API_KEY", null, true, ".env"],
          ],
        )
        const people = yield* ended(folder, ["config", "proxy", "--env-file=.env"])
        assert.include(people.stdout, "(secret, not shown)")
        assert.notInclude(people.stdout, KEY)
        for (const url of [`https://someone:${KEY}@gateway.test`, `https://gateway.test/v1?key=${KEY}`]) {
          const { code, stdout } = yield* ended(folder, ["config", "proxy"], { PROVIDER1_BASE_URL: url })
          assert.deepStrictEqual([code, stdout.includes("PROVIDER1_BASE_URL"), stdout.includes(KEY)], [0, true, false])
        }
      }).pipe(Effect.scoped),
  )

  it.live("name one key file for keygen, pin and the commands that ask the proxy of this folder", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const env = { ATTESTATION_KEY_FILE: "k.pem" }
      const made = yield* ended(folder, ["keygen", "--json"], env)
      const { kid } = JSON.parse(made.stdout) as { readonly kid: string }
      assert.strictEqual((yield* ended(folder, ["pin"], env)).stdout, kid)
      const asked = yield* ended(folder, ["chat", "Hi", "--proxy", "http://127.0.0.1:9"], env)
      assert.include(asked.stderr, kid)
      // A proxy elsewhere is not this folder's.
      const elsewhere = yield* ended(folder, ["chat", "Hi", "--proxy", "http://192.0.2.1:9"], env)
      assert.include(elsewhere.stderr, "Whom to believe?")
    }).pipe(Effect.scoped),
  )

  it.live("stand for flags of clients, a console's link for address and pin", () =>
    Effect.gen(function* () {
      const proxy = yield* Processes.runProxy()
      const folder = yield* temporaryFolder
      const env = { SEALGATE_PROXY: proxy.url, SEALGATE_PIN: proxy.kid }
      const answered = yield* ended(folder, ["chat", "Hello there"], env)
      assert.deepStrictEqual([answered.code, answered.stdout], [0, "Hello there"])
      const link = `${proxy.url}/console#pin=${proxy.kid}`
      for (const args of [
        ["chat", "Hello there", "--proxy", link],
        ["doctor", "--proxy", link],
      ]) {
        const { code, stderr } = yield* ended(folder, args, { SEALGATE_PIN: PIN })
        assert.strictEqual(code, 0, stderr)
      }
    }).pipe(Effect.scoped),
  )

  it.live("stop a command where a file of them is wrong, and not its help", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const file = join(folder, "sealgate.config.json")
      const wrong = { PROT: 3001, OPENAI_API_KEY: KEY, LOG_LEVEL: { is: "warn" } }
      for (const [text, says] of [
        [
          JSON.stringify(wrong),
          ["PROT: there is no such setting; did you mean PORT?", "PROVIDER1_API_KEY?", "LOG_LEVEL: expected"],
        ],
        ["PORT=3001", ["is not JSON of settings"]],
      ] as const) {
        writeFileSync(file, text)
        const failed = yield* ended(folder, ["pin"])
        assert.strictEqual(failed.code, 2)
        for (const part of says) assert.include(failed.stderr, part)
        assert.notInclude(failed.stderr, KEY)
        assert.strictEqual((yield* ended(folder, ["pin", "--help"])).code, 0)
      }
      // Node looks for this file before the command does.
      const missing = yield* ended(folder, ["pin", "--env-file", "none.env"])
      assert.notStrictEqual(missing.code, 0)
      assert.include(missing.stderr, "none.env")
      const config = yield* ended(folder, ["pin", "--config", "none.json"])
      assert.deepStrictEqual([config.code, config.stderr], [2, "none.json: there is no such file. Check --config."])
    }).pipe(Effect.scoped),
  )
})

describe("what was meant", () => {
  it("is found for one letter too few, too many, wrong, or two in each other's place; and never for another word", () => {
    const names = [...VARIABLES]
    for (const name of names.filter(({ length }) => length > 6)) {
      for (const typed of [
        name.slice(1),
        `${name}X`,
        name.toLowerCase().replaceAll("_", "-"),
        `${name[1]}${name[0]}${name.slice(2)}`,
      ]) {
        if (!VARIABLES.has(typed)) assert.strictEqual(nearest(typed, names)?.length === undefined, false, typed)
      }
      assert.strictEqual(nearest(name, names), name)
    }
    assert.strictEqual(nearest("SOMETHING_ELSE_ALTOGETHER", names), undefined)
  })

  it("is every setting that there is, once, as a text", () => {
    const all = Object.fromEntries([...VARIABLES].map((name) => [name, "x"]))
    assert.deepStrictEqual(Result.getOrThrow(readConfig("f", JSON.stringify(all))), all)
  })
})
