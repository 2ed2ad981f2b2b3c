/** Reads files that arguments and flags name. */
import { createReadStream } from "node:fs"
import { buffer } from "node:stream/consumers"
import { Effect, Schema } from "effect"
import { fileReason } from "../domain/problems/systemErrors.ts"
import { unusable } from "./CommandFailed.ts"
import { optionalFlag } from "./flags.ts"

/** More than the largest answer has. A device has no end. */
const MAX_MIB = 128
const MAX_BYTES = MAX_MIB * 1024 * 1024

/** `name` is the file's name in the error message. */
export const readInput = Effect.fnUntraced(function* (path: string, name = path) {
  const bytes = yield* Effect.tryPromise({
    // One byte more than is allowed, so that a larger file is noticed.
    try: () => buffer(createReadStream(path, { end: MAX_BYTES })),
    catch: (error) => unusable(`${name} cannot be read: ${fileReason(error)}.`),
  })
  if (bytes.length > MAX_BYTES) return yield* unusable(`${name} is larger than ${MAX_MIB} MiB.`)
  return bytes
})

export const caFlag = optionalFlag(
  "ca",
  "file",
  "PEM file of certificate authorities to trust besides the public ones",
  Schema.String,
)

export const readCa = (file: string) => Effect.map(readInput(file, "The file of --ca"), String)
