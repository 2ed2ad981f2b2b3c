/** Flags that both halves of the kit share. */
import { Flag } from "effect/cli"
import { jsonFlag } from "../flags.ts"

export const kitFlags = {
  only: Flag.String("only").pipe(
    Flag.withMetavar("id"),
    Flag.withDescription(
      "Try this alone: the id of a rule of the page, such as P17, or a name of --list; may be repeated",
    ),
    Flag.atLeast(0),
  ),
  list: Flag.Boolean("list").pipe(
    Flag.withDescription("Say what would be tried, and try nothing"),
    Flag.withDefault(false),
  ),
  all: Flag.Boolean("all").pipe(
    Flag.withDescription("Show what passed, too (default: what failed or could not be tried)"),
    Flag.withDefault(false),
  ),
  json: jsonFlag("Print JSON"),
}

export const NOT_FOUND = "Nothing has such an id or name: --list shows all of them."
