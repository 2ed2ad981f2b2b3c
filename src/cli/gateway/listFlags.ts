/** Flags of the commands that list. */
import { Schema } from "effect"
import { Flag } from "effect/cli"
import { jsonFlag } from "../flags.ts"

export const limitFlag = Flag.Int("limit").pipe(
  Flag.withMetavar("number"),
  Flag.withDescription("How many to list, 1 to 100 (default 20)"),
  Flag.withSchema(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 100 }))),
  Flag.withDefault(20),
)
export const json = jsonFlag("Print JSON")
