/** TDX evidence under a chain of our own. */
import { createHash, type KeyObject, sign } from "node:crypto"
import type { IntelCollateral, IntelDocument } from "../../../src/attestation/collateral.ts"
import type { AcceptedTdx } from "../../../src/attestation/policy.ts"
import type { AttestationCheck } from "../../../src/attestation/verifyAttestation.ts"
import { makeCertificate, makeCrl, makeKeys, pemOf, type Subject, USAGE, type Wish } from "./authority.ts"
import { integer, octets, oid, sequence } from "./der.ts"
import { BINDING, checkFor, fingerprint, NOW } from "./world.ts"

type Json = Record<string, unknown>

export const ROOT: Subject = { name: "Intel SGX Root CA", keys: makeKeys("p256") }
export const PLATFORM: Subject = { name: "Intel SGX PCK Platform CA", keys: makeKeys("p256") }
const PCK: Subject = { name: "Intel SGX PCK Certificate", keys: makeKeys("p256") }
export const SIGNER: Subject = { name: "Intel SGX TCB Signing", keys: makeKeys("p256") }
const ATTESTATION = makeKeys("p256")

const PPID = Buffer.alloc(16, 0x77)
const SGX = "1.2.840.113741.1.13.1"
const pair = (id: string, value: Uint8Array): Buffer => sequence(oid(id), value)

/** Intel's extension of the PCK certificate. */
export const pckExtension = (fmspc = "00806f050000", pceId = "0000", svn = 5): Buffer =>
  sequence(
    pair(`${SGX}.1`, octets(PPID)),
    pair(
      `${SGX}.2`,
      sequence(
        ...Array.from({ length: 16 }, (_, i) => pair(`${SGX}.2.${i + 1}`, integer(svn))),
        pair(`${SGX}.2.17`, integer(13)),
      ),
    ),
    pair(`${SGX}.3`, octets(Buffer.from(pceId, "hex"))),
    pair(`${SGX}.4`, octets(Buffer.from(fmspc, "hex"))),
  )

const rootCertificate = makeCertificate(ROOT, ROOT, { serial: 1, authority: 1, usage: USAGE.both })
export const ROOT_PEM = pemOf(rootCertificate)
const signerCertificate = makeCertificate(SIGNER, ROOT, { serial: 4, usage: USAGE.signature })

const DATE = "2026-01-14T00:00:00Z"
const components = (svn: number) => Array.from({ length: 16 }, () => ({ svn }))
const dates = { issueDate: new Date((NOW - 86_400) * 1000), nextUpdate: new Date((NOW + 29 * 86_400) * 1000) }
const MODULE = { mrsigner: "00".repeat(48), attributes: "00".repeat(8), attributesMask: "ff".repeat(8) }

/** A platform level that the machine reaches. */
export const LEVEL = {
  tcb: { sgxtcbcomponents: components(5), pcesvn: 13, tdxtcbcomponents: components(3) },
  tcbDate: DATE,
  tcbStatus: "UpToDate",
}
export const moduleWith = (level: Json) => [{ id: "TDX_01", ...MODULE, tcbLevels: [level] }]
export const MODULE_LEVEL = { tcb: { isvsvn: 5 }, tcbDate: DATE, tcbStatus: "UpToDate" }
export const QE_LEVEL = { tcb: { isvsvn: 4 }, tcbDate: DATE, tcbStatus: "UpToDate" }

const TCB_INFO: Json = {
  id: "TDX",
  version: 3,
  ...dates,
  fmspc: "00806F050000",
  pceId: "0000",
  tdxModule: MODULE,
  tdxModuleIdentities: moduleWith(MODULE_LEVEL),
  tcbLevels: [LEVEL],
}
const QE_IDENTITY: Json = {
  id: "TD_QE",
  version: 2,
  ...dates,
  miscselect: "00000000",
  miscselectMask: "ffffffff",
  attributes: "11".repeat(16),
  attributesMask: "ff".repeat(16),
  mrsigner: "dc".repeat(32),
  isvprodid: 2,
  tcbLevels: [QE_LEVEL],
}

const p1363 = (data: Uint8Array, key: KeyObject): Buffer => sign("sha256", data, { key, dsaEncoding: "ieee-p1363" })

export const signDocument = (document: Json, signer: Subject = SIGNER, chain?: string): IntelDocument => {
  const content = JSON.stringify(document)
  return {
    text: content,
    signature: Uint8Array.from(p1363(Buffer.from(content), signer.keys.privateKey)),
    issuerChain: chain ?? pemOf(signerCertificate) + ROOT_PEM,
  }
}

export interface TdxWish {
  readonly version?: 4 | 5
  /** Changes the body before it is signed. */
  readonly body?: (body: Buffer) => void
  readonly header?: (header: Buffer) => void
  /** X and Y of the attestation key that the quote names. */
  readonly key?: Buffer
  readonly qeReport?: (report: Buffer) => void
  /** Changes the quote after it was signed. */
  readonly afterwards?: (quote: Buffer) => Buffer
  readonly pck?: Wish
  readonly pckName?: string
  readonly platform?: Wish
  /** Changes the PEM of the quote's chain. */
  readonly chain?: (chain: string) => string
  readonly tcbInfo?: Json
  readonly qeIdentity?: Json
  readonly collateral?: (collateral: IntelCollateral) => IntelCollateral
  readonly accept?: Partial<AcceptedTdx>
  readonly check?: (check: AttestationCheck) => AttestationCheck
}

