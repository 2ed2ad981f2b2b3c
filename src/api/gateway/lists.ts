import { Schema } from "effect"
import { PageSize } from "../../domain/operations/storage.ts"

/** Which page of a list: at most `limit` items (default 20), after the page whose `next_cursor` is `cursor`. */
export const pageQuery = {
  limit: Schema.optionalKey(PageSize),
  cursor: Schema.optionalKey(Schema.String.check(Schema.isMaxLength(100))),
}

/** The query's description in every list. */
export const LIST = "Newest first. A page may be shorter than its `limit`; `next_cursor` says whether more follows."

/** One page of a list, newest first; without `next_cursor` it is the last. */
export const pageOf = <S extends Schema.Top>(item: S) =>
  Schema.Struct({ items: Schema.Array(item), next_cursor: Schema.optionalKey(Schema.String) })
