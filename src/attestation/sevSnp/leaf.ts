/** Chip, product and TCB in the extensions of VCEK and VLEK (AMD 57230, table of certificate extensions). */
import { EvidenceFailure, must } from "../failure.ts"
import type { SnpTcb } from "../policy.ts"
import { AMD_PRODUCTS, type AmdProduct } from "../roots.ts"
import { type Certificate, nameOf } from "../x509/certificate.ts"
import { integerOf, valuesIn } from "../x509/der.ts"
import { isLayout, productIn, type SnpReport, tcbOf } from "./report.ts"

const SIGNERS = { 0: "vcek", 1: "vlek" } as const
const isSigningKey = (key: number): key is keyof typeof SIGNERS => key in SIGNERS

const NAMES = { vcek: "SEV-VCEK", vlek: "SEV-VLEK" } as const

const OID = "1.3.6.1.4.1.3704.1"
const PRODUCT_OID = `${OID}.2`
const TCB_OIDS = {
  bootloader: `${OID}.3.1`,
  tee: `${OID}.3.2`,
  snp: `${OID}.3.3`,
  microcode: `${OID}.3.8`,
  fmc: `${OID}.3.9`,
}
const CHIP_OID = `${OID}.4`
/** Cloud provider that a VLEK was issued to. */
const PROVIDER_OID = `${OID}.5`

const TURIN_CHIP_BYTES = 8

/** The key that signed the report (SIGNING_KEY, AMD 56860). */
export const signerOf = ({ signingKey }: SnpReport): "vcek" | "vlek" => {
  must(isSigningKey(signingKey), "snp-signing-key", "The report is not signed by VCEK or VLEK.")
  return SIGNERS[signingKey]
}

/** The first value within an extension. All extensions but one are DER. */
const contentOf = (leaf: Certificate, oid: string): Uint8Array | undefined => {
  const value = leaf.extensions.get(oid)
  return value === undefined ? undefined : valuesIn(value, "certificate-malformed")[0]?.content
}

/** The product that the leaf names, such as `Milan` for `Milan-B0`. */
const productNamed = (leaf: Certificate): AmdProduct | undefined => {
  const name = Buffer.from(contentOf(leaf, PRODUCT_OID) ?? []).toString("latin1")
  return AMD_PRODUCTS.find((product) => name === product || name.startsWith(`${product}-`))
}

/** The product that the report names, or, before version 3, the leaf. Neither is verified here. */
export const productOf = (report: SnpReport, leaf: Certificate | undefined): AmdProduct => {
  const named = leaf === undefined ? undefined : productNamed(leaf)
  const product = report.version < 3 ? named : productIn(report)
  if (product !== undefined) return product
  throw new EvidenceFailure("snp-product", "The report is of no known product.")
}

/** The chip id in the form of AMD's URLs. */
export const chipInUrls = ({ chipId }: SnpReport, product: AmdProduct): string =>
  (product === "Turin" ? chipId.subarray(0, TURIN_CHIP_BYTES) : chipId).toString("hex")

const isOfChip = (report: SnpReport, leaf: Certificate): boolean => {
  const chip = Buffer.from(leaf.extensions.get(CHIP_OID) ?? [])
  const isSame = chip.length > 0 && report.chipId.subarray(0, chip.length).equals(chip)
  const isAll = report.chipId.subarray(chip.length).every((byte) => byte === 0)
  return isSame && isAll && chip.some((byte) => byte !== 0)
}

/** The first part of the reported TCB for which the leaf names another version. */
const otherVersion = (report: SnpReport, leaf: Certificate, product: AmdProduct): keyof SnpTcb | undefined => {
  const reported = tcbOf(report.tcbs.reported, product)
  const isOther = (part: keyof SnpTcb): boolean => {
    const content = contentOf(leaf, TCB_OIDS[part])
    const version = content === undefined ? undefined : integerOf(content)
    return (part === "fmc" ? (version ?? 0) : version) !== reported[part]
  }
  return (["bootloader", "tee", "snp", "microcode", "fmc"] as const).find(isOther)
}

/** Whether a VCEK, not verified yet, is for the report's chip and TCB. After updates, hosts keep the old one. */
export const isCurrent = (report: SnpReport, leaf: Certificate, product: AmdProduct): boolean =>
  otherVersion(report, leaf, product) === undefined && isOfChip(report, leaf)

/** Checks that the leaf belongs to the report: key, product, TCB and chip. Its signature is checked elsewhere. */
export const checkLeaf = (report: SnpReport, leaf: Certificate, product: AmdProduct): void => {
  const signer = signerOf(report)
  const isOfType = nameOf(leaf) === NAMES[signer] && leaf.extensions.has(PROVIDER_OID) === (signer === "vlek")
  must(isOfType, "snp-leaf-type", `The leaf is not a ${NAMES[signer]}.`)
  const isOfProduct = productNamed(leaf) === product && (report.version < 3 || productIn(report) === product)
  must(isOfProduct, "snp-product", "Report, leaf and chain are of different products.")
  const isLaidOut = Object.values(report.tcbs).every((tcb) => isLayout(tcb, product))
  must(isLaidOut, "snp-tcb-layout", "The TCB has another product's layout.")
  const other = otherVersion(report, leaf, product)
  must(other === undefined, "snp-leaf-tcb", `The leaf is for another ${other} version.`)
  must(signer === "vlek" || isOfChip(report, leaf), "snp-chip-id", "The leaf is another chip's.")
}
