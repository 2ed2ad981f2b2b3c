/** Fetches collateral from AMD and Intel, for verifiers on Node. */
import type { CollateralSource } from "../attestation/collateral.ts"
import { fetchAmdCollateral, vcekUrl } from "./amd.ts"
import { boundedGet, type Get } from "./boundedGet.ts"
import { fetchIntelCollateral } from "./intel.ts"
import { keptDocuments } from "./keptDocuments.ts"

/**
 * A source that fetches from the vendors over HTTPS: each VCEK once, everything else each time. While a service is
 * unavailable, it returns that service's last answer, for 24 hours. `get` replaces `fetch` in tests.
 *
 * @param clock milliseconds
 */
export const vendorCollateral = (get: Get = fetch, clock: () => number = Date.now): CollateralSource => {
  const kept = keptDocuments(clock)
  return {
    collateralFor: async (need, signal) => {
      const documents = kept.documents(boundedGet(get, signal), signal)
      if (need.kind === "amd") return fetchAmdCollateral(need, documents)
      return need.kind === "intel" ? fetchIntelCollateral(need, documents) : { kind: "none" }
    },
    refused: (need) => {
      if (need.kind === "amd") kept.forget(vcekUrl(need))
    },
  }
}
