/** Flags that several commands share. */
import { Effect, Schema } from "effect"
import { Flag } from "effect/cli"
import { parsed, UrlText } from "../layers/config/codecs.ts"
import { unusable } from "./CommandFailed.ts"

const PinText = parsed(
  Schema.String,
  (text) => (/^[A-Za-z0-9_-]{43}$/.test(text) ? text : undefined),
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
