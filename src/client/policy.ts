/**
 * `sealgate-client/policy`: reads policies, which say what code a client seals to. A separate entry point: it needs Node's
 * crypto, and only its users load it.
 */
export type { EvidencePolicy } from "../attestation/policy.ts"
export type { Policy, ProvenCode } from "./attestation/Policy.ts"
export { policyOf, readPolicy, type PolicyOptions } from "./attestation/readPolicy.ts"
