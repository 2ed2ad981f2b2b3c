/** Reads files that arguments and flags name. */
import { readFile } from "node:fs/promises"
import { Effect, Schema } from "effect"
import { fileReason } from "../domain/problems/systemErrors.ts"
import { unusable } from "./CommandFailed.ts"
import { optionalFlag } from "./flags.ts"

/** `name` is the file's name in the error message. */
export const readInput = (path: string, name = path) =>
  Effect.tryPromise({
    try: () => readFile(path),
    catch: (error) => unusable(`${name} cannot be read: ${fileReason(error)}.`),
  })

export const caFlag = optionalFlag(
  "ca",
  "file",
  "PEM file of certificate authorities to trust besides the public ones",
  Schema.String,
)

export const readCa = (file: string) => Effect.map(readInput(file, "The file of --ca"), String)
