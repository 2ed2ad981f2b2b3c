/** What a proxy knows its callers by, as commands find it. A flag would show it to everybody on the machine. */
import { readFile } from "node:fs/promises"
import { Config, Effect, Option, Redacted } from "effect"
import { Flag } from "effect/cli"
import type { SealedClientOptions } from "../client/SealedClient.ts"
import { unusable } from "./CommandFailed.ts"
import type { GuideShape } from "./help/Guide.ts"

const VARIABLE = "SEALGATE_CREDENTIAL"

/** In the help of every command that takes one. */
export const CREDENTIAL: NonNullable<GuideShape["environment"]> = [
  {
    name: VARIABLE,
    text: "The key or token by which the proxy knows you, if it asks for one (see also --credential-file)",
  },
]

export const credentialFileFlag = Flag.String("credential-file").pipe(
  Flag.withMetavar("file"),
  Flag.withDescription(
    `File with the key or token by which the proxy knows you, read again for each request (default: ${VARIABLE})`,
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
  const given = yield* Config.option(Config.Redacted(VARIABLE))
  const found: Pick<SealedClientOptions, "credential"> = Option.isNone(given)
    ? {}
    : { credential: credentialIn(Redacted.value(given.value)) }
  return found
})
