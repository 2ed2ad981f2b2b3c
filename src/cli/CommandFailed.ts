import { Runtime, Schema } from "effect"

/**
 * Ends a command with an exit code of its own: 1 when the result is negative, 2 when there is no result. An empty
 * `message` prints nothing, for commands that have printed everything.
 */
export class CommandFailed extends Schema.TaggedError<CommandFailed>()("CommandFailed", {
  message: Schema.String,
  exitCode: Schema.Literals([1, 2]),
}) {
  override readonly [Runtime.errorExitCode] = this.exitCode
}

/** The command lacks an argument, or cannot read an input. */
export const unusable = (message: string): CommandFailed => new CommandFailed({ message, exitCode: 2 })
