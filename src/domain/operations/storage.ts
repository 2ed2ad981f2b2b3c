/** What every service that keeps rows has in common: pages, cursors, and a database that may be away. */
import { Effect, Schema } from "effect"
import { decodeBase64Url, encodeBase64Url, utf8 } from "../bytes/bytes.ts"
import { Refusal } from "../problems/refusal.ts"

/** The database did not do what it was asked. */
export class StorageUnavailable extends Refusal<StorageUnavailable>()("StorageUnavailable", {
  code: "storage-unavailable",
  status: 503,
  title: "The database is not available right now; try again later.",
}) {}

const DEFAULT_PAGE_SIZE = 20
const MAX_PAGE_SIZE = 100
/**
 * A page ends early rather than hold more than this, because whoever reads it holds it whole, and reading a page of
 * conversations costs this process up to 0.4 s per megabyte.
 */
const MAX_PAGE_BYTES = 1024 * 1024
export const PageSize = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: MAX_PAGE_SIZE }))

/** Which page of a list. `cursor` is a `next_cursor` of the same list; without it the list starts at the newest. */
export interface PageRequest {
  readonly limit?: typeof PageSize.Type | undefined
  readonly cursor?: string | undefined
}

/**
 * One page of a list, newest first; without `next_cursor` it is the last. It may have fewer items than were asked for
 * although more follow.
 */
export interface Page<A> {
  readonly items: ReadonlyArray<A>
  readonly next_cursor?: string
}

/** The cursor was not made by this list. */
export class CursorInvalid extends Refusal<CursorInvalid>()("CursorInvalid", {
  code: "cursor-invalid",
  status: 400,
  title: "The cursor is not one that this list gave out; start again without it.",
}) {}

/** Sorts after every UUID. */
const END = "g"
/** An id in base64url. */
const MAX_CURSOR = 48
const UUID_V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

/**
 * Lists are ordered by UUIDv7, newest first, and a page ends at an id: the cursor is that id, opaque to callers. Rows
 * wanted are those with an id below `before`, at most `limit`, and one more to tell whether there is a next page.
 */
export const pageBounds = (
  request: PageRequest | undefined,
): Effect.Effect<{ readonly before: string; readonly limit: number }, CursorInvalid> => {
  const limit = request?.limit ?? DEFAULT_PAGE_SIZE
  if (request?.cursor === undefined) return Effect.succeed({ before: END, limit })
  const bytes = request.cursor.length <= MAX_CURSOR ? decodeBase64Url(request.cursor) : undefined
  const before = String.fromCodePoint(...(bytes ?? []))
  return UUID_V7.test(before) ? Effect.succeed({ before, limit }) : Effect.fail(new CursorInvalid())
}

/** A row as far as pages are concerned: `bytes` is about what it adds to one. */
export interface PageRow {
  readonly id: string
  readonly bytes: number
}

/** The ids of the page made of rows that {@link pageBounds} asked for. A row that is too large for any page has one alone. */
export const pageOf = (rows: ReadonlyArray<PageRow>, limit: number): Page<string> => {
  const items: Array<string> = []
  let bytes = 0
  for (const row of rows.slice(0, limit)) {
    bytes += row.bytes
    if (items.length > 0 && bytes > MAX_PAGE_BYTES) break
    items.push(row.id)
  }
  const last = items.at(-1)
  return rows.length > items.length && last !== undefined
    ? { items, next_cursor: encodeBase64Url(utf8(last)) }
    : { items }
}
