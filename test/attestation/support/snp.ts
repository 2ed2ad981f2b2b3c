/** SEV-SNP evidence under a chain of our own. */
import { sign } from "node:crypto"
import type { AmdCollateral } from "../../../src/attestation/collateral.ts"
import type { AcceptedSnp } from "../../../src/attestation/policy.ts"
import type { AmdProduct } from "../../../src/attestation/roots.ts"
import type { AttestationCheck } from "../../../src/attestation/verifyAttestation.ts"
import { makeCertificate, makeCrl, makeKeys, type Subject, USAGE, type Wish } from "./authority.ts"
import { ia5, integer } from "./der.ts"
import { BINDING, checkFor, fingerprint } from "./world.ts"

const PRODUCTS = {
  Milan: { family: 0x19, model: 0x01, name: "Milan-B0", chipBytes: 64 },
  Genoa: { family: 0x19, model: 0x11, name: "Genoa", chipBytes: 64 },
  Turin: { family: 0x1a, model: 0x02, name: "Turin-B0", chipBytes: 8 },
} as const

/** Security versions of all machines. */
export const TCB = { bootloader: 7, tee: 1, snp: 20, microcode: 209 }
const FMC = 3

export const tcbBytes = (product: AmdProduct, { bootloader, tee, snp, microcode } = TCB): Buffer =>
  product === "Turin"
    ? Buffer.of(FMC, bootloader, tee, snp, 0, 0, 0, microcode)
    : Buffer.of(bootloader, tee, 0, 0, 0, 0, snp, microcode)

export const TCB_AT = { current: 0x38, reported: 0x180, committed: 0x1e0, launch: 0x1f0 }
const CHIP = Buffer.alloc(64, 0x5a)

export const ROOT: Subject = { name: "ARK", keys: makeKeys("pss") }
export const AUTHORITY: Subject = { name: "SEV", keys: makeKeys("pss") }
const LEAF_KEYS = makeKeys("p384")
export const STRANGER: Subject = { name: "ARK", keys: makeKeys("pss") }

const OID = "1.3.6.1.4.1.3704.1"

export const leafExtensions = (
  product: AmdProduct,
  signer: "vcek" | "vlek",
  tcb = TCB,
  chip: Uint8Array = CHIP.subarray(0, PRODUCTS[product].chipBytes),
) => [
  { id: `${OID}.1`, value: integer(0) },
  { id: `${OID}.2`, value: ia5(PRODUCTS[product].name) },
  { id: `${OID}.3.1`, value: integer(tcb.bootloader) },
  { id: `${OID}.3.2`, value: integer(tcb.tee) },
  { id: `${OID}.3.3`, value: integer(tcb.snp) },
  { id: `${OID}.3.8`, value: integer(tcb.microcode) },
  ...(product === "Turin" ? [{ id: `${OID}.3.9`, value: integer(FMC) }] : []),
  signer === "vcek" ? { id: `${OID}.4`, value: chip } : { id: `${OID}.5`, value: ia5("Cloud") },
]

export interface SnpWish {
  readonly product?: AmdProduct
  /** Product that the leaf names. */
  readonly leafProduct?: AmdProduct
  readonly signer?: "vcek" | "vlek"
  /** Type of the leaf, if another one than signed. */
  readonly leafType?: "vcek" | "vlek"
  /** Changes the report before it is signed. */
  readonly report?: (report: Buffer) => void
  /** Changes the report after it was signed. */
  readonly afterwards?: (report: Buffer) => void
  readonly leaf?: Wish
  readonly leafKeys?: typeof LEAF_KEYS
  readonly authority?: Wish
  readonly root?: Wish
  readonly crl?: (root: Subject) => Uint8Array<ArrayBuffer>
  readonly collateral?: (collateral: AmdCollateral) => AmdCollateral
  readonly accept?: Partial<AcceptedSnp>
  readonly check?: (check: AttestationCheck) => AttestationCheck
}

const reportFor = (product: AmdProduct, signer: "vcek" | "vlek"): Buffer => {
  const report = Buffer.alloc(1184)
  const { family, model, chipBytes } = PRODUCTS[product]
  report.writeUInt32LE(3, 0)
  report.writeBigUInt64LE(0x30000n, 8)
  report.writeUInt32LE(1, 0x34)
  report.writeUInt32LE(1 << 5, 0x40)
  report.writeUInt32LE(signer === "vlek" ? 1 << 2 : 0, 0x48)
  report.set(BINDING, 0x50)
  report.fill(0xab, 0x90, 0xc0)
  report.fill(0xcd, 0xc0, 0xe0)
  for (const at of Object.values(TCB_AT)) report.set(tcbBytes(product), at)
  report.set([family, model, 1], 0x188)
  report.set(CHIP.subarray(0, chipBytes), 0x1a0)
  return report
}

/** R and S in little-endian order, in 72 bytes each. */
const signReport = (report: Buffer, { privateKey }: typeof LEAF_KEYS): void => {
  const signature = sign("sha384", report.subarray(0, 0x2a0), { key: privateKey, dsaEncoding: "ieee-p1363" })
  const half = signature.length / 2
  report.set(signature.subarray(0, half).toReversed(), 0x2a0)
  report.set(signature.subarray(half).toReversed(), 0x2a0 + 72)
}

/** Evidence of a Genoa machine that passes, with the wished changes. */
export const snp = (wish: SnpWish = {}): AttestationCheck => {
  const { product = "Genoa", signer = "vcek", leafType = signer, leafKeys = LEAF_KEYS } = wish
  const report = reportFor(product, signer)
  wish.report?.(report)
  signReport(report, leafKeys)
  wish.afterwards?.(report)
  const extensions = leafExtensions(wish.leafProduct ?? product, leafType)
  const leaf = { name: leafType === "vcek" ? "SEV-VCEK" : "SEV-VLEK", keys: leafKeys }
  const root = makeCertificate(ROOT, ROOT, { serial: 1, authority: true, usage: USAGE.both, ...wish.root })
  const collateral: AmdCollateral = {
    kind: "amd",
    chain: [
      makeCertificate(leaf, AUTHORITY, { serial: 0, extensions, ...wish.leaf }),
      makeCertificate(AUTHORITY, ROOT, { authority: 0, usage: USAGE.certificates, ...wish.authority }),
      root,
    ],
    crl: wish.crl?.(ROOT) ?? makeCrl(ROOT, { revoked: [99] }),
  }
  const none = "00".repeat(32)
  const accept: AcceptedSnp = {
    format: "sev-snp",
    measurements: ["ab".repeat(48)],
    products: [product],
    minimum_tcb: TCB,
    ...wish.accept,
  }
  const check = checkFor(
    { format: "sev-snp", report: Uint8Array.from(report) },
    {
      collateral: wish.collateral?.(collateral) ?? collateral,
      accept,
      roots: { amd: { Milan: none, Genoa: none, Turin: none, [product]: fingerprint(root) } },
    },
  )
  return wish.check?.(check) ?? check
}
