/** Codecs for the text of variables. Messages say what was expected and never repeat the text, which may be a secret. */
import { Duration, Effect, Option, Redacted, Result, Schema, SchemaIssue, SchemaTransformation } from "effect"
import { IpNetwork, NetAddress } from "effect/net"
import { hasUser } from "../../domain/url.ts"
import { MAX_SESSION_SECONDS } from "../../domain/protocol/transcript.ts"

/** Makes a codec from text. If `parse` returns `undefined`, the error says what was `expected`. */
export const parsed = <A>(
  to: Schema.Schema<A>,
  parse: (text: string) => A | undefined,
  expected: string,
): Schema.Codec<A, string> =>
  Schema.String.pipe(
    Schema.decodeTo(
      Schema.toType(to),
      SchemaTransformation.transformEffect<A, string>({
        decode: (text) => {
          const value = parse(text)
          return value === undefined
            ? Effect.fail(new SchemaIssue.InvalidValue({ message: `expected ${expected}` }))
            : Effect.succeed(value)
        },
        encode: (value) => Effect.succeed(String(value)),
      }),
    ),
  )

/** Whether a decoded value is or may hold a secret. A URL may have a password, or a key in its query. */
export const mayHoldSecret = (value: unknown): boolean =>
  Redacted.isRedacted(value) ||
  (value instanceof URL && (hasUser(value) || value.search !== "")) ||
  (typeof value === "object" && value !== null && !Array.isArray(value) && Object.values(value).some(mayHoldSecret))

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, min: 60_000, h: 3_600_000, d: 86_400_000 }

const parseDuration = (text: string): Duration.Duration | undefined => {
  const [, amount, unit] = /^(\d+(?:\.\d+)?)\s*(ms|s|m|min|h|d)?$/.exec(text) ?? []
  if (amount !== undefined) return Duration.millis(Number(amount) * (UNITS[unit ?? "s"] ?? 1000))
  // Duration parses the long forms, such as "5 minutes". The cast is safe: `fromInput` returns none for unknown text.
  const long = Duration.fromInput(text as Duration.Input)
  return Option.isSome(long) && Duration.isFinite(long.value) ? long.value : undefined
}

/** Tolerance for floating-point errors, such as in 1.005 times 1000. */
const ROUNDING_MS = 1e-6

/** Accepts `300` and `300s` (seconds), `500ms`, `5m`, `1h`, `5 minutes`. */
export const durationText = (longest: Duration.Duration, shortest = Duration.millis(1)) =>
  parsed(
    Schema.Duration,
    (text) => {
      const duration = parseDuration(text)
      if (duration === undefined) return undefined
      const exact = Duration.toMillis(duration)
      const millis = Math.round(exact)
      const isWhole = Math.abs(exact - millis) < ROUNDING_MS
      const fits = millis >= Duration.toMillis(shortest) && millis <= Duration.toMillis(longest)
      return isWhole && fits ? Duration.millis(millis) : undefined
    },
    `a duration of whole milliseconds from ${Duration.format(shortest)} to ${Duration.format(longest)}, such as 300, 300s or 5 minutes`,
  )

/** For spans without a timer. Dates can represent the maximum of a century. */
export const DurationText = durationText(Duration.days(36_500))

/** The same, with 0 allowed. */
export const PatienceText = durationText(Duration.days(36_500), Duration.zero)

/** For timers. Node's fire at once beyond 2^31 - 1 ms (24.8 days); 24 days leave room for additions. */
export const TimerText = durationText(Duration.days(24))

/** Lifetime of a session. Clients refuse longer sessions than the maximum. */
export const SessionText = durationText(Duration.seconds(MAX_SESSION_SECONDS))

const MAX_MONTHS = 1200
const MAX_DAYS = 36_500

