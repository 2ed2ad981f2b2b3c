/**
 * The one place that says what happened when a command failed. What this program says itself is said; words of libraries
 * and of the system, which may hold addresses, paths and secrets, never are.
 */
import { CliError } from "effect/cli"
import { SealgateError } from "../client/errors.ts"
import { ConfigurationMistakes } from "../domain/problems/configuration.ts"
import { systemCode } from "../domain/problems/systemErrors.ts"
import { DatabaseFileUnusable } from "../layers/database/sqliteFile.ts"
import { DatabaseUnreachable } from "../layers/database/PostgresReachable.ts"
import { SchemaUnknown } from "../layers/database/migrations.ts"
import { DatabaseInUse } from "../layers/database/SqliteOwner.ts"
import { CannotListen } from "../server/CannotListen.ts"
import { TlsError } from "../server/tls/Tls.ts"
import { CallerKeysUnusable } from "../services/access/CallerKeys.ts"
import { JwksUnreadable } from "../services/access/TokenKeys.ts"
import { KeyFileError } from "../services/sealing/AttestationKeyFile.ts"
import { CommandFailed } from "./CommandFailed.ts"

/** Errors whose messages are written here, for people. */
const WRITTEN_HERE = [
  CommandFailed,
  SealgateError,
  ConfigurationMistakes,
  CannotListen,
  TlsError,
  KeyFileError,
  CallerKeysUnusable,
  JwksUnreadable,
  DatabaseFileUnusable,
  DatabaseUnreachable,
  DatabaseInUse,
  SchemaUnknown,
]

/** Where a fault of this program shows: the first place in its own code, such as `src/cli/chatCommand.ts:12`. */
const placeOf = ({ stack = "" }: Error): string | undefined => {
  const own = stack.split("\n").filter((line) => !line.includes("node_modules"))
  for (const line of own) {
    const start = Math.max(line.lastIndexOf("/src/"), line.lastIndexOf("/dist/"))
    if (start >= 0) return line.slice(start + 1).replace(/\)$/, "")
  }
  return undefined
}

/** What is to be said of an error; nothing where everything has been said. */
export const whatHappened = (error: unknown): string => {
  if (CliError.isCliError(error)) return ""
  if (error instanceof Error && WRITTEN_HERE.some((each) => error instanceof each)) return error.message
  // Anything else must not be. It is told by its kind and place, by which it can be found and reported.
  const kind = error instanceof Error ? error.name : typeof error
  const place = error instanceof Error ? placeOf(error) : undefined
  const where = [kind, systemCode(error), place].filter((part) => part !== undefined).join(", ")
  return `This is a fault in sealgate, and none of yours (${where}). Please report it, with what you did.`
}
