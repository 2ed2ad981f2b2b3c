/** Opens SQLite's files, and says why one cannot be opened. */
import { closeSync, openSync } from "node:fs"
import { dirname } from "node:path"
import { DatabaseSync, type DatabaseSyncOptions } from "node:sqlite"
import { fileReason } from "../../domain/systemErrors.ts"
import { makePrivateFolder } from "../../services/makePrivateFolder.ts"
import { Effect, Schema } from "effect"

/** SQLite's result code for a file that another process has locked; extended codes have it in their lowest byte. */
const SQLITE_BUSY = 5

/** By SQLite's primary result codes. */
const RESULTS: Readonly<Record<number, string>> = {
  5: "another process has it locked",
  8: "it is read-only",
  10: "the disk cannot be read or written",
  11: "it is damaged",
  13: "the disk is full",
  14: "it cannot be opened",
  26: "it is not a database of SQLite",
}

const sqliteReason = (errcode: number): string => RESULTS[errcode & 0xff] ?? `SQLite says ${errcode}`

/** There can be no database in this place, or not now. */
export class DatabaseFileUnusable extends Schema.TaggedError<DatabaseFileUnusable>()("DatabaseFileUnusable", {
  filename: Schema.String,
  /** Why, in words for people. */
  reason: Schema.String,
  /** Another process has it locked. */
  busy: Schema.Boolean,
}) {
  override get message(): string {
    return (
      `The database file ${this.filename} cannot be used (${this.reason}). ` +
      "Check DATABASE_URL, and that this user may write to the file and to its folder."
    )
  }
}

/** Makes the file before SQLite does, because SQLite would make it readable by others; it keeps modes it finds. */
const createPrivately = (filename: string): void => {
  makePrivateFolder(dirname(filename))
  closeSync(openSync(filename, "a", 0o600))
}

/** Opens a file, or `:memory:`, and runs `first` on it. Missing folders are made, readable by this user only. */
export const openFile = (
  filename: string,
  options: DatabaseSyncOptions,
  first: string,
): Effect.Effect<DatabaseSync, DatabaseFileUnusable> =>
  Effect.try({
    try: () => {
      if (filename !== ":memory:") createPrivately(filename)
      const database = new DatabaseSync(filename, options)
      try {
        database.exec(first)
        return database
      } catch (error) {
        database.close()
        throw error
      }
    },
    catch: (thrown) => {
      // The file system and `node:sqlite` throw errors; the latter's have SQLite's result code.
      const { errcode = 0 } = thrown as Error & { readonly errcode?: number }
      const reason = errcode === 0 ? fileReason(thrown) : sqliteReason(errcode)
      return new DatabaseFileUnusable({ filename, reason, busy: (errcode & 0xff) === SQLITE_BUSY })
    },
  })
