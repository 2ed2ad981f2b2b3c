import type { CollateralNeed } from "./collateral.ts"
import type { ProxyEvidence } from "./evidence.ts"
import { must } from "./failure.ts"
import type { TcbUpdate } from "./policy.ts"
import { leavesIn } from "./sevSnp/certificateTable.ts"
import { chipInUrls, isCurrent, productOf, signerOf } from "./sevSnp/leaf.ts"
import { isMasked, readReport, tcbOf } from "./sevSnp/report.ts"
import { isPckAuthority, PCK_AUTHORITIES, pckFactsOf } from "./tdx/pck.ts"
import { readQuote } from "./tdx/quote.ts"
import { certificateOf, certificatesInPem, nameOf } from "./x509/certificate.ts"

const amdNeed = ({ report: bytes, collateral }: ProxyEvidence): CollateralNeed => {
  const report = readReport(bytes)
  const signer = signerOf(report)
  const der = leavesIn(collateral)[signer]
  const handed = der === undefined ? undefined : certificateOf(der)
  const product = productOf(report, handed)
  const chip = chipInUrls(report, product)
  // AMD serves the current VCEK of a known chip, so an outdated one is fetched anew. It publishes no VLEKs.
  const isOld = signer === "vcek" && handed !== undefined && !isMasked(report) && !isCurrent(report, handed, product)
  return {
    kind: "amd",
    product,
    signer,
    leaf: isOld ? undefined : der,
    chip,
    tcb: tcbOf(report.tcbs.reported, product),
  }
}

const intelNeed = ({ report }: ProxyEvidence, update: TcbUpdate): CollateralNeed => {
  const [leaf, authority] = certificatesInPem(readQuote(report).pckChain)
  must(leaf !== undefined && authority !== undefined, "chain-length", "The PCK chain needs three certificates.")
  const name = nameOf(authority)
  must(isPckAuthority(name), "tdx-pck-chain", "The PCK chain has no PCK authority of Intel.")
  return { kind: "intel", fmspc: pckFactsOf(leaf).fmspc, authority: PCK_AUTHORITIES[name], update }
}

/** The need of `evidence`, which is not verified yet. Throws an `EvidenceFailure` if it cannot be read. */
export const collateralNeedOf = (evidence: ProxyEvidence, update: TcbUpdate = "standard"): CollateralNeed => {
  const { format } = evidence
  if (format === "confidential-space") return { kind: "none" }
  return format === "sev-snp" ? amdNeed(evidence) : intelNeed(evidence, update)
}
