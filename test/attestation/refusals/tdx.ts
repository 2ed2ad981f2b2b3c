/** TDX evidence with one mistake each, correctly signed where the mistake allows. */
import { decodeCollateral, encodeCollateral } from "../../../src/attestation/collateral.ts"
import { collateralNeedOf } from "../../../src/attestation/collateralNeed.ts"
import { makeCertificate, makeCrl, makeKeys, pemOf, type Subject } from "../support/authority.ts"
import {
  LEVEL,
  MEASUREMENT,
  MODULE_LEVEL,
  moduleWith,
  pckExtension,
  PLATFORM,
  QE_LEVEL,
  ROOT,
  ROOT_PEM,
  SIGNER,
  signDocument,
  tdx,
  type TdxWish,
} from "../support/tdx.ts"
import { sequence } from "../support/der.ts"
import { snp } from "../support/snp.ts"
import { NOW } from "../support/world.ts"
import { type Refusal, refusalsOf } from "./refusal.ts"

const HEADER = 48
const BODY = 584
const SIGNATURES = HEADER + BODY + 4
const QE_REPORT = SIGNATURES + 128 + 6

const at = (place: number, value: number) => (quote: Buffer) => {
  quote[place] = value
  return quote
}
const flip = (place: number) => (quote: Buffer) => at(place, (quote[place] ?? 0) ^ 1)(quote)
const SGX = "1.2.840.113741.1.13.1"
const pck = (...values: Parameters<typeof pckExtension>): TdxWish => ({
  pck: { extensions: [{ id: SGX, value: pckExtension(...values) }] },
})
const measured = (change: object): TdxWish => ({
  accept: { measurements: [{ ...MEASUREMENT, rtmr3: "b3".repeat(48), ...change }] },
})
const ZERO = "00".repeat(48)
const level = (change: object): TdxWish => ({ tcbInfo: { tcbLevels: [{ ...LEVEL, ...change }] } })
const moduleLevel = (change: object): TdxWish => ({
  tcbInfo: { tdxModuleIdentities: moduleWith({ ...MODULE_LEVEL, ...change }) },
})
const qeLevel = (change: object): TdxWish => ({ qeIdentity: { tcbLevels: [{ ...QE_LEVEL, ...change }] } })
const collateral = (change: object): TdxWish => ({ collateral: (each) => ({ ...each, ...change }) })
const YESTERDAY = new Date((NOW - 86_400) * 1000).toISOString()
const TOMORROW = new Date((NOW + 86_400) * 1000).toISOString()
const SOON = new Date((NOW + 61) * 1000).toISOString()
const otherKeys = ({ name }: Subject): Subject => ({ name, keys: makeKeys("p256") })
const FORGED = otherKeys(SIGNER)
const PCK_AS_SIGNER = pemOf(makeCertificate({ ...SIGNER, name: "Intel SGX PCK Certificate" }, ROOT, { serial: 5 }))

