/** Opens SQLite files, and explains failures. */
import { closeSync, openSync, realpathSync, statSync } from "node:fs"
import { dirname } from "node:path"
import { DatabaseSync, type DatabaseSyncOptions } from "node:sqlite"
import { fileReason, sqliteReason } from "../../domain/problems/systemErrors.ts"
import { makePrivateFolder } from "../../services/makePrivateFolder.ts"
import { Effect, Schema } from "effect"

/** SQLite's result code for a file locked by another process; extended codes have it in their lowest byte. */
const SQLITE_BUSY = 5

export class DatabaseFileUnusable extends Schema.TaggedError<DatabaseFileUnusable>()("DatabaseFileUnusable", {
  filename: Schema.String,
  reason: Schema.String,
  /** Another process has locked the file. */
  busy: Schema.Boolean,
}) {
  override get message(): string {
    return (
      `The database file ${this.filename} cannot be used (${this.reason}). ` +
      "Check DATABASE_URL, and that this user may write to the file and to its folder."
    )
  }
}

/** Creates the file before SQLite does, because SQLite would make it readable by others. Existing modes stay. */
const createPrivately = (filename: string): void => {
  makePrivateFolder(dirname(filename))
  closeSync(openSync(filename, "a", 0o600))
}

const unusable = (filename: string) => (thrown: unknown) => {
  // The file system and `node:sqlite` throw; errors of the latter carry SQLite's result code.
  const { errcode = 0 } = thrown as Error & { readonly errcode?: number }
  const reason = errcode === 0 ? fileReason(thrown) : (sqliteReason(errcode) ?? `SQLite says ${errcode}`)
  return new DatabaseFileUnusable({ filename, reason, busy: (errcode & 0xff) === SQLITE_BUSY })
}

/**
 * Follows symbolic links. Rejects hard links: SQLite keeps its log beside each name, so processes that open two of them
 * damage the file.
 */
export const ownName = (filename: string): Effect.Effect<string, DatabaseFileUnusable> =>
  Effect.flatMap(
    Effect.try({
      try: () => {
        createPrivately(filename)
        const name = realpathSync(filename)
        return { name, links: statSync(name).nlink }
      },
      catch: unusable(filename),
    }),
    ({ links, name }) =>
      links > 1
        ? new DatabaseFileUnusable({ filename, reason: "it has hard links; remove the other names", busy: false })
        : Effect.succeed(name),
  )

/** Opens a file, or `:memory:`, and runs `first` on it. Creates missing folders, readable by this user only. */
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
    catch: unusable(filename),
  })
