/** Flags that several commands share. */
import { Effect, Schema } from "effect"
import { Flag } from "effect/cli"
import { parsed, UrlText } from "../layers/config/codecs.ts"
import { LOG_LEVELS } from "../layers/config/serverSettings.ts"
import { unusable } from "./CommandFailed.ts"

const isPin = (text: string): boolean => /^[A-Za-z0-9_-]{43}$/.test(text)

const PinText = parsed(
  Schema.String,
  (text) => (isPin(text) ? text : undefined),
  "43 characters of A-Z a-z 0-9 _ -, as `sealgate pin` prints them",
)

export const proxyFlag = Flag.String("proxy").pipe(
  Flag.withMetavar("url"),
  Flag.withDescription("Where the sealed proxy is, such as https://proxy.example.com (required)"),
  Flag.withSchema(UrlText),
)

export const pinsFlag = Flag.String("pin").pipe(
  Flag.withMetavar("pin"),
  Flag.withDescription(
    "Id of the proxy's key: only a proxy with this key is believed. It prints it at start; ask its operator. May be " +
      "repeated, while keys are rotated",
  ),
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

/** `sealgate help chat` is `sealgate chat --help`. */
export const askedForHelp = (args: ReadonlyArray<string>): ReadonlyArray<string> =>
  args[0] === "help" ? [...args.slice(1), "--help"] : args

export const trustOnFirstUseFlag = Flag.Boolean("trust-on-first-use").pipe(
  Flag.withDescription("For tries, without --pin: believe whoever answers first, and only them from then on"),
  Flag.withDefault(false),
)

/** How much a server logs. `otherwise` says what counts without it. */
export const logLevelFlag = (otherwise: string) =>
  Flag.Literals("log-level", LOG_LEVELS).pipe(
    Flag.withMetavar("level"),
    Flag.withDescription(`Least severe level that is logged (default ${otherwise})`),
    Flag.optional,
  )

export const jsonFlag = (description: string) =>
  Flag.Boolean("json").pipe(Flag.withDescription(description), Flag.withDefault(false))

/** Nothing may be sealed to just anybody. */
export const requireTrust = (input: { readonly pin: ReadonlyArray<string>; readonly trustOnFirstUse: boolean }) =>
  input.pin.length > 0 || input.trustOnFirstUse
    ? Effect.void
    : Effect.fail(
        unusable(
          "Whom to believe? Give --pin with the pin of the proxy: it prints it at start, and its operator knows it. " +
            "To try things out, --trust-on-first-use believes whoever answers first.",
        ),
      )
