/** Collateral of TDX from Intel's Provisioning Certification Service (PCS API v4). */
import type { CollateralNeed, IntelCollateral, IntelDocument } from "../attestation/collateral.ts"
import { EvidenceFailure } from "../attestation/failure.ts"
import { type Bytes, fromUtf8 } from "../domain/bytes/bytes.ts"
import type { Got } from "./boundedGet.ts"
import { derIn, type Documents } from "./keptDocuments.ts"

const SERVICE = "https://api.trustedservices.intel.com"
const ROOT_CRL = "https://certificates.trustedservices.intel.com/IntelSGXRootCA.der"
const LIMIT = { document: 256 * 1024, crl: 1024 * 1024 }

type IntelNeed = Extract<CollateralNeed, { readonly kind: "intel" }>

const unexpected = (problem: string) =>
  new EvidenceFailure("collateral-unavailable", `Intel's service answered with ${problem}.`)

/** The chain that a header has in percent-encoding. */
const chainIn = ({ headers }: Got, name: string): string => {
  try {
    return decodeURIComponent(headers.get(name) ?? "")
  } catch {
    throw unexpected(`a malformed header ${name}`)
  }
}

/** The signature covers the member's text, so it must not be parsed and written again. */
const DOCUMENT =
  /^\s*\{\s*"(tcbInfo|enclaveIdentity)"\s*:\s*(\{.*\})\s*,\s*"signature"\s*:\s*"([0-9a-fA-F]+)"\s*\}\s*$/s

const documentIn =
  (member: "tcbInfo" | "enclaveIdentity", header: string) =>
  (got: Got): IntelDocument => {
    const [, name, text, signature] = DOCUMENT.exec(textOf(got.body)) ?? []
    if (name !== member || text === undefined || signature === undefined) throw unexpected(`no signed ${member}`)
    return { text, signature: Uint8Array.from(Buffer.from(signature, "hex")), issuerChain: chainIn(got, header) }
  }

const textOf = (bytes: Bytes): string => {
  try {
    return fromUtf8(bytes)
  } catch {
    throw unexpected("text that is not UTF-8")
  }
}

const tcbInfoIn = documentIn("tcbInfo", "TCB-Info-Issuer-Chain")
const qeIdentityIn = documentIn("enclaveIdentity", "SGX-Enclave-Identity-Issuer-Chain")

/** Rejects with `collateral-unavailable`. Nothing in the result is verified. */
export const fetchIntelCollateral = async (
  { fmspc, authority, update }: IntelNeed,
  { latest }: Documents,
): Promise<IntelCollateral> => {
  const [tcbInfo, qeIdentity, pckCrl, rootCrl] = await Promise.all([
    latest(`${SERVICE}/tdx/certification/v4/tcb?fmspc=${fmspc}&update=${update}`, LIMIT.document, tcbInfoIn),
    latest(`${SERVICE}/tdx/certification/v4/qe/identity?update=${update}`, LIMIT.document, qeIdentityIn),
    latest(`${SERVICE}/sgx/certification/v4/pckcrl?ca=${authority}&encoding=der`, LIMIT.crl, derIn),
    latest(ROOT_CRL, LIMIT.crl, derIn),
  ])
  return { kind: "intel", rootCrl, pckCrl, tcbInfo, qeIdentity }
}
