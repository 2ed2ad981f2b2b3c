/** Generated JSON objects, as tools are given and as they answer. */
import { Schema } from "effect"

/** `value` as it is after a way through JSON, which has no minus zero. */
export const asJson = (value: unknown): unknown => JSON.parse(JSON.stringify(value))

/**
 * Names of members, but those that are one character written with an escape: once it has read the name `"\\"`, V8 reads
 * any of them as a backslash, now and then (https://github.com/nodejs/node/issues/63785).
 */
export const MemberName = Schema.String.check(
  Schema.makeFilter((name: string) => name.length !== 1 || JSON.stringify(name).length === 3),
)
