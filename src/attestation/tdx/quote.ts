/** Layout of TDX quotes v4 and v5 (Intel TDX DCAP quoting library API, appendix A.3 and A.4). */
import { must } from "../failure.ts"

const HEADER = 48
const QE_REPORT = 384
const BODY_V4 = 584
const BODY_V5 = 648
const ECDSA_P256 = 2
const TDX = 0x81
/** Quoting enclave of Intel, `939a7233-f79c-4ca9-940a-0db3957f0607`. */
const INTEL_QE = "939a7233f79c4ca9940a0db3957f0607"
const QE_REPORT_CERTIFICATION = 6
const PCK_CHAIN = 5
const TDX_15_BODY = 3

/** One TD's report. Registers are 48 bytes as lower-case hexadecimal. */
export interface TdReport {
  readonly tcbSvn: Buffer
  readonly moduleSigner: Buffer
  readonly moduleAttributes: Buffer
  readonly attributes: Buffer
  readonly mrtd: string
  readonly rtmr: readonly [string, string, string, string]
  readonly reportData: Buffer
  /** Only in v5. */
  readonly serviceTd: Buffer | undefined
}

export interface TdxQuote {
  readonly signed: Buffer
  readonly body: TdReport
  readonly signature: Buffer
  /** X and Y. */
  readonly attestationKey: Buffer
  readonly qeReport: Buffer
  readonly qeSignature: Buffer
  readonly qeAuthentication: Buffer
  /** PEM from leaf to root. */
  readonly pckChain: string
}

const bodyOf = (bytes: Buffer): TdReport => {
  const register = (at: number) => bytes.toString("hex", at, at + 48)
  return {
    tcbSvn: bytes.subarray(0, 16),
    moduleSigner: bytes.subarray(64, 112),
    moduleAttributes: bytes.subarray(112, 120),
    attributes: bytes.subarray(120, 128),
    mrtd: register(136),
    rtmr: [register(328), register(376), register(424), register(472)],
    reportData: bytes.subarray(520, 584),
    serviceTd: bytes.length === BODY_V5 ? bytes.subarray(600, 648) : undefined,
  }
}

/** Takes parts off the front; refuses to read beyond the end. */
const reader = (bytes: Buffer) => {
  let at = 0
  return {
    take: (length: number): Buffer => {
      must(at + length <= bytes.length, "report-length", "The quote ends early.")
      at += length
      return bytes.subarray(at - length, at)
    },
    at: () => at,
    rest: () => bytes.subarray(at),
  }
}

/** Offset of the body: v5 has its type and size first. */
const bodyPlace = (bytes: Buffer, version: number): readonly [start: number, size: number] => {
  if (version === 4) return [HEADER, BODY_V4]
  must(bytes.length > HEADER + 6, "report-length", "The quote ends early.")
  must(bytes.readUInt16LE(HEADER) === TDX_15_BODY, "tdx-tee-type", "The quote's body is not of TDX 1.5.")
  must(bytes.readUInt32LE(HEADER + 2) === BODY_V5, "report-length", "The quote's body has a wrong size.")
  return [HEADER + 6, BODY_V5]
}

/** Decodes a quote without verifying it. Bytes after the signature data must be zero: no signature covers them. */
export const readQuote = (report: Uint8Array): TdxQuote => {
  const bytes = Buffer.from(report)
  must(bytes.length >= HEADER, "report-length", "The quote ends early.")
  const version = bytes.readUInt16LE(0)
  must(version === 4 || version === 5, "report-version", `Quote version ${version} is unknown.`)
  must(bytes.readUInt16LE(2) === ECDSA_P256, "tdx-key-type", "The quote's key is not of P-256.")
  must(bytes.readUInt32LE(4) === TDX, "tdx-tee-type", "The quote is not of TDX.")
  must(
    bytes.toString("hex", 12, 28) === INTEL_QE,
    "tdx-qe-vendor",
    "The quoting enclave is not Intel's (CVE-2026-22696).",
  )
  const [start, size] = bodyPlace(bytes, version)
  const outer = reader(bytes)
  const signed = outer.take(start + size)
  const data = reader(outer.take(outer.take(4).readUInt32LE(0)))
  must(
    outer.rest().every((byte) => byte === 0),
    "report-padding",
    "The quote's padding is not zero.",
  )
  const signature = data.take(64)
  const attestationKey = data.take(64)
  must(
    data.take(2).readUInt16LE(0) === QE_REPORT_CERTIFICATION,
    "tdx-certification-data",
    "The quote has no QE report.",
  )
  must(
    data.take(4).readUInt32LE(0) === data.rest().length,
    "report-length",
    "The quote's certification data has a wrong size.",
  )
  const qeReport = data.take(QE_REPORT)
  const qeSignature = data.take(64)
  const qeAuthentication = data.take(data.take(2).readUInt16LE(0))
  must(data.take(2).readUInt16LE(0) === PCK_CHAIN, "tdx-certification-data", "The quote does not carry its PCK chain.")
  must(data.take(4).readUInt32LE(0) === data.rest().length, "report-length", "The quote's PCK chain has a wrong size.")
  const pckChain = data.rest().toString("latin1")
  return {
    signed,
    body: bodyOf(signed.subarray(start)),
    signature,
    attestationKey,
    qeReport,
    qeSignature,
    qeAuthentication,
    pckChain,
  }
}
