/** Layouts of evidence (docs/protocol/evidence.md): the bytes that bind it to key, configuration and nonces. */
import { type Bytes, concat, utf8 } from "../bytes/bytes.ts"

export const EVIDENCE_NONCE_BYTES = 32

const LABEL = utf8("sealgate evidence 1")
const LEAF = Uint8Array.of(0)
const NODE = Uint8Array.of(1)

/** SHA-256 of this is D: the value that the hardware signs. Each of the three has 32 bytes. */
export const bindingInput = (kid: Uint8Array, configurationHash: Uint8Array, root: Uint8Array): Bytes =>
  concat(LABEL, kid, configurationHash, root)

/** SHA-256 of this is a leaf of the tree of nonces (RFC 6962 §2.1). */
export const leafInput = (nonce: Uint8Array): Bytes => concat(LEAF, nonce)

/** SHA-256 of this is an inner node (RFC 6962 §2.1). */
export const nodeInput = (left: Uint8Array, right: Uint8Array): Bytes => concat(NODE, left, right)

/**
 * On which side each sibling of a path stands, from the leaf upwards, in a tree over `size` nonces of which `index` is one.
 * A node without a sibling moves up unchanged, which equals the tree of RFC 6962 §2.1.
 */
export const siblingSides = (index: number, size: number): ReadonlyArray<"left" | "right"> => {
  const sides: Array<"left" | "right"> = []
  for (let [at, last] = [index, size - 1]; last > 0; [at, last] = [Math.floor(at / 2), Math.floor(last / 2)]) {
    if (at % 2 === 1) sides.push("left")
    else if (at < last) sides.push("right")
  }
  return sides
}

/** Formats of evidence. `dstack` is TDX with the event log of dstack. */
export const EVIDENCE_FORMATS = ["dstack", "tdx", "sev-snp", "confidential-space"] as const
export type EvidenceFormat = (typeof EVIDENCE_FORMATS)[number]

/** Formats whose reports have 64 bytes of report data. */
export type ReportDataFormat = Exclude<EvidenceFormat, "confidential-space">

const TDX_QUOTE_5 = 5

/**
 * Position of the report data. AMD 56860, table 23; Intel TDX DCAP quoting library API, A.3 and A.4: quotes of version 5, the
 * number in their first two bytes, have type and size of the body before it.
 */
export const reportDataAt = (format: ReportDataFormat, report: Uint8Array): number => {
  if (format === "sev-snp") return 80
  return report[0] === TDX_QUOTE_5 && report[1] === 0 ? 574 : 568
}

/** Report data of TDX and SEV-SNP: D and 32 zero bytes. */
export const reportData = (binding: Uint8Array): Bytes => concat(binding, new Uint8Array(32))

/** The way from one nonce to the root (RFC 6962 §2.1.1). */
interface EvidencePath {
  /** Position of the nonce, from 0. */
  readonly index: number
  /** Number of nonces in the tree. */
  readonly size: number
  /** base64url of 32 bytes each, from the leaf upwards. */
  readonly hashes: ReadonlyArray<string>
}

/** The answer to `POST /v1/evidence`. */
export interface EvidenceAnswer {
  readonly format: EvidenceFormat
  /** The proxy's attestation key. */
  readonly kid: string
  /** base64url of I-JSON. Its bytes are hashed. */
  readonly configuration: string
  /** base64url of the report, the quote or the token. */
  readonly report: string
  /** base64url of the collateral that the machine supplies, if any. */
  readonly collateral?: string
  readonly path: EvidencePath
}
