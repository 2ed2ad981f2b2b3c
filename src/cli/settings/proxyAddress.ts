/** Resolves the proxy or gateway of a command, and the pins to trust. */
import { Console, Effect, Option } from "effect"
import { hostName, isLoopback } from "../../domain/access/hostName.ts"
import { clientSettings } from "../../layers/config/clientSettings.ts"
import { clientValues } from "./clientValues.ts"
import { unusable } from "../CommandFailed.ts"
import { isPin } from "../flags.ts"
import { dimOnStderr } from "../terminal.ts"
import { attestationKeyFile, pinOfFile } from "./ownKey.ts"

const DEFAULT_PROXY = "http://localhost:3001"
export const DEFAULT_GATEWAY = "http://localhost:3000"

/** First path segments of a server's pages and APIs. */
const BELOW: ReadonlySet<string> = new Set(["console", "docs", "v1", "api"])

/** Returns a server's URL, also from the URL of its console or API, which users copy. */
const serverOf = (url: URL): URL => {
  const server = new URL(url)
  const names = url.pathname.split("/")
  const page = names.findIndex((name) => BELOW.has(name))
  if (page >= 0) server.pathname = `${names.slice(0, page).join("/")}/`
  server.search = ""
  server.hash = ""
  return server
}

const pinIn = ({ hash }: URL): ReadonlyArray<string> => {
  const pin = new URLSearchParams(hash.slice(1)).get("pin") ?? ""
  return isPin(pin) ? [pin] : []
}

interface TrustInput {
  readonly proxy: Option.Option<URL>
  readonly pin: ReadonlyArray<string>
  readonly trustOnFirstUse?: boolean
}

export const folderPin = Effect.gen(function* () {
  const file = yield* attestationKeyFile
  const pin = yield* Effect.option(pinOfFile(file))
  if (Option.isNone(pin)) return []
  yield* Console.error(dimOnStderr(`(pinned: ${pin.value}, the key of the proxy in this folder, ${file})`))
  return [pin.value]
})

const ownPin = (proxy: URL) => (isLoopback(hostName(proxy.host)) ? folderPin : Effect.succeed([]))

/** Resolves the proxy and its pins: from flags, else the console's link, else the settings, else this folder's key. */
export const proxyAndPins = Effect.fnUntraced(function* (input: TrustInput) {
  const settings = yield* clientValues({ proxy: clientSettings.proxy, pin: clientSettings.pin })
  const given = Option.getOrUndefined(input.proxy) ?? settings.proxy ?? new URL(DEFAULT_PROXY)
  const proxy = serverOf(given)
  for (const pins of [input.pin, pinIn(given), settings.pin ?? []]) if (pins.length > 0) return { proxy, pins }
  return { proxy, pins: input.trustOnFirstUse === true ? [] : yield* ownPin(proxy) }
})

/** The same for commands that seal. Fails without pins, unless a policy or the first key is trusted. */
export const trustedProxy = Effect.fnUntraced(function* (
  input: TrustInput & { readonly trustOnFirstUse: boolean; readonly policy?: Option.Option<string> },
) {
  const { pins, proxy } = yield* proxyAndPins(input)
  const hasPolicy = input.policy !== undefined && Option.isSome(input.policy)
  if (pins.length === 0 && !input.trustOnFirstUse && !hasPolicy) {
    return yield* unusable(
      "The proxy's pin is missing: give --pin (or SEALGATE_PIN). The proxy prints its pin at start, and its operator knows " +
        "it. For trials, --trust-on-first-use trusts the first key that answers.",
    )
  }
  return { proxy, pins }
})

export const gatewayAddress = Effect.fnUntraced(function* (given: Option.Option<URL>) {
  const { gateway } = yield* clientValues({ gateway: clientSettings.gateway })
  return serverOf(Option.getOrUndefined(given) ?? gateway ?? new URL(DEFAULT_GATEWAY))
})
