/** Only messages of this program are shown: those of libraries may hold addresses, paths and secrets. */
import { CliError } from "effect/cli"
import { SealgateError } from "../client/errors.ts"
import { ConfigurationMistakes } from "../domain/problems/configuration.ts"
import { systemCode } from "../domain/problems/systemErrors.ts"
import { DatabaseFileUnusable } from "../layers/database/sqliteFile.ts"
import { DatabaseUnreachable } from "../layers/database/PostgresReachable.ts"
import { MigrationRefused, SchemaUnknown } from "../layers/database/migrations.ts"
import { DatabaseInUse } from "../layers/database/SqliteOwner.ts"
import { CannotListen } from "../server/CannotListen.ts"
import { TlsError } from "../server/tls/Tls.ts"
import { OperatorFileUnusable } from "../layers/operatorFile.ts"
import { CallerKeysUnusable } from "../services/access/CallerKeys.ts"
import { JwksUnreadable } from "../services/access/TokenKeys.ts"
import { KeyFileError } from "../services/sealing/AttestationKeyFile.ts"
import { CommandFailed } from "./CommandFailed.ts"

const WRITTEN_HERE = [
  CommandFailed,
  SealgateError,
  ConfigurationMistakes,
  CannotListen,
  TlsError,
  KeyFileError,
  CallerKeysUnusable,
  OperatorFileUnusable,
  JwksUnreadable,
  DatabaseFileUnusable,
  DatabaseUnreachable,
  DatabaseInUse,
  SchemaUnknown,
  MigrationRefused,
]

/** Returns the first stack frame in this program, such as `src/cli/chatCommand.ts:12`. */
const placeOf = ({ stack = "" }: Error): string | undefined => {
  const own = stack.split("\n").filter((line) => !line.includes("node_modules"))
  for (const line of own) {
    const start = Math.max(line.lastIndexOf("/src/"), line.lastIndexOf("/dist/"))
    if (start >= 0) return line.slice(start + 1).replace(/\)$/, "")
  }
  return undefined
}

/** Returns the message for an error; empty if it was already printed. */
export const failureMessage = (error: unknown): string => {
  if (CliError.isCliError(error)) return ""
  if (error instanceof Error && WRITTEN_HERE.some((each) => error instanceof each)) return error.message
  // Any other error is a bug, shown only by its kind and place.
  const kind = error instanceof Error ? error.name : typeof error
  const place = error instanceof Error ? placeOf(error) : undefined
  const where = [kind, systemCode(error), place].filter((part) => part !== undefined).join(", ")
  return `This is a bug in sealgate (${where}), not your mistake. Please report it, and say what you did.`
}
