/** Which proxy or gateway a command is about, and whom to believe there. */
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

/** First names of paths below a server's address: its pages, and its APIs. */
const BELOW: ReadonlySet<string> = new Set(["console", "docs", "v1", "api"])

/** A server's address, from that of a page or an API on it: consoles and base URLs are what one has in the clipboard. */
const serverOf = (url: URL): URL => {
  const server = new URL(url)
  const names = url.pathname.split("/")
  const page = names.findIndex((name) => BELOW.has(name))
  if (page >= 0) server.pathname = `${names.slice(0, page).join("/")}/`
  server.search = ""
  server.hash = ""
  return server
}

/** The pin that a link to a proxy's console carries. */
const pinIn = ({ hash }: URL): ReadonlyArray<string> => {
  const pin = new URLSearchParams(hash.slice(1)).get("pin") ?? ""
  return isPin(pin) ? [pin] : []
}

interface TrustInput {
  readonly proxy: Option.Option<URL>
  readonly pin: ReadonlyArray<string>
  readonly trustOnFirstUse?: boolean
}

/** The pin of this folder's own proxy, if that is the one that is asked. */
const ownPin = Effect.fnUntraced(function* (proxy: URL) {
  if (!isLoopback(hostName(proxy.host))) return []
  const file = yield* attestationKeyFile
  const pin = yield* Effect.option(pinOfFile(file))
  if (Option.isNone(pin)) return []
  yield* Console.error(dimOnStderr(`(pinned: ${pin.value}, the key of the proxy in this folder, ${file})`))
  return [pin.value]
})

/** The proxy, and the pins that count: those given, of a console's link, of the settings, of this folder's own key. */
export const proxyAndPins = Effect.fnUntraced(function* (input: TrustInput) {
  const settings = yield* clientValues({ proxy: clientSettings.proxy, pin: clientSettings.pin })
  const given = Option.getOrUndefined(input.proxy) ?? settings.proxy ?? new URL(DEFAULT_PROXY)
  const proxy = serverOf(given)
  for (const pins of [input.pin, pinIn(given), settings.pin ?? []]) if (pins.length > 0) return { proxy, pins }
  return { proxy, pins: input.trustOnFirstUse === true ? [] : yield* ownPin(proxy) }
})

/** The same for commands that seal: nothing may be sealed to just anybody. */
export const trustedProxy = Effect.fnUntraced(function* (input: TrustInput & { readonly trustOnFirstUse: boolean }) {
  const { pins, proxy } = yield* proxyAndPins(input)
  if (pins.length === 0 && !input.trustOnFirstUse) {
    return yield* unusable(
      "Whom to believe? Give --pin (or SEALGATE_PIN) with the pin of the proxy: it prints it at start, and its operator " +
        "knows it. To try things out, --trust-on-first-use believes whoever answers first.",
    )
  }
  return { proxy, pins }
})

/** The gateway's address. */
export const gatewayAddress = Effect.fnUntraced(function* (given: Option.Option<URL>) {
  const { gateway } = yield* clientValues({ gateway: clientSettings.gateway })
  return serverOf(Option.getOrUndefined(given) ?? gateway ?? new URL(DEFAULT_GATEWAY))
})
