/** Layout of SEV-SNP attestation reports (AMD 56860, table ATTESTATION_REPORT), and checks of one alone. */
import { type KeyObject, verify } from "node:crypto"
import { must } from "../failure.ts"
import type { SnpTcb } from "../policy.ts"
import type { AmdProduct } from "../roots.ts"

const LENGTH = 1184
const SIGNATURE = 0x2a0
/** R and S: 72 bytes each, little-endian. */
const SCALAR = 72
const P384 = 48
const ECDSA_P384_SHA384 = 1
const DEBUG = 1 << 19
const MIGRATE_MA = 1 << 18
const ALIAS_CHECK_COMPLETE = 1 << 5

export interface SnpReport {
  readonly bytes: Buffer
  readonly version: number
  readonly signingKey: number
  readonly reportData: Buffer
  /** Lower-case hexadecimal. */
  readonly measurement: string
  readonly hostData: string
  readonly chipId: Buffer
  /** Eight bytes each; the layout depends on the product. */
  readonly tcbs: Readonly<Record<"current" | "reported" | "committed" | "launch", Buffer>>
}

const isZero = (bytes: Uint8Array): boolean => bytes.every((byte) => byte === 0)

/** Decodes a report and refuses debug, migration, VMPL over 0 and aliased memory. Signature and chain come after. */
export const readReport = (report: Uint8Array): SnpReport => {
  const bytes = Buffer.from(report)
  must(bytes.length === LENGTH, "report-length", `A report has ${LENGTH} bytes.`)
  const version = bytes.readUInt32LE(0)
  must(version >= 2 && version <= 5, "report-version", `Report version ${version} is unknown.`)
  must(bytes.readUInt32LE(0x34) === ECDSA_P384_SHA384, "report-algorithm", "The report's algorithm is not P-384.")
  // The signature does not cover the bytes after it.
  must(isZero(bytes.subarray(SIGNATURE + 2 * SCALAR)), "report-padding", "The report's padding is not zero.")
  const policy = bytes.readUInt32LE(8)
  must((policy & DEBUG) === 0, "debug-enabled", "The guest can be debugged.")
  must((policy & MIGRATE_MA) === 0, "snp-migration-agent", "A migration agent may move the guest.")
  must(bytes.readUInt32LE(0x30) === 0, "snp-vmpl", "The report was requested from another level than VMPL 0.")
  must(
    (bytes.readUInt32LE(0x40) & ALIAS_CHECK_COMPLETE) !== 0,
    "snp-alias-check",
    "The platform did not check for aliased memory (BadRAM).",
  )
  return {
    bytes,
    version,
    signingKey: (bytes.readUInt32LE(0x48) >> 2) & 7,
    reportData: bytes.subarray(0x50, 0x90),
    measurement: bytes.toString("hex", 0x90, 0xc0),
    hostData: bytes.toString("hex", 0xc0, 0xe0),
    chipId: bytes.subarray(0x1a0, 0x1e0),
    tcbs: {
      current: bytes.subarray(0x38, 0x40),
      reported: bytes.subarray(0x180, 0x188),
      committed: bytes.subarray(0x1e0, 0x1e8),
      launch: bytes.subarray(0x1f0, 0x1f8),
    },
  }
}

/** Whether the host hides the chip (MASK_CHIP_ID). */
export const isMasked = ({ chipId }: SnpReport): boolean => isZero(chipId)

/** Checks the signature over 0..0x29F by the leaf's key. */
export const checkSignature = ({ bytes }: SnpReport, key: KeyObject): void => {
  const scalars = [0, 1].map((i) => bytes.subarray(SIGNATURE + i * SCALAR, SIGNATURE + (i + 1) * SCALAR))
  must(
    scalars.every((scalar) => isZero(scalar.subarray(P384))),
    "signature-malformed",
    "The signature exceeds P-384.",
  )
  must(key.asymmetricKeyDetails?.namedCurve === "secp384r1", "signature-wrong", "The leaf's key is not of P-384.")
  const signature = Buffer.concat(scalars.map((scalar) => scalar.subarray(0, P384).toReversed()))
  const valid = verify("sha384", bytes.subarray(0, SIGNATURE), { key, dsaEncoding: "ieee-p1363" }, signature)
  must(valid, "signature-wrong", "The report's signature is wrong.")
}

/** Security versions in a TCB_VERSION. Turin puts the FMC first (AMD 57230). */
export const tcbOf = (tcb: Buffer, product: AmdProduct): Required<SnpTcb> => {
  const at = (index: number) => tcb[index] ?? 0
  return product === "Turin"
    ? { fmc: at(0), bootloader: at(1), tee: at(2), snp: at(3), microcode: at(7) }
    : { fmc: 0, bootloader: at(0), tee: at(1), snp: at(6), microcode: at(7) }
}

const TURIN_RESERVED = [4, 5, 6]
const OTHER_RESERVED = [2, 3, 4, 5]

/** Whether the reserved bytes of a TCB_VERSION are zero. */
export const isLayout = (tcb: Buffer, product: AmdProduct): boolean =>
  (product === "Turin" ? TURIN_RESERVED : OTHER_RESERVED).every((index) => tcb[index] === 0)

/** The product that the CPUID members name (version 3 and later); `undefined` if the model is unknown. */
export const productIn = ({ bytes }: SnpReport): AmdProduct | undefined => {
  const [family = 0, model = 0] = bytes.subarray(0x188)
  if (family === 0x19 && model < 0x10) return "Milan"
  if (family === 0x19 && (model < 0x20 || (model >= 0xa0 && model < 0xb0))) return "Genoa"
  return family === 0x1a && model < 0x12 ? "Turin" : undefined
}
