/** Fetches collateral from AMD and Intel, for verifiers on Node. */
import type { CollateralSource } from "../attestation/collateral.ts"
import { fetchAmdCollateral } from "./amd.ts"
import { boundedGet, type Get } from "./boundedGet.ts"
import { fetchIntelCollateral } from "./intel.ts"

/** A source that asks the vendors each time, over HTTPS; `get` replaces `fetch` in tests. */
export const vendorCollateral = (get: Get = fetch): CollateralSource => ({
  collateralFor: async (need, signal) => {
    const bounded = boundedGet(get, signal)
    if (need.kind === "amd") return fetchAmdCollateral(need, bounded)
    return need.kind === "intel" ? fetchIntelCollateral(need, bounded) : { kind: "none" }
  },
})
