import { Runtime, Schema } from "effect"

/** Exit code 1: the result is negative; 2: there is none. An empty `message` prints nothing. */
export class CommandFailed extends Schema.TaggedError<CommandFailed>()("CommandFailed", {
  message: Schema.String,
  exitCode: Schema.Literals([1, 2]),
}) {
  override readonly [Runtime.errorExitCode] = this.exitCode
}

/** Fails with exit code 2: an argument is missing or an input cannot be read. */
export const unusable = (message: string): CommandFailed => new CommandFailed({ message, exitCode: 2 })