/** A number of days or of calendar months: `400d`, `13 months`. */
export const RetentionText = parsed(
  Schema.Union([Schema.Struct({ days: Schema.Int }), Schema.Struct({ months: Schema.Int })]),
  (text) => {
    const [, amount, unit] = /^(\d{1,5})\s*(d|days?|months?)$/i.exec(text) ?? []
    const number = Number(amount ?? 0)
    const isMonths = unit?.toLowerCase().startsWith("m") === true
    if (number < 1 || number > (isMonths ? MAX_MONTHS : MAX_DAYS)) return undefined
    return isMonths ? { months: number } : { days: number }
  },
  `1 to ${MAX_DAYS} days or 1 to ${MAX_MONTHS} months, such as 400d or 13 months`,
)

const SIZES: Readonly<Record<string, number>> = { "": 1, b: 1, kb: 1000, mb: 1_000_000, kib: 1024, mib: 1_048_576 }

/** Bytes: `1048576`, `1MiB`, `64 KiB`. */
export const BytesText = parsed(
  Schema.Int,
  (text) => {
    const [, amount, unit] = /^(\d+)\s*([a-z]*)$/i.exec(text) ?? []
    const factor = SIZES[(unit ?? "").toLowerCase()]
    const bytes = Number(amount) * (factor ?? Number.NaN)
    return Number.isSafeInteger(bytes) && bytes > 0 ? bytes : undefined
  },
  "a size above zero, such as 1048576 or 1MiB",
)

export const intText = (minimum: number, maximum: number) =>
  parsed(
    Schema.Int,
    (text) => {
      const value = /^\d+$/.test(text) ? Number(text) : Number.NaN
      return value >= minimum && value <= maximum ? value : undefined
    },
    `a whole number from ${minimum} to ${maximum}`,
  )

export const PortText = intText(0, 65_535)

export const CountText = intText(1, 1_000_000)

/** A count that may be 0. */
export const LimitText = intText(0, 1_000_000)

export const OffOrPortText = parsed(
  Schema.Union([Schema.Int, Schema.Literal("off")]),
  (text) =>
    text.toLowerCase() === "off" ? "off" : /^\d{1,5}$/.test(text) && Number(text) <= 65_535 ? Number(text) : undefined,
  "off, or a whole number from 0 to 65535",
)

/** Requests per minute. */
export const RateText = intText(0, 1_000_000_000)

export const PlainText = Schema.String

/** A secret for a header value. */
export const SecretText = parsed(
  Schema.Redacted(Schema.String),
  (text) => (/^[\x21-\x7e]+$/.test(text) ? Redacted.make(text) : undefined),
  "a secret of visible ASCII characters, without spaces or line breaks",
)

const SECRET_KEY = /^[A-Za-z0-9+/]{43}=$/

/** Keys that encrypt secrets, 32 bytes each, the newest first. */
export const SecretKeysText = parsed(
  Schema.Redacted(Schema.NonEmptyArray(Schema.String)),
  (text) => {
    const [first, ...older] = text.split(",").map((part) => part.trim())
    if (first === undefined || ![first, ...older].every((key) => SECRET_KEY.test(key))) return undefined
    return Redacted.make<readonly [string, ...Array<string>]>([first, ...older])
  },
  "32 random bytes in base64 (openssl rand -base64 32); older keys follow, separated by commas",
)

export const literalText = <const Value extends string>(...values: ReadonlyArray<Value>) =>
  parsed(
    Schema.Literals(values),
    (text) => values.find((value) => value.toLowerCase() === text.toLowerCase()),
    `one of ${values.join(", ")}`,
  )

export const FlagText = parsed(
  Schema.Boolean,
  (text) => (/^(1|true|on|yes)$/i.test(text) ? true : /^(0|false|off|no)$/i.test(text) ? false : undefined),
  "on or off",
)

/** Bits before the IPv4 address in an IPv4-mapped IPv6 address (RFC 4291 §2.5.5.2). */
const MAPPED_BITS = 96

/** Converts an IPv4-mapped IPv6 network to IPv4, as addresses are compared. */
const canonicalNetwork = (network: IpNetwork.IpNetwork): IpNetwork.IpNetwork => {
  const address = NetAddress.toCanonical(network.address)
  return NetAddress.isIpv6Address(network.address) && NetAddress.isIpv4Address(address)
    ? IpNetwork.fromAddressUnsafe(address, network.prefixLength - MAPPED_BITS)
    : network
}

