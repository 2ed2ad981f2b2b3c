/** Evidence of real machines, judged at a time when it was current. */
import { X509Certificate } from "node:crypto"
import { readFileSync } from "node:fs"
import { decodeCollateral } from "../../../src/attestation/collateral.ts"
import type { AcceptedTdx } from "../../../src/attestation/policy.ts"
import { PINNED_ROOTS } from "../../../src/attestation/roots.ts"
import { verifySevSnp } from "../../../src/attestation/sevSnp/verify.ts"
import { readQuote } from "../../../src/attestation/tdx/quote.ts"
import { codeOf } from "./codeOf.ts"

export type Bytes = Uint8Array<ArrayBuffer>

export const sample = (name: string): Bytes => Uint8Array.from(readFileSync(`test/attestation/samples/${name}`))
export const textOf = (name: string): string => Buffer.from(sample(name)).toString()

export const certificatesIn = (name: string): ReadonlyArray<Bytes> =>
  (textOf(name).match(/-----BEGIN CERT[^-]+-----[^-]+-----END CERT[^-]+-----/g) ?? []).map((pem) =>
    Uint8Array.from(new X509Certificate(pem).raw),
  )

const NONE = new Uint8Array()
const common = { kid: new Uint8Array(32), configuration: NONE, path: { index: 0, size: 1, hashes: [] } }
const deny = { chips: [], kids: [] }

export const AMD_CRL = Uint8Array.from(
  Buffer.from(textOf("snp-genoa.crl.pem").replaceAll(/-----[^-]+-----|\s/g, ""), "base64"),
)

interface SnpChanges {
  readonly report?: Bytes
  readonly leaf?: Bytes
  /** The authority and the root. */
  readonly authorities?: ReadonlyArray<Bytes>
  readonly crl?: Bytes
}

/** The code of the refusal. Revocation is checked last, and the list of Genoa is older than its leaf; Milan has none. */
export const snpCode = (name: "genoa" | "milan" | "debug", changes: SnpChanges = {}): string => {
  const report = sample(`snp-${name}.report`)
  const product = name === "debug" ? "milan" : name
  const [leaf = NONE] = name === "debug" ? [sample("snp-debug.vcek.der")] : certificatesIn(`snp-${name}.vcek.pem`)
  const [authority = NONE, root = NONE] = changes.authorities ?? certificatesIn(`snp-${product}.ask-ark.pem`)
  return codeOf(() =>
    verifySevSnp(
      {
        evidence: { ...common, format: "sev-snp", report: changes.report ?? report },
        binding: report.slice(0x50, 0x70),
        accepted: [
          {
            format: "sev-snp",
            measurements: [Buffer.from(report).toString("hex", 0x90, 0xc0)],
            products: ["Milan", "Genoa"],
            minimum_tcb: { bootloader: 0, tee: 0, snp: 0, microcode: 0 },
          },
        ],
        deny,
        now: Date.parse("2026-03-01T00:00:00Z") / 1000,
        roots: PINNED_ROOTS,
      },
      {
        kind: "amd",
        chain: [changes.leaf ?? leaf, authority, root],
        crl: changes.crl ?? (name === "genoa" ? AMD_CRL : NONE),
      },
    ),
  )
}

export const PCS: Readonly<Record<string, string>> = JSON.parse(textOf("tdx-v4.collateral.json"))
export const QUOTE = sample("tdx-v4.quote")
export const QUOTE_BODY = readQuote(QUOTE).body
const [rtmr0, rtmr1, rtmr2, rtmr3] = QUOTE_BODY.rtmr
const ACCEPTED: AcceptedTdx = {
  format: "tdx",
  measurements: [{ mrtd: QUOTE_BODY.mrtd, rtmr0, rtmr1, rtmr2, rtmr3 }],
  statuses: ["UpToDate"],
  advisories: [],
}

export const tdxCheck = (report: Bytes) => ({
  evidence: { ...common, format: "tdx" as const, report },
  accepted: [ACCEPTED],
  deny,
  now: Date.parse("2025-06-20T00:00:00Z") / 1000,
  roots: PINNED_ROOTS,
})

/** Intel's collateral, with members replaced. */
export const tdxCollateral = (members: Readonly<Record<string, string>> = {}) => {
  const collateral = decodeCollateral({ kind: "intel", ...PCS, ...members })
  if (collateral.kind !== "intel") throw new Error("another kind")
  return collateral
}
