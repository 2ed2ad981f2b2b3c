import { readFileSync } from "node:fs"
import { assert, describe, it } from "@effect/vitest"
import type { Command } from "effect/cli"
import { sealgate } from "../../src/cli/commandLine.ts"

/** The paths of all commands below one, such as `agents` and `agents create`. */
const pathsBelow = ({ subcommands }: Pick<Command.Command.Any, "subcommands">, parent = ""): ReadonlyArray<string> =>
  subcommands
    .flatMap(({ commands }) => commands)
    .flatMap((command) => {
      const path = `${parent}${command.name}`
      return [path, ...pathsBelow(command, `${path} `)]
    })

describe("docs/reference/commands.md", () => {
  it("names every command", () => {
    const page = readFileSync("docs/reference/commands.md", "utf8")
    const named = [...page.matchAll(/`([^`\n]+)`/g)].map(([, code = ""]) => code)
    const isNamed = (path: string) => named.some((code) => code === path || code.startsWith(`${path} `))
    assert.deepStrictEqual(
      pathsBelow(sealgate).filter((path) => !isNamed(path)),
      [],
    )
  })
})
