import type { Command } from "effect/cli"
import { sealgate } from "../../src/cli/commandLine.ts"

const pathsBelow = ({ subcommands }: Pick<Command.Command.Any, "subcommands">, parent = ""): ReadonlyArray<string> =>
  subcommands
    .flatMap(({ commands }) => commands)
    .flatMap((command) => {
      const path = `${parent}${command.name}`
      return [path, ...pathsBelow(command, `${path} `)]
    })

/** The paths of all commands, such as `agents` and `agents create`. */
export const COMMANDS = pathsBelow(sealgate)
