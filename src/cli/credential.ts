/** What a proxy knows its callers by, as commands find it. A flag would show it to everybody on the machine. */
import { readFile } from "node:fs/promises"
import { Effect, Option, Redacted } from "effect"
import { Flag } from "effect/cli"
import type { SealedClientOptions } from "../client/sealed/SealedClient.ts"
import { clientSettings } from "../layers/config/clientSettings.ts"
import { clientValues } from "./settings/clientValues.ts"
import { unusable } from "./CommandFailed.ts"
import { type GuideShape, rowsOf } from "./help/Guide.ts"

/** In the help of every command that seals. */
export const ENVIRONMENT: NonNullable<GuideShape["environment"]> = rowsOf(
  clientSettings.proxy,
  clientSettings.pin,
  clientSettings.credential,
)

export const credentialFileFlag = Flag.String("credential-file").pipe(
  Flag.withMetavar("file"),
  Flag.withDescription(
    "File with the key or token by which the proxy knows you, read again for each request (default: SEALGATE_CREDENTIAL)",
  ),
  Flag.optional,
)

/** A token alone is one of the scheme Bearer. */
const credentialIn = (text: string): string => {
  const trimmed = text.trim()
  return trimmed === "" || trimmed.includes(" ") ? trimmed : `Bearer ${trimmed}`
}

/** The options of a client that say who asks. */
export const credentialFrom = Effect.fnUntraced(function* (file: Option.Option<string>) {
  if (Option.isSome(file)) {
    const credential = async () => credentialIn(await readFile(file.value, "utf8"))
    yield* Effect.tryPromise({
      try: credential,
      catch: () => unusable("The file of --credential-file cannot be read."),
    })
    const found: Pick<SealedClientOptions, "credential"> = { credential }
    return found
  }
  const { credential } = yield* clientValues({ credential: clientSettings.credential })
  const found: Pick<SealedClientOptions, "credential"> =
    credential === undefined ? {} : { credential: credentialIn(Redacted.value(credential)) }
  return found
})

/** Who asks, as it is now; empty if nobody says so. */
export const credentialNow = Effect.fnUntraced(function* (file: Option.Option<string>) {
  const { credential = "" } = yield* credentialFrom(file)
  return typeof credential === "string" ? credential : yield* Effect.promise(async () => credential())
})
