/** Common parts of services with rows: pages, cursors, and the refusal if the database is unavailable. */
import { Effect, Schema } from "effect"
import { decodeBase64Url, encodeBase64Url, utf8 } from "../bytes/bytes.ts"
import { Refusal } from "../problems/refusal.ts"

export class StorageUnavailable extends Refusal<StorageUnavailable>()("StorageUnavailable", {
  code: "storage-unavailable",
  status: 503,
  title: "The database is not available right now; try again later.",
}) {}

const DEFAULT_PAGE_SIZE = 20
const MAX_PAGE_SIZE = 100
/** Maximum size of a page in bytes. Pages are held in memory, and a megabyte of conversations takes up to 0.4 s to read. */
const MAX_PAGE_BYTES = 1024 * 1024
export const PageSize = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: MAX_PAGE_SIZE }))

/** A requested page. `cursor` is a `next_cursor` of the same list; without it, the list starts at the newest item. */
export interface PageRequest {
  readonly limit?: typeof PageSize.Type | undefined
  readonly cursor?: string | undefined
}

/** One page of a list, newest first, perhaps with fewer items than asked; the last has no `next_cursor`. */
export interface Page<A> {
  readonly items: ReadonlyArray<A>
  readonly next_cursor?: string
}

export class CursorInvalid extends Refusal<CursorInvalid>()("CursorInvalid", {
  code: "cursor-invalid",
  status: 400,
  title: "This list did not issue the cursor; start again without it.",
}) {}

/** Sorts after every UUID. */
const END = "g"
/** Length of an id in base64url. */
const MAX_CURSOR = 48
const UUID_V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

/**
 * The rows to read for a page: those with an id below `before`, newest first, at most `limit` and one more, which shows
 * whether another page follows. The cursor is the last id of the previous page, opaque to callers.
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

/** The smallest id of this moment, in milliseconds since the epoch. */
export const firstIdAt = (moment: number): string => {
  const hex = Math.max(0, moment).toString(16).padStart(12, "0").slice(-12)
  return `${hex.slice(0, 8)}-${hex.slice(8)}-7000-8000-000000000000`
}

export interface PageRow {
  readonly id: string
  readonly bytes: number
}

/** The page of rows read with {@link pageBounds}. A row above the size limit gets a page of its own. */
export const pageOf = (rows: ReadonlyArray<PageRow>, limit: number, maxBytes = MAX_PAGE_BYTES): Page<string> => {
  const items: Array<string> = []
  let bytes = 0
  for (const row of rows.slice(0, limit)) {
    bytes += row.bytes
    if (items.length > 0 && bytes > maxBytes) break
    items.push(row.id)
  }
  const last = items.at(-1)
  return rows.length > items.length && last !== undefined ? { items, next_cursor: cursorOf(last) } : { items }
}

export const cursorOf = (id: string): string => encodeBase64Url(utf8(id))
