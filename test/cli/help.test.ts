/** Help, and messages about mistakes on the command line. */
import { readFileSync } from "node:fs"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { sealgate } from "../../src/cli/commandLine.ts"
import { askedForHelp } from "../../src/cli/flags.ts"
import { columns, pageWidth, wrap } from "../../src/cli/help/layout.ts"
import { settingGroups } from "../../src/cli/help/settingGroups.ts"
import { gatewaySettings } from "../../src/layers/config/gatewaySettings.ts"
import { proxySettings } from "../../src/layers/config/proxySettings.ts"
import { run } from "../support/cli.ts"
import { COMMANDS } from "../support/commandPaths.ts"
import { freePort } from "../support/freePort.ts"
import * as Processes from "../support/processes.ts"

const WIDTH = 80

const helpOf = (...command: ReadonlyArray<string>) =>
  Effect.map(run(sealgate, [...command, "--help"]), ({ code, stdout }) => {
    assert.strictEqual(code, 0)
    return stdout
  })

/** The example lines of a help text without comments, with continuations joined. */
const examplesIn = (help: string): ReadonlyArray<string> => {
  const section = /\n(?:EXAMPLES|START HERE)\n([\s\S]*?)\n\n(?=\S)/.exec(`${help}\n\n`)?.[1] ?? ""
  return section
    .replaceAll(/\\\n\s+/g, "")
    .split("\n")
    .filter((line) => line.includes("sealgate ") && !line.includes("# "))
}

describe("help", () => {
  it.live("of every command fits 80 columns and has examples, exit codes and next steps", () =>
    Effect.gen(function* () {
      for (const command of COMMANDS) {
        const help = yield* helpOf(...command.split(" "))
        const wide = help.split("\n").filter((line) => line.length > WIDTH)
        assert.deepStrictEqual(wide, [], command)
        for (const title of ["USAGE", "EXAMPLES", "EXIT CODES"]) assert.include(help, `\n${title}\n`, command)
        assert.match(help, /^ {2}130 /m, command)
        assert.isAtLeast(examplesIn(help).length, 2, command)
      }
    }),
  )

  it.live("offers --json for every command with output, except those that docs/reference/commands.md names", () =>
    Effect.gen(function* () {
      const page = readFileSync("docs/reference/commands.md", "utf8").replaceAll("\n", " ")
      const [, listed = ""] = /Commands with output take `--json` .*?; (.*?) print JSON without it\./.exec(page) ?? []
      const named = [...listed.matchAll(/`([^`]+)`/g)].map(([, path]) => path)
      const without: Array<string> = []
      for (const path of COMMANDS.filter((each) => !COMMANDS.some((other) => other.startsWith(`${each} `)))) {
        if (!/^ {2}--json\b/m.test(yield* helpOf(...path.split(" ")))) without.push(path)
      }
      assert.sameMembers(without, [...named, "proxy", "gateway"])
    }),
  )

  it.live("uses only existing flags in examples", () =>
    Effect.gen(function* () {
      let checked = 0
      for (const path of ["", ...COMMANDS]) {
        for (const example of examplesIn(yield* helpOf(...path.split(" ").filter((name) => name !== "")))) {
          const command = COMMANDS.findLast((name) => new RegExp(`sealgate ${name}(?=[ ")]|$)`).test(example))
          assert.isDefined(command, example)
          const help = yield* helpOf(...(command ?? "").split(" "))
          const own = example.replace(/^.*sealgate/, "").replaceAll(/"[^"]*"|'[^']*'| -- .*/g, "")
          for (const [flag] of own.matchAll(/--[a-z-]+/g)) {
            assert.match(help, new RegExp(`^ {2}${flag}\\b`, "m"), example)
            checked++
          }
        }
      }
      assert.isAbove(checked, 10)
    }),
  )

  it.live("begins with three commands and explains terms and exit codes", () =>
    Effect.gen(function* () {
      const { code, stdout } = yield* run(sealgate, [])
      assert.strictEqual(code, 2)
      assert.deepStrictEqual(
        examplesIn(stdout).map((line) => /sealgate (\w+)/.exec(line)?.[1]),
        ["proxy", "chat", "gateway"],
      )
      for (const word of ["pin", "receipt", "proof", "attestation key"]) {
        assert.match(stdout, new RegExp(`^ {2}${word} +\\w`, "m"))
      }
      for (const command of COMMANDS.filter((path) => !path.includes(" ")))
        assert.match(stdout, new RegExp(`^ {2}${command} `, "m"))
      assert.deepStrictEqual(askedForHelp(["help", "chat"]), ["chat", "--help"])
      assert.deepStrictEqual(askedForHelp(["chat", "help"]), ["chat", "help"])
    }),
  )

  it("groups every setting of a server once, the important ones first", () => {
    for (const settings of [proxySettings, gatewaySettings]) {
      const groups = settingGroups(settings)
      assert.sameMembers(
        groups.flatMap(({ rows }) => rows.map(({ name }) => name)),
        Object.values(settings).map(({ variable }) => variable),
      )
      assert.deepStrictEqual(
        groups.slice(0, 2).map(({ title }) => title),
        ["Most important", "Model providers"],
      )
      assert.include(groups[0]?.rows.find(({ name }) => name === "PROVIDER1_API_KEY")?.text, "OPENAI_API_KEY")
      assert.isAbove(groups.length, 8)
    }
  })

  it("uses the terminal's width within readable bounds", () => {
    assert.strictEqual(pageWidth(undefined, undefined), 80)
    assert.strictEqual(pageWidth(undefined, "72"), 72)
    assert.strictEqual(pageWidth(undefined, "wide"), 80)
    assert.strictEqual(pageWidth(90, "72"), 90)
    assert.strictEqual(pageWidth(400), 100)
    assert.strictEqual(pageWidth(3), 40)
    assert.deepStrictEqual(wrap("one two\nthree\n\nfour", 9), ["one two", "three", "", "four"])
    const long = "A_NAME_OF_MORE_THAN_TWENTY_EIGHT"
    assert.strictEqual(
      columns(
        [
          { name: "a", text: "one two" },
          { name: "bcd", text: "x" },
          { name: long, text: "y" },
        ],
        12,
      ),
      `  a    one\n       two\n  bcd  x\n  ${long}\n       y`,
    )
  })
})

