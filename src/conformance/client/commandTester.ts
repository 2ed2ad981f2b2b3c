/** Runs a command as the client, once for each case. */
import { spawn } from "node:child_process"
import { Data, Effect } from "effect"
import { fileReason } from "../../domain/problems/systemErrors.ts"
import type { ClientVerdict } from "./judge.ts"
import type { ClientTask, Tester } from "./runCases.ts"

const COMMAND_SECONDS = 30
/** Limit of the output read, in UTF-16 code units. */
const MOST_OUTPUT = 1024 * 1024

const filledIn = (text: string, { form, pin, url }: ClientTask): string =>
  text.replaceAll("{url}", url).replaceAll("{pin}", pin).replaceAll("{form}", form)

const REFUSED = { type: "refused" } as const

export class NotStarted extends Data.TaggedError("NotStarted")<{ readonly reason: string }> {}

/**
 * Exit code 0 means that the client believed the answer, which is on its standard output; any other code that it refused.
 * `{url}`, `{pin}` and `{form}` are replaced in the arguments; SEALGATE_PROXY, SEALGATE_PIN and SEALGATE_FORM have the same
 * values.
 */
export const commandTester =
  ([command = "", ...args]: ReadonlyArray<string>): Tester<NotStarted> =>
  (asked) =>
    Effect.callback<ClientVerdict, NotStarted>((resume) => {
      const child = spawn(
        command,
        args.map((arg) => filledIn(arg, asked)),
        {
          stdio: ["ignore", "pipe", "ignore"],
          env: { ...process.env, SEALGATE_PROXY: asked.url, SEALGATE_PIN: asked.pin, SEALGATE_FORM: asked.form },
        },
      )
      let output = ""
      child.stdout.setEncoding("utf8").on("data", (text: string) => {
        output = (output + text).slice(-MOST_OUTPUT)
      })
      child.on("error", (error) => resume(Effect.fail(new NotStarted({ reason: fileReason(error) }))))
      child.on("close", (code) => resume(Effect.succeed(code === 0 ? { type: "believed", output } : REFUSED)))
      return Effect.sync(() => void child.kill("SIGKILL"))
    }).pipe(
      Effect.timeoutOrElse({
        duration: `${COMMAND_SECONDS} seconds`,
        orElse: () => Effect.succeed<ClientVerdict>({ type: "hung", seconds: COMMAND_SECONDS }),
      }),
    )
