import { Effect } from "effect"
import type { SqlClient, Statement } from "effect/sql"
import { type PageRequest, type PageRow, pageBounds, pageOf } from "../domain/operations/storage.ts"

/** A table whose ids sort by time, and SQL of its columns and of the approximate size of a row. */
interface Listed {
  readonly table: string
  readonly columns: string
  readonly bytes: string
}

/** Returns a function that reads a page of wanted rows, newest first. Sizes come first, because rows may exceed memory. */
export const makeReadPage = (sql: SqlClient.SqlClient, { bytes, columns, table }: Listed) => {
  const from = sql.literal(`FROM ${table}`)
  const sizes = sql.literal(`SELECT id, ${bytes} AS bytes`)
  const rows = sql.literal(`SELECT ${columns}`)
  return Effect.fnUntraced(function* <Row extends object, A, E>(
    wanted: Statement.Fragment,
    request: PageRequest | undefined,
    decode: (rows: ReadonlyArray<Row>) => Effect.Effect<ReadonlyArray<A>, E>,
  ) {
    const { before, limit } = yield* pageBounds(request)
    const found = yield* sql<PageRow>`${sizes} ${from}
      WHERE ${wanted} AND id < ${before} ORDER BY id DESC LIMIT ${limit + 1}`
    const { items, ...next } = pageOf(found, limit)
    if (items.length === 0) return { items: [] }
    return {
      ...next,
      items: yield* decode(
        yield* sql<Row>`${rows} ${from} WHERE ${wanted} AND id IN ${sql.in(items)} ORDER BY id DESC`,
      ),
    }
  })
}
