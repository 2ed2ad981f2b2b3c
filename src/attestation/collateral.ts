/** Documents of hardware vendors with which a report is verified. The verifier fetches them from a `CollateralSource`. */
import { type Bytes, decodeBase64Url, encodeBase64Url } from "../domain/bytes/bytes.ts"
import { isObject, type JsonObject } from "../domain/json/json.ts"
import { must } from "./failure.ts"
import type { SnpTcb, TcbUpdate } from "./policy.ts"
import type { AmdProduct } from "./roots.ts"

/** Identifies the collateral of one report. Nothing in it is verified yet. */
export type CollateralNeed =
  | {
      readonly kind: "amd"
      readonly product: AmdProduct
      readonly signer: "vcek" | "vlek"
      /** DER of the VLEK, which AMD does not publish, or of the report's VCEK, if the machine handed it out. */
      readonly leaf: Bytes | undefined
      /** As in AMD's URLs: 64 bytes as lower-case hexadecimal, on Turin 8. */
      readonly chip: string
      readonly tcb: Required<SnpTcb>
    }
  | {
      readonly kind: "intel"
      /** 6 bytes as lower-case hexadecimal. */
      readonly fmspc: string
      /** Authority that issued the PCK certificate. */
      readonly authority: "platform" | "processor"
      readonly update: TcbUpdate
    }
  | { readonly kind: "none" }

/** All certificates and lists are DER. */
export interface AmdCollateral {
  readonly kind: "amd"
  /** VCEK or VLEK, ASK or ASVK, and ARK. */
  readonly chain: readonly [leaf: Bytes, intermediate: Bytes, root: Bytes]
  /** The ARK's revocation list. */
  readonly crl: Bytes
}

/** Signed JSON of Intel (PCS API v4). */
export interface IntelDocument {
  /** The exact text that the signature covers. */
  readonly text: string
  /** R and S, 32 bytes each. */
  readonly signature: Bytes
  /** PEM: TCB signing certificate, root. */
  readonly issuerChain: string
}

/** Revocation lists are DER. */
export interface IntelCollateral {
  readonly kind: "intel"
  readonly rootCrl: Bytes
  /** Of the authority that issued the PCK certificate. */
  readonly pckCrl: Bytes
  readonly tcbInfo: IntelDocument
  readonly qeIdentity: IntelDocument
}

/** `none`: a token of Confidential Space carries its certificates. */
export type Collateral = AmdCollateral | IntelCollateral | { readonly kind: "none" }

/** Gets collateral, such as from the vendors' services. Implementations live outside of this folder, which is pure. */
export interface CollateralSource {
  /** Rejects with an `EvidenceFailure` of code `collateral-unavailable`. */
  readonly collateralFor: (need: CollateralNeed, signal?: AbortSignal) => Promise<Collateral>
  /** Called if verification with this collateral failed. The source then fetches again what it would have reused. */
  readonly refused?: (need: CollateralNeed) => void
}

/** Largest member of collateral, in characters of its JSON form. */
const MAX_MEMBER = 512 * 1024

export const MALFORMED = "collateral-malformed"

export const textIn = (object: JsonObject, name: string): string => {
  const value = object[name]
  must(typeof value === "string" && value.length <= MAX_MEMBER, MALFORMED, `The collateral's ${name} is missing.`)
  return value
}

export const hexIn = (object: JsonObject, name: string): Buffer<ArrayBuffer> => {
  const text = textIn(object, name)
  must(/^(?:[0-9a-fA-F]{2})*$/.test(text), MALFORMED, `The collateral's ${name} is not hexadecimal.`)
  return Buffer.from(text, "hex")
}

const base64UrlIn = (object: JsonObject, name: string): Bytes => {
  const bytes = decodeBase64Url(textIn(object, name))
  must(bytes !== undefined, MALFORMED, `The collateral's ${name} is not base64url.`)
  return bytes
}

const documentIn = (object: JsonObject, name: "tcb_info" | "qe_identity"): IntelDocument => ({
  text: textIn(object, name),
  signature: hexIn(object, `${name}_signature`),
  issuerChain: textIn(object, `${name}_issuer_chain`),
})

/** Decodes the JSON value of {@link encodeCollateral}. Throws `collateral-malformed`. */
export const decodeCollateral = (value: unknown): Collateral => {
  must(isObject(value), MALFORMED, "The collateral is not a JSON object.")
  const { kind } = value
  if (kind === "none") return { kind }
  if (kind === "amd") {
    const certificate = (name: "leaf" | "intermediate" | "root") => base64UrlIn(value, name)
    const chain = [certificate("leaf"), certificate("intermediate"), certificate("root")] as const
    return { kind, chain, crl: base64UrlIn(value, "crl") }
  }
  must(kind === "intel", MALFORMED, "The collateral's kind is unknown.")
  return {
    kind,
    rootCrl: hexIn(value, "root_ca_crl"),
    pckCrl: hexIn(value, "pck_crl"),
    tcbInfo: documentIn(value, "tcb_info"),
    qeIdentity: documentIn(value, "qe_identity"),
  }
}

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex")

/** JSON value to keep collateral beside evidence. Members of `intel` are named as Intel's quote verification library does. */
export const encodeCollateral = (collateral: Collateral): JsonObject => {
  if (collateral.kind === "none") return collateral
  if (collateral.kind === "amd") {
    const [leaf, intermediate, root] = collateral.chain.map(encodeBase64Url)
    return { kind: "amd", leaf, intermediate, root, crl: encodeBase64Url(collateral.crl) }
  }
  const { tcbInfo, qeIdentity } = collateral
  return {
    kind: "intel",
    root_ca_crl: hex(collateral.rootCrl),
    pck_crl: hex(collateral.pckCrl),
    tcb_info: tcbInfo.text,
    tcb_info_signature: hex(tcbInfo.signature),
    tcb_info_issuer_chain: tcbInfo.issuerChain,
    qe_identity: qeIdentity.text,
    qe_identity_signature: hex(qeIdentity.signature),
    qe_identity_issuer_chain: qeIdentity.issuerChain,
  }
}