describe("mistakes", () => {
  // The first-hour walk has many more.
  const CASES: ReadonlyArray<readonly [args: ReadonlyArray<string>, says: string, more: string]> = [
    [["prox"], "Did you mean proxy?", "sealgate --help"],
    [["proxy", "--env-file=a"], "There is no flag --env-file. Did you mean --config?", "sealgate proxy --help"],
    [["connect", "--port", "x"], '--port cannot be "x": expected a whole number', "sealgate connect --help"],
    [["run", "x", "--effort", "max"], '--effort cannot be "max": expected "low"', "run --help"],
    [["jobs", "--limit", "1000"], '--limit cannot be "1000": expected a value between 1 and 100.', "jobs --help"],
  ]

  it.live("are printed on standard error in few lines: the mistake, and where to read more", () =>
    Effect.gen(function* () {
      for (const [args, says, more] of CASES) {
        const { code, stderr, stdout } = yield* run(sealgate, args)
        const what = args.join(" ")
        assert.strictEqual(code, 2, what)
        assert.strictEqual(stdout, "", what)
        assert.include(stderr, says, what)
        assert.match(stderr, new RegExp(`^More: .*${more}$`, "m"), what)
        assert.isAtMost(stderr.split("\n").length, 6, what)
        assert.notInclude(stderr, "Schema", what)
      }
    }),
  )
})

describe("--log-level", () => {
  it.live("wins over LOG_LEVEL", () =>
    Effect.gen(function* () {
      const port = yield* Effect.promise(freePort)
      const env = { PORT: String(port), HOST: "127.0.0.1", LOG_LEVEL: "info" }
      const quiet = yield* Processes.run(["proxy", "--log-level", "error"], { env })
      yield* Effect.promise(async () => {
        // Reads the whole answer, because a request in flight would delay the shutdown.
        const healthy = () =>
          fetch(`http://127.0.0.1:${port}/health`)
            .then((response) => response.text())
            .then(
              () => true,
              () => false,
            )
        const ended = quiet.exit.then((code) => assert.fail(`it ended with ${code}: ${quiet.stderr.join("\n")}`))
        while (!(await Promise.race([healthy(), ended]))) await new Promise((resolve) => setTimeout(resolve, 50))
        ended.catch(() => undefined)
        quiet.kill("SIGTERM")
        assert.strictEqual(await quiet.exit, 0)
        assert.deepStrictEqual(quiet.stdout, [])
      })
    }),
  )
})
