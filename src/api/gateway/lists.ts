import { Schema } from "effect"
import { PageSize } from "../../domain/operations/storage.ts"

export const pageQuery = {
  limit: Schema.optionalKey(PageSize).annotateKey({ description: "Items per page at most: 1 to 100, default 20." }),
  cursor: Schema.optionalKey(
    Schema.String.check(Schema.isMaxLength(100)).annotate({
      description: "The `next_cursor` of the previous page; without it, the newest items.",
    }),
  ),
}

export const scope = Schema.optionalKey(
  Schema.Literals(["tenant", "all"]).annotate({
    description: "`all` (administrators only): calls of every tenant.",
  }),
)

export const LIST = "Newest first. A page may be shorter than its `limit`; `next_cursor` is present if more follow."

export const pageOf = <S extends Schema.Top>(item: S) =>
  Schema.Struct({
    items: Schema.Array(item),
    next_cursor: Schema.optionalKey(Schema.String.annotate({ description: "Absent on the last page." })),
  })
