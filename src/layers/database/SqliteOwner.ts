/**
 * One process at a time owns an embedded database: its jobs resume at once when the next one starts, because whatever
 * was running then has died. The lock is the operating system's, so it ends with the process, however that ends.
 */
import { DatabaseSync } from "node:sqlite"
import { Duration, Effect, Layer, Schedule, Schema } from "effect"
import { createPrivately } from "./SqliteClient.ts"

/** Another process has the database open. */
export class DatabaseInUse extends Schema.TaggedError<DatabaseInUse>()("DatabaseInUse", { filename: Schema.String }) {
  override get message(): string {
    return (
      `Another process is using ${this.filename}. Stop it, or give this one another file; ` +
      "several processes share one database only on Postgres (DATABASE_URL=postgres://…)."
    )
  }
}

/** How long a start waits for its predecessor to finish shutting down. */
const PATIENCE = Duration.seconds(5)
const RETRY_EVERY = Duration.millis(100)

const lock = (filename: string): DatabaseSync => {
  createPrivately(`${filename}.lock`)
  const database = new DatabaseSync(`${filename}.lock`, { timeout: 0 })
  try {
    database.exec("BEGIN EXCLUSIVE")
    return database
  } catch (error) {
    database.close()
    throw error
  }
}

/** Holds the lock on `filename` until the scope closes. A database in memory needs none. */
export const layer = (
  filename: string,
  options?: { readonly patience?: Duration.Input | undefined },
): Layer.Layer<never, DatabaseInUse> =>
  filename === ":memory:"
    ? Layer.empty
    : Layer.effectDiscard(
        Effect.acquireRelease(
          Effect.retry(
            Effect.try({ try: () => lock(filename), catch: () => new DatabaseInUse({ filename }) }),
            Schedule.spaced(RETRY_EVERY).pipe(Schedule.upTo({ duration: options?.patience ?? PATIENCE })),
          ),
          (database) => Effect.sync(() => database.close()),
        ),
      )
