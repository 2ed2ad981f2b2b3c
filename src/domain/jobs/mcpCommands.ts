/** The operator's file of MCP servers that the gateway starts as processes (`MCP_COMMANDS_FILE`). */
import { Schema } from "effect"
import { ServerName } from "./tool.ts"

const MAX_COMMANDS = 64
const MAX_ARGS = 64
const MAX_TEXT = 4096
const MAX_VARIABLES = 64

/** The operating system accepts no NUL in arguments and variables. */
const Text = Schema.String.check(
  Schema.isMaxLength(MAX_TEXT),
  Schema.makeFilter((text: string) => (text.includes("\0") ? "use no NUL character" : undefined)),
)

const VARIABLE = /^[A-Za-z_]\w{0,127}$/

export const McpCommand = Schema.Struct({
  name: ServerName,
  command: Text.check(
    Schema.makeFilter((path: string) => (path.startsWith("/") ? undefined : "give the program's absolute path")),
  ),
  args: Schema.optionalKey(Schema.Array(Text).check(Schema.isMaxLength(MAX_ARGS))),
  /** The process's whole environment, apart from its own HOME. */
  env: Schema.optionalKey(
    Schema.Record(Schema.String, Text).check(
      Schema.isMaxProperties(MAX_VARIABLES),
      Schema.makeFilter((env: Readonly<Record<string, string>>) =>
        Object.keys(env).every((name) => VARIABLE.test(name)) ? undefined : "use names of environment variables",
      ),
    ),
  ),
})
export type McpCommand = typeof McpCommand.Type

export const McpCommandsFile = Schema.Struct({
  commands: Schema.Array(McpCommand).check(
    Schema.isMaxLength(MAX_COMMANDS),
    Schema.makeFilter((commands: ReadonlyArray<{ readonly name: string }>) =>
      new Set(commands.map(({ name }) => name)).size === commands.length ? undefined : "two entries have the same name",
    ),
  ),
})
