/** Labels of calls in the ledger: part of the metadata that a caller gives its job. */
import { Record, Schema } from "effect"

/** Every call stores its labels, so there are few. */
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
