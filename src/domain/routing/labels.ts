/** Labels of calls in the ledger: part of the metadata that a caller gives its job or call. */
import { Record, Schema } from "effect"

/** Every call stores its labels, so there are few. */
const MAX_LABELS = 8
export const MAX_LABEL_NAME = 64
const MAX_CHARACTERS = 128
const CONTROL = /[\p{Cc}\p{Cs}]/u

export const Labels = Schema.Record(Schema.String, Schema.String)
export type Labels = typeof Labels.Type

const isLabel = ([name, value]: readonly [string, string]): boolean =>
  name !== "" &&
  name.length <= MAX_LABEL_NAME &&
  value.length <= MAX_CHARACTERS &&
  !CONTROL.test(name) &&
  !CONTROL.test(value)

/** The first eight entries of the metadata, without those that are too long or contain control characters. */
export const labelsOf = (metadata: Labels): Labels =>
  Object.fromEntries(Record.toEntries(metadata).filter(isLabel).slice(0, MAX_LABELS))
