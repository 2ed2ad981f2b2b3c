import { Console, Effect, Option } from "effect"
import { Argument, Command } from "effect/cli"
import { mayHoldSecret } from "../layers/config/codecs.ts"
import { decodeText, findSettings, type FoundSetting } from "../layers/config/Setting.ts"
import { CommandFailed } from "./CommandFailed.ts"
import { jsonFlag, switchFlag } from "./flags.ts"
import { withHelp } from "./help/Guide.ts"
import { printableJson } from "./printable.ts"
import { KNOWN } from "./settings/knownSettings.ts"
import { table } from "./table.ts"
import { dim } from "./terminal.ts"

type Reader = keyof typeof KNOWN
const READERS = ["proxy", "gateway", "clients"] as const satisfies ReadonlyArray<Reader>

interface Row {
  readonly setting: string
  /** `null` if not set, secret or invalid. */
  readonly value: string | null
  readonly secret: boolean
  /** The variable it was read from, which differs from `setting` for vendors' names. */
  readonly variable: string | null
  /** `default`, or where the variable was found. */
  readonly from: string
  readonly mistake: string | null
}

const rowOf = Effect.fnUntraced(function* ({ from, setting, text }: FoundSetting) {
  const decoded = text === undefined ? undefined : yield* Effect.result(decodeText(setting, text))
  const wrong = decoded?._tag === "Failure"
  // An invalid value is not shown either: it may be a secret.
  const secret = decoded?._tag === "Success" && mayHoldSecret(decoded.success)
  const row: Row = {
    setting: setting.variable,
    value: text === undefined || secret || wrong ? null : text,
    secret,
    variable: from?.variable ?? null,
    from: from?.origin ?? "default",
    mistake: wrong ? decoded.failure : null,
  }
  return row
})

const cellsOf = ({ from, mistake, secret, setting, value, variable }: Row): ReadonlyArray<string> => [
  setting,
  mistake !== null ? `✗ ${mistake}` : secret ? "(secret, not shown)" : (value ?? "(not set)"),
  variable === null || variable === setting ? from : `${from} (${variable})`,
]

export const configCommand = Command.make(
  "config",
  {
    reader: Argument.Literals("reader", READERS).pipe(
      Argument.withDescription("Whose settings to show (default: all)"),
      Argument.optional,
    ),
    all: switchFlag("all", "Show defaults too"),
    json: jsonFlag("Print JSON: for each reader, a list of its settings"),
  },
  Effect.fn(function* (input) {
    const readers = Option.match(input.reader, { onNone: () => READERS, onSome: (reader) => [reader] })
    const found = yield* Effect.forEach(readers, (reader) =>
      Effect.map(
        Effect.flatMap(findSettings(Object.values(KNOWN[reader])), Effect.forEach(rowOf)),
        (rows) => [reader, rows] as const,
      ),
    )
    const shown = found.map(
      ([reader, rows]) => [reader, rows.filter(({ from }) => input.all || from !== "default")] as const,
    )
    if (input.json) yield* Console.log(printableJson(Object.fromEntries(shown)))
    else {
      for (const [reader, rows] of shown) {
        yield* Console.log(`${reader}:`)
        if (rows.length > 0) yield* Console.log(table(rows.map(cellsOf)))
      }
      if (!input.all)
        yield* Console.log(dim("\nAll other settings have their defaults: `sealgate config --all` shows them."))
    }
    const mistaken = found.some(([, rows]) => rows.some(({ mistake }) => mistake !== null))
    if (mistaken) return yield* new CommandFailed({ message: "", exitCode: 1 })
  }),
).pipe(
  withHelp({
    summary: "Show which settings are in force, and where they come from",
    description: `Shows the settings that a command started here would use, where each was found (the environment, or a file of
--config), and mistakes in them. Secrets are not shown.`,
    examples: [
      ["sealgate config", "Settings of servers and clients that are set"],
      ["sealgate config proxy --all", "All settings of a proxy started here"],
      ["sealgate config gateway --json", "For programs"],
    ],
    exits: { 0: "the settings are shown, and all are valid", 1: "a setting is invalid" },
    next: "`sealgate proxy --help` and `sealgate gateway --help` explain each setting.",
  }),
)
