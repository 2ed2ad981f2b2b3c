/** Verifies SEV-SNP evidence: report, leaf, chain, policy and revocation (AMD 56860, AMD 57230). */
import { isReportData, sha256 } from "../binding.ts"
import type { AmdCollateral } from "../collateral.ts"
import { must } from "../failure.ts"
import type { FormatCheck, FormatFacts } from "../format.ts"
import type { AcceptedSnp, SnpTcb } from "../policy.ts"
import { AMD_PRODUCTS, type AmdProduct } from "../roots.ts"
import { certificateOf, checkChain } from "../x509/certificate.ts"
import { checkRevocation } from "../x509/crl.ts"
import { checkLeaf } from "./leaf.ts"
import { checkSignature, isMasked, readReport, type SnpReport, tcbOf } from "./report.ts"

const isAtLeast = (tcb: SnpTcb, minimum: SnpTcb): boolean =>
  tcb.bootloader >= minimum.bootloader &&
  tcb.tee >= minimum.tee &&
  tcb.snp >= minimum.snp &&
  tcb.microcode >= minimum.microcode &&
  (tcb.fmc ?? 0) >= (minimum.fmc ?? 0)

const isCode = ({ hostData, measurement }: SnpReport, { host_data, measurements }: AcceptedSnp): boolean =>
  measurements.includes(measurement) && host_data?.includes(hostData) !== false

/** Throws unless an entry of the policy accepts code, product and firmware of the report. */
const checkAccepted = (report: SnpReport, product: AmdProduct, accepted: ReadonlyArray<AcceptedSnp>): void => {
  const forProduct = accepted.filter(({ products }) => products.includes(product))
  must(forProduct.length > 0, "snp-product-not-accepted", `The policy does not accept ${product}.`)
  const matching = forProduct.filter((each) => isCode(report, each))
  must(matching.length > 0, "measurement-unknown", "The policy does not know this measurement.")
  const current = matching.filter(({ minimum_tcb }) => isAtLeast(tcbOf(report.tcbs.reported, product), minimum_tcb))
  must(current.length > 0, "tcb-below-minimum", "The firmware is older than the policy's minimum.")
  const isCommitted = current.some(({ minimum_tcb }) =>
    Object.values(report.tcbs).every((tcb) => isAtLeast(tcbOf(tcb, product), minimum_tcb)),
  )
  must(isCommitted, "snp-committed-tcb", "The firmware can be rolled back below the policy's minimum.")
}

/** Throws an `EvidenceFailure`. Milan is accepted only by name: software can read its root seed (arXiv 2605.12990). */
export const verifySevSnp = (
  { evidence, binding, accepted, deny, now, roots }: FormatCheck<AcceptedSnp>,
  collateral: AmdCollateral,
): FormatFacts => {
  const report = readReport(evidence.report)
  const [leaf, intermediate, root] = [
    certificateOf(collateral.chain[0]),
    certificateOf(collateral.chain[1]),
    certificateOf(collateral.chain[2]),
  ]
  const chain = [leaf, intermediate, root]
  const fingerprint = Buffer.from(sha256(root.der)).toString("hex")
  const product = AMD_PRODUCTS.find((each) => roots.amd[each] === fingerprint)
  must(product !== undefined, "chain-root", "The chain does not lead to a pinned root of AMD.")
  const until = checkChain(chain, fingerprint, now)
  checkSignature(report, leaf.publicKey)
  checkLeaf(report, leaf, product)
  must(
    isReportData(report.reportData, binding),
    "binding-differs",
    "The report covers another key, configuration or nonce.",
  )
  const isHidden = isMasked(report)
  must(!isHidden || deny.chips.length === 0, "chip-masked", "The host hides its chip, so the policy cannot deny it.")
  const chip = report.chipId.toString("hex")
  must(!deny.chips.includes(chip), "chip-denied", "The policy denies this chip.")
  checkAccepted(report, product, accepted)
  const next = checkRevocation(collateral.crl, root, chain, now)
  return {
    measurement: report.measurement,
    hardware: `AMD ${product}`,
    ...(isHidden ? {} : { chip }),
    tcb: { reported: tcbOf(report.tcbs.reported, product), committed: tcbOf(report.tcbs.committed, product) },
    validUntil: Math.min(until, next),
  }
}