const quotes = refusalsOf<TdxWish>(tdx, [
  ["an empty quote", "report-length", { afterwards: () => Buffer.alloc(0) }],
  ["a quote that ends within its body", "report-length", { afterwards: (quote) => quote.subarray(0, 100) }],
  [
    "a quote of version 5 that ends at its body",
    "report-length",
    { version: 5, afterwards: (quote) => quote.subarray(0, 50) },
  ],
  ["an attestation key that is no point of P-256", "signature-wrong", { key: Buffer.alloc(64, 1) }],
  ["a quote that ends early", "report-length", { afterwards: (quote) => quote.subarray(0, 3000) }],
  ["a body of another size", "report-length", { version: 5, header: (header) => void header.writeUInt32LE(584, 50) }],
  ["certification data of another size", "report-length", { afterwards: flip(QE_REPORT - 4) }],
  ["a PCK chain of another size", "report-length", { afterwards: flip(QE_REPORT + 384 + 64 + 2 + 32 + 2) }],
  ["a quote of version 3", "report-version", { header: (header) => void header.writeUInt16LE(3, 0) }],
  ["another key type", "tdx-key-type", { header: (header) => void header.writeUInt16LE(3, 2) }],
  ["SGX as the TEE", "tdx-tee-type", { header: (header) => void header.writeUInt32LE(0, 4) }],
  [
    "a body of TDX 1.0 in version 5",
    "tdx-tee-type",
    { version: 5, header: (header) => void header.writeUInt16LE(2, 48) },
  ],
  ["another vendor of the QE (CVE-2026-22696)", "tdx-qe-vendor", { header: (header) => void (header[12] = 0) }],
  ["bytes behind the signature", "report-padding", { afterwards: (quote) => Buffer.concat([quote, Buffer.of(1)]) }],
  ["no QE report", "tdx-certification-data", { afterwards: at(QE_REPORT - 6, 5) }],
  ["a PCK certificate by reference", "tdx-certification-data", { afterwards: at(QE_REPORT + 384 + 64 + 2 + 32, 1) }],
  ["a debug guest with a good signature", "debug-enabled", { body: (body) => void (body[120] = 1) }],
  ["SEPT_VE_DISABLE = 0", "tdx-attributes", { body: (body) => void body.writeUInt32LE(0, 120) }],
  ["MIGRATABLE = 1", "tdx-attributes", { body: (body) => void body.writeUInt32LE((1 << 28) | (1 << 29), 120) }],
  ["a service TD", "tdx-service-td", { version: 5, body: (body) => void (body[647] = 1) }],
  ["a binding with other padding", "binding-differs", { body: (body) => void (body[583] = 1) }],
  ["a chain of two", "chain-length", { chain: (chain) => chain.slice(0, chain.lastIndexOf("-----BEGIN")) }],
  ["a chain with other line ends", "certificate-malformed", { chain: (chain) => chain.replaceAll("\n", "\r\n") }],
  ["text between the certificates", "certificate-malformed", { chain: (chain) => `x\n${chain}` }],
  [
    "another root",
    "chain-root",
    { check: (check) => ({ ...check, roots: { ...check.roots, intel: "00".repeat(32) } }) },
  ],
  ["a leaf that is no PCK certificate", "tdx-pck-chain", { pckName: "Intel SGX TCB Signing" }],
  [
    "an empty extension of a PCK certificate",
    "certificate-malformed",
    { pck: { extensions: [{ id: SGX, value: sequence() }] } },
  ],
  [
    "an empty pair in a PCK certificate",
    "certificate-malformed",
    { pck: { extensions: [{ id: SGX, value: sequence(sequence()) }] } },
  ],
  ["a PCK certificate without Intel's extension", "certificate-malformed", { pck: { extensions: [] } }],
  ["a changed QE report", "tdx-qe-signature", { afterwards: flip(QE_REPORT + 128) }],
  ["another attestation key", "tdx-qe-binding", { afterwards: flip(SIGNATURES + 64) }],
  [
    "a QE report that names another key",
    "tdx-qe-binding",
    { qeReport: (report) => void (report[320] = (report[320] ?? 0) ^ 1) },
  ],
  ["a QE report with more than a key's hash", "tdx-qe-binding", { qeReport: (report) => void (report[352] = 1) }],
  [
    "a measurement without a signature",
    "signature-wrong",
    { afterwards: (quote) => quote.fill(0, SIGNATURES, SIGNATURES + 64) },
  ],
  ["a measurement changed after signing", "signature-wrong", { afterwards: flip(HEADER + 136) }],
])

