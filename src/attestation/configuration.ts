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
 * Checks the members that a policy restricts: `slots` (objects with `vendor` and `base_url`), `proxies` (URLs of outgoing
 * proxies) and `telemetry` (a URL or `null`). Throws an `EvidenceFailure`.
 */
export const checkConfiguration = (bytes: Uint8Array, { configuration: allowed }: EvidencePolicy): void => {
  const value = parsed(bytes)
  must(isObject(value), MALFORMED, "The configuration is not an object.")
  const { slots, proxies, telemetry } = value
  must(Array.isArray(slots) && Array.isArray(proxies), MALFORMED, "The configuration needs slots and proxies.")
  for (const slot of slots as ReadonlyArray<unknown>) {
    must(isObject(slot) && typeof slot["vendor"] === "string", MALFORMED, "A slot needs a vendor.")
    must(allowed.vendors.includes(slot["vendor"]), "configuration-vendor", "A slot's vendor is not in the policy.")
    const origin = originIn(slot["base_url"])
    must(allowed.origins.includes(origin), "configuration-origin", `The policy does not allow ${origin}.`)
  }
  for (const proxy of proxies as ReadonlyArray<unknown>) {
    const origin = originIn(proxy)
    must(allowed.origins.includes(origin), "configuration-origin", `The policy does not allow the proxy ${origin}.`)
  }
  must(telemetry !== undefined, MALFORMED, "The configuration does not say where telemetry goes.")
  if (telemetry === null) return
  const origin = originIn(telemetry)
  const named = allowed.telemetry !== "none" && allowed.telemetry.includes(origin)
  must(named, "configuration-telemetry", `The policy does not allow telemetry to ${origin}.`)
}
