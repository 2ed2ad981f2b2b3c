/** Reads JSON files of the operator that settings name. */
import { Effect, Result, Schema } from "effect"
import { NotIJson, parseIJson } from "../domain/json/iJson.ts"
import { schemaIssues } from "../domain/json/schemaIssues.ts"
import type { ProblemIssue } from "../domain/problems/problemTypes.ts"
import { fileReason } from "../domain/problems/systemErrors.ts"
import { readKeys } from "../services/fileAccess.ts"

/** Mistakes that one message names. */
const MAX_MISTAKES = 5
export const MAX_FILE_BYTES = 1024 * 1024

/** A file of the operator cannot be used. The problem quotes neither keys nor headers. */
export class OperatorFileUnusable extends Schema.TaggedError<OperatorFileUnusable>()("OperatorFileUnusable", {
  setting: Schema.String,
  file: Schema.String,
  problem: Schema.String,
}) {
  override get message(): string {
    return `${this.setting}: ${this.file} ${this.problem}`
  }
}

/** The bytes of a file that only its owner may change or, if it is secret, read; else a problem. */
export const bytesOf = (file: string, isSecret: boolean, most: number): Effect.Effect<Buffer, string> =>
  Effect.tryPromise({
    try: () => readKeys(file, isSecret),
    catch: (error) => `cannot be read: ${fileReason(error)}`,
  }).pipe(
    Effect.flatMap((content) => {
      if (!Buffer.isBuffer(content)) return Effect.fail(`${content.problem}. ${content.remedy}.`)
      return content.length > most ? Effect.fail(`is longer than ${most} bytes`) : Effect.succeed(content)
    }),
  )

const shown = ({ message, path }: ProblemIssue): string => (path === "" ? message : `${path}: ${message}`)

/** Returns a function that reads a value of `schema` in a file's bytes. */
export const parsing = <A, I>(schema: Schema.Codec<A, I>): ((bytes: Buffer) => Result.Result<A, string>) => {
  const decode = Schema.decodeUnknownResult(schema, { errors: "all", onExcessProperty: "error" })
  return (bytes) => {
    const json = Result.try({
      try: () => parseIJson(bytes),
      catch: (error) => `cannot be used: ${error instanceof NotIJson ? error.message : "It is not JSON."}`,
    })
    return Result.flatMap(json, (value) =>
      Result.mapError(
        decode(value),
        ({ issue }) => `has mistakes: ${schemaIssues(issue).slice(0, MAX_MISTAKES).map(shown).join("; ")}`,
      ),
    )
  }
}
