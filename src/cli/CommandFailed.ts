import { Runtime, Schema } from "effect"

/**
 * Ends a command with an exit code of its own: 1 when what was looked at is not well, 2 when it could not be looked at.
 * An empty `message` prints nothing, for commands that have said everything.
 */
export class CommandFailed extends Schema.TaggedError<CommandFailed>()("CommandFailed", {
  message: Schema.String,
  exitCode: Schema.Literals([1, 2]),
}) {
  override readonly [Runtime.errorExitCode] = this.exitCode
}

/** The command was not given what it needs, or cannot read what it was given. */
export const unusable = (message: string): CommandFailed => new CommandFailed({ message, exitCode: 2 })
