/** Flags that several commands share. */
import { Option, Schema } from "effect"
import { Flag } from "effect/cli"
import { ListenText, parsed, PortText, UrlText } from "../layers/config/codecs.ts"
import { withoutUndefined } from "../domain/json/withoutUndefined.ts"
import { LOG_LEVELS } from "../layers/config/serverSettings.ts"

export const isPin = (text: string): boolean => /^[A-Za-z0-9_-]{43}$/.test(text)

const PinText = parsed(
  Schema.String,
  (text) => (isPin(text) ? text : undefined),
  "43 characters of A-Z a-z 0-9 _ -, as `sealgate pin` prints them",
)

export const proxyFlag = Flag.String("proxy").pipe(
  Flag.withMetavar("url"),
  Flag.withDescription(
    "URL of the sealed proxy or of its console (default SEALGATE_PROXY, else http://localhost:3001)",
  ),
  Flag.withSchema(UrlText),
  Flag.optional,
)

export const pinsFlag = Flag.String("pin").pipe(
  Flag.withMetavar("pin"),
  Flag.withDescription(
    "Id of the proxy's key; only a proxy with this key is trusted. The proxy prints it at start; ask its operator. May be " +
      "repeated while keys are rotated (default SEALGATE_PIN; for a proxy on this machine, the key in this folder)",
  ),
  Flag.withSchema(PinText),
  Flag.atLeast(0),
)

/** Rewrites `--pin -x…` to `--pin=-x…`: one pin in 64 begins with a dash and would be parsed as a flag. */
export const joinPins = (args: ReadonlyArray<string>): ReadonlyArray<string> =>
  args.flatMap((arg, i) => {
    const next = args[i + 1]
    if (arg === "--pin" && next !== undefined && isPin(next)) return [`--pin=${next}`]
    return i > 0 && args[i - 1] === "--pin" && isPin(arg) ? [] : [arg]
  })

/** Rewrites `sealgate help chat` to `sealgate chat --help`. */
export const askedForHelp = (args: ReadonlyArray<string>): ReadonlyArray<string> =>
  args[0] === "help" ? [...args.slice(1), "--help"] : args

export const trustOnFirstUseFlag = Flag.Boolean("trust-on-first-use").pipe(
  Flag.withDescription("For trials without --pin: trust the first key that answers, and only that key from then on"),
  Flag.withDefault(false),
)

/** `otherwise` describes the default. */
export const logLevelFlag = (otherwise: string) =>
  Flag.Literals("log-level", LOG_LEVELS).pipe(
    Flag.withMetavar("level"),
    Flag.withDescription(`Least severe level that is logged (default ${otherwise})`),
    Flag.optional,
  )

export const jsonFlag = (description: string) =>
  Flag.Boolean("json").pipe(Flag.withDescription(description), Flag.withDefault(false))

export const portFlag = (otherwise: string) =>
  Flag.String("port").pipe(
    Flag.withMetavar("number"),
    Flag.withDescription(`Port to listen on; 0 takes a free one (default ${otherwise})`),
    Flag.withSchema(PortText),
    Flag.optional,
  )

export const hostFlag = (otherwise: string) =>
  Flag.String("host").pipe(
    Flag.withMetavar("address"),
    Flag.withDescription(`Address to listen on (default ${otherwise})`),
    Flag.withSchema(ListenText),
    Flag.optional,
  )

/** Returns the flags that were given, to override a server's settings. */
export const givenOf = <Flags extends { readonly [Key in keyof Flags]: Option.Option<unknown> }>(flags: Flags) =>
  withoutUndefined(
    Object.fromEntries(
      Object.entries<Option.Option<unknown>>(flags).map(([key, flag]) => [key, Option.getOrUndefined(flag)]),
    ),
  ) as Partial<{
    readonly [Key in keyof Flags]: Flags[Key] extends Option.Option<infer A> ? A : never
  }>
