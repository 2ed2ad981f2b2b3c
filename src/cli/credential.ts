/** The caller's credential, from a file or the environment. A flag would show it to every user of the machine. */
import { readFile } from "node:fs/promises"
import { Effect, Option, Redacted, Schema } from "effect"
import { clientError } from "../client/clientError.ts"
import { SealedProblem } from "../client/errors.ts"
import { makeProblem } from "../domain/problems/problem.ts"
import { fileReason } from "../domain/problems/systemErrors.ts"
import type { SealedClientOptions } from "../client/sealed/SealedClient.ts"
import { clientSettings } from "../layers/config/clientSettings.ts"
import { clientValues } from "./settings/clientValues.ts"
import { decodeTextFile } from "./settings/textFile.ts"
import { unusable } from "./CommandFailed.ts"
import { type GuideShape, rowsOf } from "./help/Guide.ts"
import { optionalFlag } from "./flags.ts"

/** Listed in the help of every command that seals. */
export const ENVIRONMENT: NonNullable<GuideShape["environment"]> = rowsOf(
  clientSettings.proxy,
  clientSettings.pin,
  clientSettings.credential,
)

export const credentialFileFlag = optionalFlag(
  "credential-file",
  "file",
  "File with your key or token for the proxy, read again for each request (default: SEALGATE_CREDENTIAL)",
  Schema.String,
)

const credentialIn = (text: string): string => {
  const trimmed = text.trim()
  return trimmed === "" || trimmed.includes(" ") ? trimmed : `Bearer ${trimmed}`
}

const unreadable = (file: string, reason: string): SealedProblem => {
  const title = `The file of --credential-file cannot be read (${file}: ${reason}). Check its path and permissions.`
  return new SealedProblem(makeProblem({ code: "unauthorized", status: 401, title }), false, undefined, false)
}

export const credentialFrom = Effect.fnUntraced(function* (file: Option.Option<string>) {
  if (Option.isSome(file)) {
    const credential = async () => {
      const bytes = await readFile(file.value).catch((error: unknown) => {
        throw unreadable(file.value, fileReason(error))
      })
      const text = decodeTextFile(bytes)
      if (text === undefined) throw unreadable(file.value, "it is not text in UTF-8 or UTF-16")
      return credentialIn(text)
    }
    yield* Effect.tryPromise({ try: credential, catch: (error) => unusable(clientError(error).message) })
    const found: Pick<SealedClientOptions, "credential"> = { credential }
    return found
  }
  const { credential } = yield* clientValues({ credential: clientSettings.credential })
  const found: Pick<SealedClientOptions, "credential"> =
    credential === undefined ? {} : { credential: credentialIn(Redacted.value(credential)) }
  return found
})

/** Returns the current credential; empty if there is none. */
export const credentialNow = Effect.fnUntraced(function* (file: Option.Option<string>) {
  const { credential = "" } = yield* credentialFrom(file)
  return typeof credential === "string" ? credential : yield* Effect.promise(async () => credential())
})
