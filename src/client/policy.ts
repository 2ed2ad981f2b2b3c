/** `sealgate-client/policy`: reads policies. A separate entry point, because it needs Node's crypto. */
export type { EvidencePolicy } from "../attestation/policy.ts"
export type { Policy, ProvenCode } from "./attestation/Policy.ts"
export { policyOf, readPolicy, type PolicyOptions } from "./attestation/readPolicy.ts"
