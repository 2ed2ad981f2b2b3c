import { Context, Option } from "effect"
import type { HelpDoc } from "effect/cli"
import { bold, dim, green } from "../terminal.ts"
import { Guide, type GuideShape } from "./Guide.ts"
import { columns, indented, type Row, wrap } from "./layout.ts"
import { settingGroups } from "./settingGroups.ts"

type FlagDoc = HelpDoc.FlagDoc

const INDENT = 2

const section = (title: string, body: string): ReadonlyArray<string> => (body === "" ? [] : [`${bold(title)}\n${body}`])

const described = (description: Option.Option<string>): string => Option.getOrElse(description, () => "")

/** Shortens a list of choices to `choice`, because the description names them. */
const metavar = (type: string): string => (type === "boolean" ? "" : ` ${type.includes("|") ? "choice" : type}`)

const flagRow = ({ aliases, description, name, type }: FlagDoc): Row => ({
  name: [`--${name}${metavar(type)}`, ...aliases].join(", "),
  text: described(description),
})

const argumentRow = ({ description, name, required }: HelpDoc.ArgDoc): Row => ({
  name,
  text: `${described(description)}${required ? "" : " (optional)"}`,
})

const examplesOf = ({ examples = [] }: HelpDoc.HelpDoc): string =>
  examples
    .map(({ command, description }) => {
      const comment = description === undefined ? "" : `${" ".repeat(INDENT)}${dim(`# ${description}`)}\n`
      return `${comment}${" ".repeat(INDENT)}${command}`
    })
    .join("\n\n")

const commandsOf = ({ subcommands = [] }: HelpDoc.HelpDoc, width: number): ReadonlyArray<string> =>
  subcommands.flatMap(({ commands, group }) =>
    section(
      group ?? "COMMANDS",
      columns(
        commands.map(({ description, name, shortDescription }) => ({ name, text: shortDescription ?? description })),
        width,
        green,
      ),
    ),
  )

const settingsOf = (guide: GuideShape, width: number): string =>
  guide.settings === undefined
    ? ""
    : settingGroups(guide.settings)
        .map(({ rows, title }) => `${" ".repeat(INDENT)}${bold(title)}\n${columns(rows, width, green)}`)
        .join("\n\n")

const rowsOf = (texts: Readonly<Record<string, string>> = {}): ReadonlyArray<Row> =>
  Object.entries(texts).map(([name, text]) => ({ name, text }))

/** Lists the global flags at the root command; subcommands only name them. */
const globalsOf = ({ commandPath = [], globalFlags = [], subcommands = [] }: HelpDoc.HelpDoc, width: number) => {
  if (globalFlags.length === 0) return []
  if (subcommands.length > 0 && commandPath.length < 2) {
    return section("FLAGS OF EVERY COMMAND", columns(globalFlags.map(flagRow), width, green))
  }
  const names = globalFlags.map(({ name }) => `--${name}`).join(", ")
  return [dim(indented(wrap(`Also: ${names}; see \`${commandPath[0] ?? ""} --help\`.`, width), 0))]
}

/** Returns the help in lines of at most `width` characters, except for longer commands and URLs. */
export const helpText = (doc: HelpDoc.HelpDoc, width: number): string => {
  const guide = Option.getOrElse(Context.getOption(doc.annotations, Guide), (): GuideShape => ({}))
  return [
    indented(wrap(doc.description, width), 0),
    ...section("USAGE", indented([doc.usage], INDENT)),
    ...section((doc.commandPath ?? []).length > 1 ? "EXAMPLES" : "START HERE", examplesOf(doc)),
    ...commandsOf(doc, width),
    ...section("ARGUMENTS", columns((doc.args ?? []).map(argumentRow), width, green)),
    ...section("FLAGS", columns(doc.flags.map(flagRow), width, green)),
    ...section("ENVIRONMENT", columns(guide.environment ?? [], width, green)),
    ...section("SETTINGS (environment, or a file of --config; empty is absent)", settingsOf(guide, width)),
    ...section("WORDS", columns(rowsOf(guide.words), width, green)),
    ...section("EXIT CODES", columns(rowsOf(guide.exits), width)),
    ...section("NEXT", guide.next === undefined ? "" : indented(wrap(guide.next, width - INDENT), INDENT)),
    ...globalsOf(doc, width),
  ].join("\n\n")
}
