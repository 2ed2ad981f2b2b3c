/** Runs the `sealgate` command, in this process or a separate one. */
import { execFile } from "node:child_process"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Console, Effect, Exit } from "effect"
import { Command } from "effect/cli"
import { joinPins } from "../../src/cli/flags.ts"
import { layerPresentation } from "../../src/cli/help/presentation.ts"
import { exitCodeOf, reportOf } from "../../src/cli/runUntilSignal.ts"

const COMMAND = new URL("../../dist/cli/main.js", import.meta.url).pathname

interface CommandResult {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

/** Runs one command with `args`, through the same parsing, reporting and exit codes as the `sealgate` command. */
export const run = Effect.fnUntraced(function* <const Name extends string, Input, Context, E>(
  command: Command.Command<Name, Input, Context, E, Command.Environment>,
  args: ReadonlyArray<string>,
) {
  const out: Array<string> = []
  const err: Array<string> = []
  const console = {
    ...globalThis.console,
    log: (...items: ReadonlyArray<unknown>) => void out.push(items.join(" ")),
    error: (...items: ReadonlyArray<unknown>) => void err.push(items.join(" ")),
  }
  const exit = yield* Command.runWith(command, { version: "0" })(joinPins(args)).pipe(
    Effect.provide([NodeServices.layer, layerPresentation]),
    Effect.provideService(Console.Console, console),
    Effect.exit,
  )
  if (Exit.isFailure(exit)) err.push(reportOf(exit.cause))
  const result: CommandResult = {
    code: Exit.isSuccess(exit) ? 0 : exitCodeOf(exit.cause),
    stdout: out.join("\n"),
    stderr: err.join("\n"),
  }
  return result
})

/** Runs `sealgate` in a separate process without a terminal, with `input` on its standard input. */
export const sealgate = (
  args: ReadonlyArray<string>,
  input = "",
  env: Readonly<Record<string, string>> = {},
): Effect.Effect<CommandResult> =>
  Effect.callback((resume) => {
    const options = { env: { ...process.env, ...env } }
    const child = execFile(process.execPath, [COMMAND, ...args], options, (error, stdout, stderr) => {
      const code = error === null ? 0 : typeof error.code === "number" ? error.code : -1
      resume(Effect.succeed({ code, stdout, stderr }))
    })
    child.stdin?.end(input)
    return Effect.sync(() => child.kill("SIGKILL"))
  })
