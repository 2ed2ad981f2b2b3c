/** Collateral of SEV-SNP from AMD's Key Distribution Service (AMD 57230, "Key Distribution Server"). */
import type { AmdCollateral, CollateralNeed } from "../attestation/collateral.ts"
import { EvidenceFailure } from "../attestation/failure.ts"
import type { Bytes } from "../domain/bytes/bytes.ts"
import type { Got } from "./boundedGet.ts"
import { derIn, type Documents } from "./keptDocuments.ts"

const SERVICE = "https://kdsintf.amd.com"
const LIMIT = { leaf: 16 * 1024, chain: 32 * 1024, crl: 256 * 1024 }

type AmdNeed = Extract<CollateralNeed, { readonly kind: "amd" }>

const CERTIFICATE = /-----BEGIN CERTIFICATE-----([A-Za-z0-9+/=\s]+)-----END CERTIFICATE-----/g

/** The intermediate and the root. */
const authoritiesIn = ({ body: pem }: Got): readonly [Bytes, Bytes] => {
  const [intermediate, root] = [...Buffer.from(pem).toString("latin1").matchAll(CERTIFICATE)].map(([, body = ""]) =>
    Uint8Array.from(Buffer.from(body, "base64")),
  )
  if (intermediate !== undefined && root !== undefined) return [intermediate, root]
  throw new EvidenceFailure("collateral-unavailable", "AMD's service answered with no chain of two certificates.")
}

/** URL of a VCEK: the service derives it from chip and TCB. */
export const vcekUrl = ({ product, chip, tcb }: AmdNeed): string => {
  const fmc = product === "Turin" ? `fmcSPL=${tcb.fmc}&` : ""
  const versions = `${fmc}blSPL=${tcb.bootloader}&teeSPL=${tcb.tee}&snpSPL=${tcb.snp}&ucodeSPL=${tcb.microcode}`
  return `${SERVICE}/vcek/v1/${product}/${chip}?${versions}`
}

const leafFor = async (need: AmdNeed, { immutable }: Documents): Promise<Bytes> => {
  if (need.leaf !== undefined) return need.leaf
  if (need.signer === "vcek") return immutable(vcekUrl(need), LIMIT.leaf, derIn)
  throw new EvidenceFailure(
    "collateral-unavailable",
    "The machine handed out no VLEK, and AMD publishes none. The operator's host must pass it to the guest.",
  )
}

/** Rejects with `collateral-unavailable`. Nothing in the result is verified. */
export const fetchAmdCollateral = async (need: AmdNeed, documents: Documents): Promise<AmdCollateral> => {
  const authority = `${SERVICE}/${need.signer}/v1/${need.product}`
  const [leaf, [intermediate, root], crl] = await Promise.all([
    leafFor(need, documents),
    documents.latest(`${authority}/cert_chain`, LIMIT.chain, authoritiesIn),
    documents.latest(`${authority}/crl`, LIMIT.crl, derIn),
  ])
  return { kind: "amd", chain: [leaf, intermediate, root], crl }
}
