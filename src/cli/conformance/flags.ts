/** Flags of both conformance commands. */
import { Flag } from "effect/cli"
import { jsonFlag, switchFlag } from "../flags.ts"

export const kitFlags = {
  only: Flag.String("only").pipe(
    Flag.withMetavar("id"),
    Flag.withDescription("Run only this: the id of a rule, such as P17, or a name from --list; may be repeated"),
    Flag.atLeast(0),
  ),
  list: switchFlag("list", "List the checks without running them"),
  all: switchFlag("all", "Show passed checks too (default: failed and skipped ones)"),
  json: jsonFlag("Print JSON"),
}