const platforms = refusalsOf<TdxWish>(tdx, [
  ["another signer of the QE", "tdx-qe-identity", { qeReport: (report) => void report.fill(0, 128, 160) }],
  ["another product of the QE", "tdx-qe-identity", { qeReport: (report) => void report.writeUInt16LE(1, 256) }],
  ["a debug QE", "tdx-qe-identity", { qeReport: (report) => void (report[48] = 0x13) }],
  ["another MISCSELECT of the QE", "tdx-qe-identity", { qeReport: (report) => void (report[16] = 1) }],
  ["a QE below all levels", "tdx-qe-tcb", { qeReport: (report) => void report.writeUInt16LE(3, 258) }],
  ["TCB info of another platform", "tdx-fmspc", pck("00a06f050000")],
  ["TCB info of another PCE", "tdx-pce-id", pck("00806f050000", "0001")],
  ["another signer of the TDX module", "tdx-module-signer", { body: (body) => void (body[64] = 1) }],
  ["other attributes of the TDX module", "tdx-module-attributes", { body: (body) => void (body[112] = 1) }],
  [
    "attributes that Intel names, but not zero",
    "tdx-module-attributes",
    {
      body: (body) => void (body[112] = 1),
      tcbInfo: { tdxModuleIdentities: [{ ...moduleWith(MODULE_LEVEL)[0], attributes: "0100000000000000" }] },
    },
  ],
  ["an unlisted TDX module", "tdx-module-tcb", { body: (body) => void (body[1] = 9) }],
  ["a TDX module below all levels", "tdx-module-tcb", { body: (body) => void (body[0] = 4) }],
  ["a processor below all levels", "tdx-tcb-level", pck("00806f050000", "0000", 4)],
  ["a TDX component below all levels", "tdx-tcb-level", { body: (body) => void (body[15] = 0) }],
  ["a platform that is out of date", "tdx-tcb-status", level({ tcbStatus: "OutOfDate" })],
  ["a module that is out of date", "tdx-tcb-status", moduleLevel({ tcbStatus: "OutOfDate" })],
  ["a QE that is out of date", "tdx-tcb-status", qeLevel({ tcbStatus: "OutOfDate" })],
  [
    "a revoked platform, even if the policy names it",
    "tdx-tcb-status",
    { ...level({ tcbStatus: "Revoked" }), accept: { statuses: ["UpToDate", "Revoked"] } },
  ],
  ["an advisory without its name in the policy", "tdx-advisory", level({ advisoryIDs: ["INTEL-SA-00615"] })],
  ["an advisory of the module", "tdx-advisory", moduleLevel({ advisoryIDs: ["INTEL-SA-00615"] })],
  ["a TCB of an older date", "tdx-tcb-date", { accept: { minimum_tcb_date: "2026-02-01" } }],
  [
    "a module of an older date",
    "tdx-tcb-date",
    { ...moduleLevel({ tcbDate: "2024-01-01T00:00:00Z" }), accept: { minimum_tcb_date: "2025-01-01" } },
  ],
  ["another MRTD", "measurement-unknown", measured({ mrtd: ZERO })],
  ["another RTMR0", "measurement-unknown", measured({ rtmr0: ZERO })],
  ["another RTMR1", "measurement-unknown", measured({ rtmr1: ZERO })],
  ["another RTMR2", "measurement-unknown", measured({ rtmr2: ZERO })],
  ["another RTMR3", "measurement-unknown", measured({ rtmr3: ZERO })],
  [
    "a denied platform",
    "chip-denied",
    { check: (check) => ({ ...check, policy: { ...check.policy, deny: { chips: ["77".repeat(16)], kids: [] } } }) },
  ],
])

