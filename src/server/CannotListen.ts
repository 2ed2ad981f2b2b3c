import { Schema } from "effect"

/** There is no listening there. `problem` names the setting, and what mends it. */
export class CannotListen extends Schema.TaggedError<CannotListen>()("CannotListen", { problem: Schema.String }) {
  override get message(): string {
    return this.problem
  }
}
