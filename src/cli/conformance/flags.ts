/** Flags of both conformance commands. */
import { Flag } from "effect/cli"
import { jsonFlag } from "../flags.ts"

export const kitFlags = {
  only: Flag.String("only").pipe(
    Flag.withMetavar("id"),
    Flag.withDescription("Run only this: the id of a rule, such as P17, or a name from --list; may be repeated"),
    Flag.atLeast(0),
  ),
  list: Flag.Boolean("list").pipe(
    Flag.withDescription("List the checks without running them"),
    Flag.withDefault(false),
  ),
  all: Flag.Boolean("all").pipe(
    Flag.withDescription("Show passed checks too (default: failed and skipped ones)"),
    Flag.withDefault(false),
  ),
  json: jsonFlag("Print JSON"),
}

export const NOT_FOUND = "There is no such id or name; --list shows all of them."