const documents = refusalsOf<TdxWish>(tdx, [
  ["expired TCB info", "collateral-expired", { tcbInfo: { nextUpdate: YESTERDAY } }],
  ["TCB info of tomorrow", "collateral-expired", { tcbInfo: { issueDate: TOMORROW } }],
  ["TCB info of more than a minute from now", "collateral-expired", { tcbInfo: { issueDate: SOON } }],
  ["a QE identity of more than a minute from now", "collateral-expired", { qeIdentity: { issueDate: SOON } }],
  ["TCB info that ends now", "collateral-expired", { tcbInfo: { nextUpdate: new Date(NOW * 1000).toISOString() } }],
  ["an expired QE identity", "collateral-expired", { qeIdentity: { nextUpdate: YESTERDAY } }],
  ["TCB info of SGX", "collateral-kind", { tcbInfo: { id: "SGX" } }],
  ["TCB info of version 2", "collateral-kind", { tcbInfo: { version: 2 } }],
  ["the identity of SGX's QE", "collateral-kind", { qeIdentity: { id: "QE" } }],
  ["TCB info without a date", "collateral-malformed", { tcbInfo: { issueDate: undefined } }],
  ["a PCE version as text", "collateral-malformed", level({ tcb: { ...LEVEL.tcb, pcesvn: "13" } })],
  ["a level without its TCB", "collateral-malformed", level({ tcb: undefined })],
  ["TCB info without levels", "collateral-malformed", { tcbInfo: { tcbLevels: undefined } }],
  [
    "a level of 15 components",
    "collateral-malformed",
    level({ tcb: { ...LEVEL.tcb, sgxtcbcomponents: LEVEL.tcb.sgxtcbcomponents.slice(1) } }),
  ],
  ["a level without a status", "collateral-malformed", level({ tcbStatus: undefined })],
  ["a level without a date", "collateral-malformed", level({ tcbDate: undefined })],
  ["a signer that is not hexadecimal", "collateral-malformed", { qeIdentity: { mrsigner: "x" } }],
  [
    "TCB info that is a list",
    "collateral-malformed",
    collateral({ tcbInfo: signDocument([] as unknown as Record<string, unknown>) }),
  ],
  ["TCB info that a stranger signed", "collateral-signature", collateral({ tcbInfo: signDocument({}, FORGED) })],
  [
    "a QE identity that a stranger signed",
    "collateral-signature",
    collateral({ qeIdentity: signDocument({}, FORGED) }),
  ],
  [
    "TCB info signed by another certificate of Intel",
    "collateral-signer",
    collateral({ tcbInfo: signDocument({}, SIGNER, PCK_AS_SIGNER + ROOT_PEM) }),
  ],
  ["TCB info with a chain of one", "chain-length", collateral({ tcbInfo: signDocument({}, SIGNER, ROOT_PEM) })],
  ["TCB info without a chain", "certificate-malformed", collateral({ tcbInfo: signDocument({}, SIGNER, "") })],
  ["a revoked PCK certificate", "certificate-revoked", collateral({ pckCrl: makeCrl(PLATFORM, { revoked: [3] }) })],
  [
    "a revoked authority of PCK certificates",
    "certificate-revoked",
    collateral({ rootCrl: makeCrl(ROOT, { revoked: [2] }) }),
  ],
  ["a revoked signer of TCB info", "certificate-revoked", collateral({ rootCrl: makeCrl(ROOT, { revoked: [4] }) })],
  ["the root's list in place of the PCK list", "crl-issuer", collateral({ pckCrl: makeCrl(ROOT) })],
  ["an old PCK list", "crl-expired", collateral({ pckCrl: makeCrl(PLATFORM, { until: NOW - 1 }) })],
  ["an old root list", "crl-expired", collateral({ rootCrl: makeCrl(ROOT, { until: NOW - 1 }) })],
  [
    "a PCK list that a stranger of the same name signed",
    "crl-signature",
    collateral({ pckCrl: makeCrl(otherKeys(PLATFORM)) }),
  ],
  [
    "a root list that a stranger of the same name signed",
    "crl-signature",
    collateral({ rootCrl: makeCrl(otherKeys(ROOT)) }),
  ],
  ["a skipped PCK list", "crl-malformed", collateral({ pckCrl: new Uint8Array() })],
])

const stored = encodeCollateral(tdx().collateral)
const storedAmd = encodeCollateral(snp().collateral)
const decoding = (name: string, value: unknown): Refusal => [
  name,
  "collateral-malformed",
  () => decodeCollateral(value),
]
const need = (chain: (chain: string) => string) => () => collateralNeedOf(tdx({ chain }).evidence)
const leafOf = (chain: string): string => chain.slice(0, chain.indexOf("-----BEGIN", 1))

export const TDX_REFUSALS: ReadonlyArray<Refusal> = [
  ...quotes,
  ...platforms,
  ...documents,
  decoding("kept collateral that is a list", []),
  decoding("kept collateral that is null", null),
  decoding("kept collateral of an unknown kind", { ...stored, kind: "arm" }),
  decoding("a kept list that is not hexadecimal", { ...stored, pck_crl: "x" }),
  decoding("a kept list that is missing", { ...stored, root_ca_crl: undefined }),
  decoding("a kept document of a megabyte", { ...stored, tcb_info: " ".repeat(1024 * 1024) }),
  decoding("a kept certificate with padding", { ...storedAmd, leaf: "AA==" }),
  ["a quote with its leaf only", "chain-length", need(leafOf)],
  ["a quote whose leaf names no PCK authority", "tdx-pck-chain", need((chain) => leafOf(chain) + ROOT_PEM)],
]