/** Comma-separated values; with `keyOf`, each key at most once. */
export const listText = <A>(
  of: Schema.Schema<A>,
  parse: (part: string) => A | undefined,
  expected: string,
  keyOf?: (value: A) => unknown,
) =>
  parsed(
    Schema.Array(of),
    (text) => {
      const parts = text
        .split(",")
        .map((part) => part.trim())
        .filter((part) => part !== "")
      const values = parts.map(parse).filter((value) => value !== undefined)
      const isRepeated = keyOf !== undefined && new Set(values.map(keyOf)).size < values.length
      return values.length === parts.length && !isRepeated ? values : undefined
    },
    expected,
  )

const parseNetwork = (text: string): IpNetwork.IpNetwork | undefined => {
  const network = IpNetwork.fromString(text.includes("/") ? text : `${text}/${text.includes(":") ? 128 : 32}`)
  return Result.isSuccess(network) ? canonicalNetwork(network.success) : undefined
}

/** Comma-separated IP addresses or networks in CIDR notation. */
export const NetworksText = listText(
  Schema.declare(IpNetwork.isIpNetwork),
  parseNetwork,
  "IP addresses or networks, such as 10.0.0.0/8,192.0.2.7",
)

/** Parses a name or an address, with or without the brackets of IPv6 addresses in URLs. */
const parseHost = (text: string): string | undefined => {
  const address = /^\[.*\]$/.test(text) ? text.slice(1, -1) : text
  if (Result.isSuccess(NetAddress.ipFromString(address))) return address
  return /^[\w.-]+$/.test(text) ? text : undefined
}

export const ListenText = parsed(
  Schema.String,
  (text) => parseHost(text),
  "an address of this machine, such as 127.0.0.1, 0.0.0.0 or ::1",
)

/** Comma-separated host names and addresses; `*` allows any. */
export const HostsText = listText(
  Schema.String,
  (text) => (text === "*" ? text : parseHost(text)),
  "host names or addresses without ports, such as sealgate.example.com,10.0.0.7, or * for any",
)

/** Comma-separated origins of web pages (RFC 6454 §6.2), as browsers send them. */
export const OriginsText = listText(
  Schema.String,
  (text) => {
    if (!/^[a-z][a-z\d+.-]*:\/\/[^\s/?#@]+\/?$/i.test(text) || !URL.canParse(text)) return undefined
    const { host, origin, protocol } = new URL(text)
    // Browser extensions and apps send an origin, although the URL standard defines none for their schemes.
    return origin === "null" ? `${protocol}//${host}` : origin
  },
  "origins of web pages, such as https://app.example.com,http://localhost:5173",
)

const parseUrl = (text: string): URL | undefined =>
  URL.canParse(text) && /^https?:$/.test(new URL(text).protocol) ? new URL(text) : undefined

export const UrlText = parsed(Schema.URL, parseUrl, "an http or https URL")

/** The URL of one of our servers, which messages quote. Clients send no user and password. */
export const ServerUrlText = parsed(
  Schema.URL,
  (text) => {
    const url = parseUrl(text)
    return url === undefined || hasUser(url) ? undefined : url
  },
  "an http or https URL without user and password",
)

/** Whether a library can percent-decode the URL's user, password, host and path. If not, it fails only when it connects. */
export const isDecodable = ({ hostname, password, pathname, username }: URL): boolean =>
  Result.isSuccess(Result.try(() => decodeURIComponent([username, password, hostname, pathname].join("/"))))

/** Whether the driver can read the URL: it throws for others, which would look like a Redis that never answers. */
const isRedisUrl = (text: string): boolean => {
  if (!/^rediss?:\/\//i.test(text) || !URL.canParse(text)) return false
  const url = new URL(text)
  return isDecodable(url) && /^\/?\d*$/.test(url.pathname)
}

/** A secret, because the URL may hold a password. */
export const RedisUrlText = parsed(
  Schema.Redacted(Schema.String),
  (text) => (isRedisUrl(text) ? Redacted.make(text) : undefined),
  "a redis or rediss URL, such as redis://:password@host:6379/0, with a percent-encoded password",
)
