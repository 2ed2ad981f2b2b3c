/** Labels of calls, by which their cost is summed up: part of the metadata that a caller gives its job. */
import { Record, Schema } from "effect"

/** Each label is a row of sums per hour, so there are few. */
const MAX_LABELS = 8
const MAX_CHARACTERS = 128
const CONTROL = /[\p{Cc}\p{Cs}]/u

export const Labels = Schema.Record(Schema.String, Schema.String)
export type Labels = typeof Labels.Type

/** The first eight entries of the metadata; without those that a label cannot be: too long, or with control characters. */
export const labelsOf = (metadata: Labels): Labels =>
  Object.fromEntries(
    Record.toEntries(metadata)
      .filter(([name, value]) => value.length <= MAX_CHARACTERS && !CONTROL.test(name) && !CONTROL.test(value))
      .slice(0, MAX_LABELS),
  )
