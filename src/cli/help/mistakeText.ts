/** Message for a misused command: the mistake in one line, then where to read on. */
import { Option } from "effect"
import type { CliError, HelpDoc } from "effect/cli"

/** Part of descriptions that repeats the mistake. */
const REQUIRED = / \(required\)$/

const meant = (suggestions: ReadonlyArray<string>): string =>
  suggestions.length === 0 ? "" : ` Did you mean ${suggestions.join(" or ")}?`

const withDescription = (description: Option.Option<string> | undefined): string =>
  description === undefined || Option.isNone(description) ? "." : `: ${description.value.replace(REQUIRED, "")}.`

const expectation = (expected: string): string =>
  (expected.replace(/^Schema validation failed: /, "").split("\n")[0] ?? "").replace(/^expected:? /i, "")

/** Flag of Node that is often tried instead of `--config`. */
const ENV_FILE = "--env-file"

const code = (doc: HelpDoc.HelpDoc): string => `\`${(doc.commandPath ?? ["sealgate"]).join(" ")}\``

/** Whether someone typed `list` for a command that lists without it, as its flag `--limit` shows. */
const listsByItself = (subcommand: string, doc: HelpDoc.HelpDoc): boolean =>
  (subcommand === "list" || subcommand === "ls") && doc.flags.some(({ name }) => name === "limit")

/** Whether a command reads a secret, which may have been typed as an argument and must not be repeated. */
const readsSecret = ({ commandPath = [] }: HelpDoc.HelpDoc): boolean => commandPath.join(" ").endsWith("secrets set")

/** Quotes a value without the user and password of a URL. */
const quoted = (value: string): string => {
  const at = value.lastIndexOf("@")
  return JSON.stringify(value.slice(0, Math.max(0, at)).includes(":") ? `…${value.slice(at)}` : value)
}

const sentence = (error: CliError.NonShowHelpErrors, doc: HelpDoc.HelpDoc): string => {
  switch (error._tag) {
    case "MissingOption":
      return `--${error.option} is missing${withDescription(doc.flags.find(({ name }) => name === error.option)?.description)}`
    case "MissingArgument":
      return `<${error.argument}> is missing${withDescription(doc.args?.find(({ name }) => name === error.argument)?.description)}`
    case "UnrecognizedOption":
      return `There is no flag ${error.option}.${meant(error.option === ENV_FILE ? ["--config"] : error.suggestions)}`
    case "UnknownSubcommand":
      return `There is no command ${JSON.stringify(error.subcommand)}.${listsByItself(error.subcommand, doc) ? ` ${code(doc)} alone lists.` : meant(error.suggestions)}`
    case "UnexpectedArgument": {
      if (readsSecret(doc)) return "There are too many arguments. Pipe the secret to standard input instead."
      const given = error.arguments.map((argument) => JSON.stringify(argument)).join(" ")
      const takesNone = (doc.args ?? []).length === 0
      return `${given} is not expected: ${takesNone ? "this command takes no arguments" : "put quotes around text with spaces"}.`
    }
    case "InvalidValue": {
      const name = error.kind === "flag" ? `--${error.option}` : `<${error.option}>`
      const expected = expectation(error.expected)
      return error.value === ""
        ? `${name} needs a value: ${expected}.`
        : `${name} cannot be ${quoted(error.value)}: expected ${expected}.`
    }
    default:
      return error.message
  }
}

export const mistakeText = (errors: ReadonlyArray<CliError.NonShowHelpErrors>, doc: HelpDoc.HelpDoc): string =>
  [
    ...errors.map((error) => sentence(error, doc)),
    "",
    `Usage: ${doc.usage}`,
    `More:  ${(doc.commandPath ?? ["sealgate"]).join(" ")} --help`,
  ].join("\n")
