/** Compares the attested configuration with a policy, because genuine code with another base URL could send prompts anywhere. */
import { parseIJson } from "../domain/json/iJson.ts"
import { isObject, type JsonObject } from "../domain/json/json.ts"
import { withoutSlashes } from "../domain/url.ts"
import { EvidenceFailure, must } from "./failure.ts"
import type { AcceptedConfiguration, AcceptedProvider } from "./policy.ts"

const MALFORMED = "configuration-malformed"

const parsed = (bytes: Uint8Array): unknown => {
  try {
    return parseIJson(bytes)
  } catch {
    throw new EvidenceFailure(MALFORMED, "The configuration is not I-JSON.")
  }
}

/** Exactly the given members: a policy cannot judge unknown ones. */
const membersOf = (value: unknown, names: ReadonlyArray<string>, where: string): JsonObject => {
  must(isObject(value), MALFORMED, `The configuration's ${where} is not an object.`)
  const missing = names.find((name) => !(name in value))
  must(missing === undefined, MALFORMED, `The configuration's ${where} lacks ${missing}.`)
  const unknown = Object.keys(value).find((name) => !names.includes(name))
  must(
    unknown === undefined,
    MALFORMED,
    `The configuration's ${where} has the unknown member ${JSON.stringify(unknown)}.`,
  )
  return value
}

const listIn = (value: unknown, where: string): ReadonlyArray<unknown> => {
  must(Array.isArray(value), MALFORMED, `The configuration's ${where} is not a list.`)
  return value
}

const textIn = (value: unknown, where: string): string => {
  must(typeof value === "string", MALFORMED, `The configuration's ${where} is not text.`)
  return value
}

const originIn = (value: unknown, where: string): string => {
  const url = textIn(value, where)
  must(URL.canParse(url), MALFORMED, `The configuration's ${where} is not a URL.`)
  return new URL(url).origin
}

const checkSoftware = (configuration: JsonObject, { software }: AcceptedConfiguration): void => {
  const version = textIn(configuration["software"], "software")
  const digest = textIn(configuration["software_digest"], "software_digest")
  const isKnown = software.some((each) => each.version === version && each.digest === digest)
  must(isKnown, "configuration-software", `The policy does not know ${version} of digest ${digest}.`)
}

const pinsIn = (value: unknown): AcceptedProvider["sealed_pins"] =>
  value === null ? null : listIn(value, "sealed_pins").map((pin) => textIn(pin, "sealed_pins"))

/** Canonical form of a base URL: calls append an endpoint's path with one slash. */
const baseOf = (url: string): string => withoutSlashes(URL.canParse(url) ? new URL(url).href : url)

/** Canonical form of a set of pins, whose order does not matter. */
const setOf = (pins: AcceptedProvider["sealed_pins"]): string => JSON.stringify(pins && [...new Set(pins)].toSorted())

const checkProviders = (value: unknown, { providers }: AcceptedConfiguration): void => {
  for (const each of listIn(value, "providers")) {
    const provider = membersOf(each, ["slot", "vendor", "base_url", "sealed_pins"], "providers")
    const [vendor, url] = [textIn(provider["vendor"], "vendor"), textIn(provider["base_url"], "base_url")]
    const pins = pinsIn(provider["sealed_pins"])
    const isAllowed = providers.some(
      (known) =>
        known.vendor === vendor && baseOf(known.base_url) === baseOf(url) && setOf(known.sealed_pins) === setOf(pins),
    )
    const sealing = pins === null ? "unsealed" : `sealed to ${pins.join(", ")}`
    must(isAllowed, "configuration-provider", `The policy does not allow ${vendor} at ${url}, ${sealing}.`)
  }
}

const checkProxies = (value: unknown, { outgoing_proxies: allowed }: AcceptedConfiguration): void => {
  const { http, https } = membersOf(value, ["http", "https", "except"], "outgoing_proxies")
  for (const proxy of [http, https]) {
    if (proxy === null) continue
    const origin = originIn(proxy, "outgoing_proxies")
    must(allowed.includes(origin), "configuration-proxy", `The policy does not allow the proxy ${origin}.`)
  }
}

const checkTelemetry = (value: unknown, { telemetry }: AcceptedConfiguration): void => {
  for (const each of listIn(value, "telemetry")) {
    const origin = originIn(each, "telemetry")
    const isNamed = telemetry !== "none" && telemetry.includes(origin)
    must(isNamed, "configuration-telemetry", `The policy does not allow telemetry to ${origin}.`)
  }
}

const checkNode = (value: unknown, { node }: AcceptedConfiguration): void => {
  const { flags, version } = membersOf(value, ["version", "flags"], "node")
  const isKnown = node.versions.includes(textIn(version, "version"))
  must(isKnown, "configuration-node", "The policy does not allow this version of Node.")
  const flag = listIn(flags, "flags").find((each) => !node.flags.includes(textIn(each, "flags")))
  must(flag === undefined, "configuration-node", `The policy does not allow Node's option ${String(flag)}.`)
}

const MEMBERS = [
  "software",
  "software_digest",
  "providers",
  "extra_ca",
  "outgoing_proxies",
  "telemetry",
  "asks_for_credentials",
  "redis",
  "node",
  "key_storage",
]

/** Checks the I-JSON of docs/protocol/evidence.md ("Configuration"). Throws an `EvidenceFailure`. */
export const checkConfiguration = (bytes: Uint8Array, allowed: AcceptedConfiguration): void => {
  const configuration = membersOf(parsed(bytes), MEMBERS, "document")
  checkSoftware(configuration, allowed)
  checkProviders(configuration["providers"], allowed)
  checkProxies(configuration["outgoing_proxies"], allowed)
  checkTelemetry(configuration["telemetry"], allowed)
  const { extra_ca: ca } = configuration
  const isAllowedCa = ca === null || allowed.extra_ca.includes(textIn(ca, "extra_ca"))
  must(isAllowedCa, "configuration-extra-ca", "The policy does not allow the extra certificate authorities.")
  checkNode(configuration["node"], allowed)
  const storage = textIn(configuration["key_storage"], "key_storage")
  must(
    allowed.key_storage.includes(storage),
    "configuration-key-storage",
    `The policy does not allow keys in ${storage}.`,
  )
}
