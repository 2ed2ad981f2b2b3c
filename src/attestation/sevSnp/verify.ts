/** Verifies SEV-SNP evidence: report, leaf, chain, policy and revocation (AMD 56860, AMD 57230). */
import { decodeBase64Url } from "../../domain/bytes/bytes.ts"
import { isObject, parseJson } from "../../domain/json/json.ts"
import { isReportData, sha256 } from "../binding.ts"
import { must } from "../failure.ts"
import type { FormatCheck, FormatFacts } from "../format.ts"
import type { AcceptedSnp, SnpTcb } from "../policy.ts"
import { AMD_PRODUCTS, type AmdProduct } from "../roots.ts"
import { type Certificate, certificateOf, checkChain } from "../x509/certificate.ts"
import { checkRevocation } from "../x509/crl.ts"
import { integerOf, valuesIn } from "../x509/der.ts"
import { checkSignature, isLayout, productIn, readReport, type SnpReport, tcbOf } from "./report.ts"

const LEAVES = { 0: "SEV-VCEK", 1: "SEV-VLEK" } as const
const isSigningKey = (key: number): key is keyof typeof LEAVES => key in LEAVES

/** Object identifiers of AMD 57230, VCEK and VLEK extensions. */
const OID = "1.3.6.1.4.1.3704.1"
const TCB_OIDS = { bootloader: `${OID}.3.1`, tee: `${OID}.3.2`, snp: `${OID}.3.3`, microcode: `${OID}.3.8` }
const FMC_OID = `${OID}.3.9`
const CHIP_OID = `${OID}.4`

interface SnpCollateral {
  readonly chain: ReadonlyArray<Certificate>
  readonly crl: Uint8Array | undefined
}

const collateralIn = (bytes: Uint8Array | undefined): SnpCollateral => {
  const value = bytes === undefined ? undefined : parseJson(Buffer.from(bytes).toString())
  must(isObject(value) && Array.isArray(value["chain"]), "collateral-malformed", "The collateral needs a chain.")
  const ders = value["chain"].map((text: unknown) => (typeof text === "string" ? decodeBase64Url(text) : undefined))
  must(ders.length === 3, "chain-length", "The chain needs leaf, intermediate and root.")
  const chain = ders.map((der) => {
    must(der !== undefined, "certificate-malformed", "A certificate is not base64url.")
    return certificateOf(der)
  })
  return { chain, crl: typeof value["crl"] === "string" ? decodeBase64Url(value["crl"]) : undefined }
}

/** Some extensions hold the value itself, others an OCTET STRING or INTEGER of it. */
const numberIn = (leaf: Certificate, oid: string): number | undefined => {
  const value = leaf.extensions.get(oid)
  const [inner] = value === undefined ? [] : valuesIn(value, "certificate-malformed")
  return inner === undefined ? undefined : integerOf(inner.content)
}

const checkLeaf = (report: SnpReport, leaf: Certificate, product: AmdProduct): void => {
  must(isSigningKey(report.signingKey), "snp-signing-key", "The report is not signed by VCEK or VLEK.")
  const name = LEAVES[report.signingKey]
  must(leaf.x509.subject.split("\n").includes(`CN=${name}`), "snp-leaf-type", `The leaf is not a ${name}.`)
  must(
    Object.values(report.tcbs).every((tcb) => isLayout(tcb, product)),
    "snp-leaf-tcb",
    "The TCB has another product's layout.",
  )
  const reported = tcbOf(report.tcbs.reported, product)
  for (const part of ["bootloader", "tee", "snp", "microcode"] as const) {
    must(numberIn(leaf, TCB_OIDS[part]) === reported[part], "snp-leaf-tcb", `The leaf is for another ${part} version.`)
  }
  must((numberIn(leaf, FMC_OID) ?? 0) === reported.fmc, "snp-leaf-tcb", "The leaf is for another FMC version.")
  if (report.signingKey !== 0) return
  const chip = Buffer.from(leaf.extensions.get(CHIP_OID) ?? [])
  const same = chip.length > 0 && report.chipId.subarray(0, chip.length).equals(chip)
  must(same && report.chipId.some((byte) => byte !== 0), "snp-chip-id", "The leaf is another chip's.")
  must(
    report.chipId.subarray(chip.length).every((byte) => byte === 0),
    "snp-chip-id",
    "The leaf is another chip's.",
  )
}

const isAtLeast = (tcb: SnpTcb, minimum: SnpTcb): boolean =>
  tcb.bootloader >= minimum.bootloader &&
  tcb.tee >= minimum.tee &&
  tcb.snp >= minimum.snp &&
  tcb.microcode >= minimum.microcode &&
  (tcb.fmc ?? 0) >= (minimum.fmc ?? 0)

const codeOf = (report: SnpReport, { measurements, host_data }: AcceptedSnp): string | undefined => {
  if (measurements === undefined && host_data === undefined) return undefined
  if (measurements?.includes(report.measurement) === false) return undefined
  if (host_data?.includes(report.hostData) === false) return undefined
  return measurements === undefined ? report.hostData : report.measurement
}

/** Throws an `EvidenceFailure`. Milan is accepted only by name: software can read its root seed (arXiv 2605.12990). */
export const verifySevSnp = ({
  evidence,
  binding,
  accepted,
  deny,
  now,
  roots,
}: FormatCheck<AcceptedSnp>): FormatFacts => {
  const report = readReport(evidence.report)
  const { chain, crl } = collateralIn(evidence.collateral)
  const [leaf, intermediate, root] = chain
  must(
    leaf !== undefined && intermediate !== undefined && root !== undefined,
    "chain-length",
    "The chain is too short.",
  )
  const fingerprint = Buffer.from(sha256(root.der)).toString("hex")
  const product = AMD_PRODUCTS.find((each) => roots.amd[each] === fingerprint)
  must(product !== undefined, "chain-root", "The chain does not lead to a pinned root of AMD.")
  const until = checkChain(chain, fingerprint, now)
  checkSignature(report, leaf.publicKey)
  must(
    report.version < 3 || productIn(report) === product,
    "snp-product",
    "The report is of another product than its chain.",
  )
  checkLeaf(report, leaf, product)
  must(
    isReportData(report.reportData.subarray(0, 64), binding),
    "binding-differs",
    "The report covers another key, configuration or nonce.",
  )
  const chip = report.chipId.toString("hex")
  must(!deny.chips.includes(chip), "chip-denied", "The policy denies this chip.")
  const forProduct = accepted.filter(({ products }) => products.includes(product))
  must(forProduct.length > 0, "snp-product-not-accepted", `The policy does not accept ${product}.`)
  const matching = forProduct.filter((each) => codeOf(report, each) !== undefined)
  must(matching.length > 0, "measurement-unknown", "The policy does not know this measurement.")
  const tcbs = [report.tcbs.reported, report.tcbs.current, report.tcbs.committed, report.tcbs.launch]
  const entry = matching.find(({ minimum_tcb }) => isAtLeast(tcbOf(report.tcbs.reported, product), minimum_tcb))
  must(entry !== undefined, "tcb-below-minimum", "The firmware is older than the policy's minimum.")
  must(
    tcbs.every((tcb) => isAtLeast(tcbOf(tcb, product), entry.minimum_tcb)),
    "snp-committed-tcb",
    "The firmware can be rolled back below the policy's minimum.",
  )
  must(crl !== undefined, "crl-missing", "The collateral has no revocation list.")
  const next = checkRevocation(crl, root, chain, now)
  return {
    measurement: codeOf(report, entry) ?? "",
    hardware: `AMD ${product}`,
    chip,
    validUntil: Math.min(until, next),
  }
}