const register = (byte: string) => byte.repeat(48)
export const MEASUREMENT = { mrtd: register("a0"), rtmr0: register("b0"), rtmr1: register("b1"), rtmr2: register("b2") }

const bodyOf = (version: 4 | 5, rtmr3: string): Buffer => {
  const body = Buffer.alloc(version === 4 ? 584 : 648)
  body.fill(3, 0, 16)
  body.set([5, 1, 3])
  body.writeUInt32LE(1 << 28, 120)
  const { mrtd, rtmr0, rtmr1, rtmr2 } = MEASUREMENT
  body.write(mrtd, 136, "hex")
  for (const [i, rtmr] of [rtmr0, rtmr1, rtmr2, rtmr3].entries()) body.write(rtmr, 328 + 48 * i, "hex")
  body.set(BINDING, 520)
  return body
}

const headerOf = (version: 4 | 5): Buffer => {
  const header = Buffer.alloc(48)
  header.writeUInt16LE(version, 0)
  header.writeUInt16LE(2, 2)
  header.writeUInt32LE(0x81, 4)
  header.write("939a7233f79c4ca9940a0db3957f0607", 12, "hex")
  if (version === 4) return header
  const type = Buffer.alloc(6)
  type.writeUInt16LE(3, 0)
  type.writeUInt32LE(648, 2)
  return Buffer.concat([header, type])
}

const sized = (type: number, content: Buffer): Buffer => {
  const head = Buffer.alloc(6)
  head.writeUInt16LE(type, 0)
  head.writeUInt32LE(content.length, 2)
  return Buffer.concat([head, content])
}

/** X and Y of a public key. */
const pointOf = (key: KeyObject): Buffer => key.export({ type: "spki", format: "der" }).subarray(-64)

const qeReportOf = (key: Buffer, authentication: Buffer): Buffer => {
  const report = Buffer.alloc(384)
  report.fill(0x11, 48, 64)
  report.fill(0xdc, 128, 160)
  report.writeUInt16LE(2, 256)
  report.writeUInt16LE(4, 258)
  report.set(createHash("sha256").update(key).update(authentication).digest(), 320)
  return report
}

const quoteOf = (wish: TdxWish, chain: string, rtmr3: string): Buffer => {
  const { version = 4 } = wish
  const [header, body] = [headerOf(version), bodyOf(version, rtmr3)]
  wish.header?.(header)
  wish.body?.(body)
  const content = Buffer.concat([header, body])
  const key = wish.key ?? pointOf(ATTESTATION.publicKey)
  const authentication = Buffer.alloc(32, 1)
  const report = qeReportOf(key, authentication)
  wish.qeReport?.(report)
  const certification = sized(
    6,
    Buffer.concat([
      report,
      p1363(report, PCK.keys.privateKey),
      Buffer.of(32, 0),
      authentication,
      sized(5, Buffer.from(chain)),
    ]),
  )
  const data = Buffer.concat([p1363(content, ATTESTATION.privateKey), key, certification])
  const length = Buffer.alloc(4)
  length.writeUInt32LE(data.length)
  const quote = Buffer.concat([content, length, data])
  return wish.afterwards?.(quote) ?? quote
}

/** Quote, collateral and root of a machine whose RTMR3 is `rtmr3`, in hexadecimal. */
export const partsOf = (wish: TdxWish, rtmr3: string) => {
  const extensions = [{ id: SGX, value: pckExtension() }]
  const pck = makeCertificate({ ...PCK, name: wish.pckName ?? PCK.name }, PLATFORM, {
    serial: 3,
    usage: USAGE.signature,
    extensions,
    ...wish.pck,
  })
  const platform = makeCertificate(PLATFORM, ROOT, { authority: 0, usage: USAGE.both, ...wish.platform })
  const chain = pemOf(pck, platform, rootCertificate)
  const collateral: IntelCollateral = {
    kind: "intel",
    rootCrl: makeCrl(ROOT, { revoked: [98] }),
    pckCrl: makeCrl(PLATFORM, { revoked: [99] }),
    tcbInfo: signDocument({ ...TCB_INFO, ...wish.tcbInfo }),
    qeIdentity: signDocument({ ...QE_IDENTITY, ...wish.qeIdentity }),
  }
  return {
    report: Uint8Array.from(quoteOf(wish, wish.chain?.(chain) ?? chain, rtmr3)),
    collateral: wish.collateral?.(collateral) ?? collateral,
    roots: { intel: fingerprint(rootCertificate) },
  }
}

/** Evidence of a TDX machine that passes, with the wished changes. */
export const tdx = (wish: TdxWish = {}): AttestationCheck => {
  const rtmr3 = register("b3")
  const { report, collateral, roots } = partsOf(wish, rtmr3)
  const accept: AcceptedTdx = {
    format: "tdx",
    measurements: [{ ...MEASUREMENT, rtmr3 }],
    statuses: ["UpToDate"],
    advisories: [],
    ...wish.accept,
  }
  const check = checkFor({ format: "tdx", report }, { collateral, accept, roots })
  return wish.check?.(check) ?? check
}
