/** Flags that several commands share. */
import { Effect, Schema } from "effect"
import { Flag } from "effect/cli"
import { parsed, UrlText } from "../layers/config/codecs.ts"
import { unusable } from "./CommandFailed.ts"

const isPin = (text: string): boolean => /^[A-Za-z0-9_-]{43}$/.test(text)

const PinText = parsed(
  Schema.String,
  (text) => (isPin(text) ? text : undefined),
  "43 characters of base64url, as `sealgate pin` prints them",
)

export const proxyFlag = Flag.String("proxy").pipe(
  Flag.withDescription("Where the sealed proxy is, such as https://proxy.example.com"),
  Flag.withSchema(UrlText),
)

export const pinsFlag = Flag.String("pin").pipe(
  Flag.withDescription("Key id of the identity to believe; may be repeated, so that a key can be rotated"),
  Flag.withSchema(PinText),
  Flag.atLeast(0),
)

/** One pin in 64 begins with a dash, which would pass for a flag: `--pin -x…` becomes `--pin=-x…`. */
export const joinPins = (args: ReadonlyArray<string>): ReadonlyArray<string> =>
  args.flatMap((arg, i) => {
    const next = args[i + 1]
    if (arg === "--pin" && next !== undefined && isPin(next)) return [`--pin=${next}`]
    return i > 0 && args[i - 1] === "--pin" && isPin(arg) ? [] : [arg]
  })

export const trustOnFirstUseFlag = Flag.Boolean("trust-on-first-use").pipe(
  Flag.withDescription("Without --pin: believe whoever answers first, and only them from then on"),
  Flag.withDefault(false),
)

export const jsonFlag = (description: string) =>
  Flag.Boolean("json").pipe(Flag.withDescription(description), Flag.withDefault(false))

/** Nothing may be sealed to just anybody. */
export const requireTrust = (input: { readonly pin: ReadonlyArray<string>; readonly trustOnFirstUse: boolean }) =>
  input.pin.length > 0 || input.trustOnFirstUse
    ? Effect.void
    : Effect.fail(
        unusable(
          "Whom to believe? Give --pin with the key id that the proxy's operator told you, or --trust-on-first-use.",
        ),
      )
