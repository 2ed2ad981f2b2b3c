import { Option, Schema } from "effect"
import { Flag } from "effect/cli"
import { ListenText, parsed, PortText, ServerUrlText } from "../layers/config/codecs.ts"
import { withoutUndefined } from "../domain/json/withoutUndefined.ts"
import { LOG_LEVELS } from "../layers/config/serverSettings.ts"

export const switchFlag = (name: string, description: string) =>
  Flag.Boolean(name).pipe(Flag.withDescription(description), Flag.withDefault(false))

/** A required flag with a value. `metavar` names the value in help. */
export const valueFlag = <A>(name: string, metavar: string, description: string, codec: Schema.Codec<A, string>) =>
  Flag.String(name).pipe(Flag.withMetavar(metavar), Flag.withDescription(description), Flag.withSchema(codec))

export const optionalFlag = <A>(name: string, metavar: string, description: string, codec: Schema.Codec<A, string>) =>
  valueFlag(name, metavar, description, codec).pipe(Flag.optional)

export const isPin = (text: string): boolean => /^[A-Za-z0-9_-]{43}$/.test(text)

/** The id of a key, which is its thumbprint. */
export const PinText = parsed(
  Schema.String,
  (text) => (isPin(text) ? text : undefined),
  "43 characters of A-Z a-z 0-9 _ -, as `sealgate pin` prints them",
)

export const proxyFlag = optionalFlag(
  "proxy",
  "url",
  "URL of the sealed proxy or of its console (default SEALGATE_PROXY, else http://localhost:3001)",
  ServerUrlText,
)

export const pinsFlag = valueFlag(
  "pin",
  "pin",
  "Id of the proxy's key; only a proxy with this key is trusted. The proxy prints it at start; ask its operator. May be " +
    "repeated while keys are rotated (default SEALGATE_PIN; for a proxy on this machine, the key in this folder)",
  PinText,
).pipe(Flag.atLeast(0))

/** Flags whose value is the id of a key. */
const OF_KEYS: ReadonlySet<string | undefined> = new Set(["--pin", "--policy-signer"])

/** Returns the arguments before `--`: those after it are another command's. */
export const ownArgs = (args: ReadonlyArray<string>): ReadonlyArray<string> =>
  args.includes("--") ? args.slice(0, args.indexOf("--")) : args

/** Rewrites `--pin -x…` to `--pin=-x…`: one pin in 64 begins with a dash and would be parsed as a flag. */
export const joinPins = (args: ReadonlyArray<string>): ReadonlyArray<string> => {
  const own = ownArgs(args)
  const joined = own.flatMap((arg, i) => {
    const next = own[i + 1]
    if (OF_KEYS.has(arg) && next !== undefined && isPin(next)) return [`${arg}=${next}`]
    return i > 0 && OF_KEYS.has(own[i - 1]) && isPin(arg) ? [] : [arg]
  })
  return [...joined, ...args.slice(own.length)]
}

/** Rewrites `sealgate help chat` to `sealgate chat --help`. */
export const askedForHelp = (args: ReadonlyArray<string>): ReadonlyArray<string> =>
  args[0] === "help" ? [...args.slice(1), "--help"] : args

export const trustOnFirstUseFlag = switchFlag(
  "trust-on-first-use",
  "For trials without --pin: trust the first key that answers, and only that key from then on",
)

/** `otherwise` describes the default. */
export const logLevelFlag = (otherwise: string) =>
  Flag.Literals("log-level", LOG_LEVELS).pipe(
    Flag.withMetavar("level"),
    Flag.withDescription(`Least severe level that is logged (default ${otherwise})`),
    Flag.optional,
  )

export const jsonFlag = (description: string) => switchFlag("json", description)

export const portFlag = (otherwise: string) =>
  optionalFlag("port", "number", `Port to listen on; 0 takes a free one (default ${otherwise})`, PortText)

export const hostFlag = (otherwise: string) =>
  optionalFlag("host", "address", `Address to listen on (default ${otherwise})`, ListenText)

export const serverFlags = (port: number) => ({
  port: portFlag(`PORT, else ${port}`),
  host: hostFlag("HOST, else 0.0.0.0"),
  logLevel: logLevelFlag("LOG_LEVEL"),
})

export interface ServerFlags {
  readonly port: Option.Option<number>
  readonly host: Option.Option<string>
  readonly logLevel: Option.Option<(typeof LOG_LEVELS)[number]>
}

export const givenOf = <Given extends object>(flags: {
  readonly [Key in keyof Given]: Option.Option<Given[Key]>
}) =>
  withoutUndefined(
    Object.fromEntries(
      Object.entries<Option.Option<unknown>>(flags).map(([key, flag]) => [key, Option.getOrUndefined(flag)]),
    ),
  ) as Partial<Given>
