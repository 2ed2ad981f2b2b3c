/** Compares the attested configuration with a policy: genuine code with another base URL sends prompts anywhere. */
import { isObject } from "../domain/json/json.ts"
import { parseIJson } from "../domain/json/iJson.ts"
import { EvidenceFailure, must } from "./failure.ts"
import type { EvidencePolicy } from "./policy.ts"

const MALFORMED = "configuration-malformed"

const parsed = (bytes: Uint8Array): unknown => {
  try {
    return parseIJson(bytes)
  } catch {
    throw new EvidenceFailure(MALFORMED, "The configuration is not I-JSON.")
  }
}

const originIn = (url: unknown): string => {
  must(typeof url === "string" && URL.canParse(url), MALFORMED, "The configuration has a URL that is malformed.")
  return new URL(url).origin
}

/**
 * Checks the members that a policy restricts: `providers` (objects with `vendor` and `base_url`), `outgoing_proxies` (URLs or
 * `null` in `http` and `https`) and `telemetry` (URLs). Throws an `EvidenceFailure`.
 */
export const checkConfiguration = (bytes: Uint8Array, { configuration: allowed }: EvidencePolicy): void => {
  const value = parsed(bytes)
  must(isObject(value), MALFORMED, "The configuration is not an object.")
  const { outgoing_proxies: proxies, providers, telemetry } = value
  must(
    Array.isArray(providers) && isObject(proxies) && Array.isArray(telemetry),
    MALFORMED,
    "The configuration needs providers, outgoing_proxies and telemetry.",
  )
  for (const provider of providers as ReadonlyArray<unknown>) {
    must(isObject(provider) && typeof provider["vendor"] === "string", MALFORMED, "A provider needs a vendor.")
    must(allowed.vendors.includes(provider["vendor"]), "configuration-vendor", "A vendor is not in the policy.")
    const origin = originIn(provider["base_url"])
    must(allowed.origins.includes(origin), "configuration-origin", `The policy does not allow ${origin}.`)
  }
  for (const proxy of [proxies["http"], proxies["https"]]) {
    if (proxy === null) continue
    const origin = originIn(proxy)
    must(allowed.origins.includes(origin), "configuration-origin", `The policy does not allow the proxy ${origin}.`)
  }
  for (const url of telemetry as ReadonlyArray<unknown>) {
    const origin = originIn(url)
    const named = allowed.telemetry !== "none" && allowed.telemetry.includes(origin)
    must(named, "configuration-telemetry", `The policy does not allow telemetry to ${origin}.`)
  }
}
