import { Schema } from "effect"

/** The server cannot listen. `problem` names the setting and the remedy. */
export class CannotListen extends Schema.TaggedError<CannotListen>()("CannotListen", { problem: Schema.String }) {
  override get message(): string {
    return this.problem
  }
}
