/**
 * `sealgate-client/policy`: reads policies, which say what code a client seals to. Apart from the client, because it needs
 * Node's crypto and costs nothing unless it is used.
 */
export type { EvidencePolicy } from "../attestation/policy.ts"
export type { Policy, ProvenCode } from "./attestation/Policy.ts"
export { policyOf, readPolicy, type PolicyOptions } from "./attestation/readPolicy.ts"
