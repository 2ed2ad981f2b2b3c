/** Tokens of Confidential Space under a chain of our own. */
import { sign } from "node:crypto"
import type { AcceptedSpace } from "../../../src/attestation/policy.ts"
import type { AttestationCheck } from "../../../src/attestation/verifyAttestation.ts"
import { encodeBase64Url, utf8 } from "../../../src/domain/bytes/bytes.ts"
import { type Keys, makeCertificate, makeKeys, type Subject, USAGE } from "./authority.ts"
import { BINDING, checkFor, fingerprint, NOW } from "./world.ts"

type Json = Record<string, unknown>

const ROOT: Subject = { name: "Confidential Space Root CA", keys: makeKeys("rsa") }
const INTERMEDIATE: Subject = { name: "Confidential Space Intermediate CA", keys: makeKeys("rsa") }
const LEAF_KEYS = makeKeys("rsa")

export const IMAGE = `sha256:${"ab".repeat(32)}`
export const AUDIENCE = "https://sealgate/evidence"

export const CONTAINER = { image_digest: IMAGE, args: ["node"], env: { LOG_LEVEL: "info" } }
export const SUBMODS = {
  confidential_space: { support_attributes: ["LATEST", "STABLE", "USABLE"] },
  container: CONTAINER,
  gce: { project_id: "sealgate-test" },
}

const CLAIMS: Json = {
  iss: "https://confidentialcomputing.googleapis.com",
  aud: AUDIENCE,
  iat: NOW - 1,
  nbf: NOW - 1,
  exp: NOW + 3600,
  eat_nonce: encodeBase64Url(BINDING),
  dbgstat: "disabled-since-boot",
  secboot: true,
  swname: "CONFIDENTIAL_SPACE",
  swversion: ["250301"],
  hwmodel: "GCP_INTEL_TDX",
  tdx: { gcp_attester_tcb_status: "UpToDate", gcp_attester_tcb_date: "2025-03-13T00:00:00Z" },
  submods: SUBMODS,
}

export interface SpaceWish {
  readonly claims?: Json
  readonly header?: Json
  readonly leafKeys?: Keys
  /** Changes the chain, from leaf to root. */
  readonly chain?: (chain: ReadonlyArray<string>) => unknown
  /** Changes the token after it was signed. */
  readonly afterwards?: (token: string) => string
  readonly accept?: Partial<AcceptedSpace>
  readonly check?: (check: AttestationCheck) => AttestationCheck
}

const part = (value: unknown): string => encodeBase64Url(utf8(JSON.stringify(value)))
const base64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString("base64")

/** A token that passes, with the wished changes. */
export const space = (wish: SpaceWish = {}): AttestationCheck => {
  const { leafKeys = LEAF_KEYS } = wish
  const root = makeCertificate(ROOT, ROOT, { serial: 1, authority: true, usage: USAGE.both })
  const intermediate = makeCertificate(INTERMEDIATE, ROOT, { authority: true, usage: USAGE.both })
  const leaf = makeCertificate({ name: "Confidential Space Leaf Certificate", keys: leafKeys }, INTERMEDIATE)
  const chain = [leaf, intermediate, root].map(base64)
  const header = { alg: "RS256", typ: "JWT", x5c: wish.chain?.(chain) ?? chain, ...wish.header }
  const signed = `${part(header)}.${part({ ...CLAIMS, ...wish.claims })}`
  const token = `${signed}.${encodeBase64Url(sign("sha256", utf8(signed), leafKeys.privateKey))}`
  const accept: AcceptedSpace = {
    format: "confidential-space",
    image_digests: [IMAGE],
    hardware: ["GCP_INTEL_TDX"],
    audience: AUDIENCE,
    environment: [],
    ...wish.accept,
  }
  const check = checkFor(
    { format: "confidential-space", report: utf8(wish.afterwards?.(token) ?? token) },
    { collateral: { kind: "none" }, accept, roots: { confidentialSpace: fingerprint(root) } },
  )
  return wish.check?.(check) ?? check
}
