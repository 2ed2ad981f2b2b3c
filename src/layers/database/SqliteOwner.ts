/**
 * One process at a time owns an embedded database, so the next one may resume its jobs at once: the workers of the last one
 * are dead. The lock is the operating system's, so it always ends with the process.
 */
import { Duration, Effect, Layer, Schedule, Schema } from "effect"
import { type DatabaseFileUnusable, openFile, ownName } from "./sqliteFile.ts"

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

/** Locks the file under any name until the scope closes. A database in memory needs no lock. */
export const layerSqliteOwner = (
  filename: string,
  options?: { readonly patience?: Duration.Input | undefined },
): Layer.Layer<never, DatabaseInUse | DatabaseFileUnusable> =>
  filename === ":memory:"
    ? Layer.empty
    : Layer.effectDiscard(
        Effect.acquireRelease(
          ownName(filename).pipe(
            Effect.flatMap((name) => openFile(`${name}.lock`, { timeout: 0 }, "BEGIN EXCLUSIVE")),
            Effect.mapError((error) => (error.busy ? new DatabaseInUse({ filename }) : error)),
            Effect.retry({
              while: (error) => error._tag === "DatabaseInUse",
              schedule: Schedule.spaced(RETRY_EVERY).pipe(Schedule.upTo({ duration: options?.patience ?? PATIENCE })),
            }),
          ),
          (database) => Effect.sync(() => database.close()),
        ),
      )
