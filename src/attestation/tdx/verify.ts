/** Verifies TDX evidence (Intel TDX DCAP quoting library API; PCS API v4). */
import { createPublicKey, type KeyObject, verify } from "node:crypto"
import { isReportData, sha256 } from "../binding.ts"
import type { IntelCollateral } from "../collateral.ts"
import { EvidenceFailure, must } from "../failure.ts"
import type { FormatCheck, FormatFacts } from "../format.ts"
import type { AcceptedDstack, AcceptedTdx, TdxMeasurement } from "../policy.ts"
import { certificatesInPem, checkChain, nameOf } from "../x509/certificate.ts"
import { checkRevocation } from "../x509/crl.ts"
import { checkEventLog, type DstackApp } from "./dstack.ts"
import { readCollateral } from "./collateral.ts"
import { isPckAuthority, type PckFacts, pckFactsOf } from "./pck.ts"
import { readQuote, type TdReport, type TdxQuote } from "./quote.ts"
import { moduleLevel, platformLevel, qeLevel, type TcbLevel } from "./tcb.ts"

const SEPT_VE_DISABLE = 1 << 28
const MIGRATABLE = 1 << 29

const isSigned = (data: Uint8Array, key: KeyObject, signature: Uint8Array): boolean =>
  verify("sha256", data, { key, dsaEncoding: "ieee-p1363" }, signature)

const keyOf = (point: Buffer): KeyObject => {
  const [x, y] = [point.subarray(0, 32), point.subarray(32)].map((part) => part.toString("base64url"))
  try {
    return createPublicKey({ format: "jwk", key: { kty: "EC", crv: "P-256", x: x ?? "", y: y ?? "" } })
  } catch {
    must(false, "signature-wrong", "The quote's key is not a point of P-256.")
  }
}

/** PCK signs the QE's report, which names the attestation key, which signs the quote. */
const checkSignatures = (quote: TdxQuote, pck: KeyObject): void => {
  must(isSigned(quote.qeReport, pck, quote.qeSignature), "tdx-qe-signature", "The QE report's signature is wrong.")
  const named = quote.qeReport.subarray(320, 384)
  must(
    isReportData(named, sha256(quote.attestationKey, quote.qeAuthentication)),
    "tdx-qe-binding",
    "The QE report names another key.",
  )
  must(
    isSigned(quote.signed, keyOf(quote.attestationKey), quote.signature),
    "signature-wrong",
    "The quote's signature is wrong.",
  )
}

const checkAttributes = ({ attributes, serviceTd }: TdReport): void => {
  const flags = attributes.readUInt32LE(0)
  // Each bit of the lowest byte, DEBUG and reserved ones, makes a TD untrusted.
  must((flags & 0xff) === 0, "debug-enabled", "The guest can be debugged.")
  must(
    (flags & SEPT_VE_DISABLE) !== 0 && (flags & MIGRATABLE) === 0,
    "tdx-attributes",
    "SEPT_VE_DISABLE must be set, and MIGRATABLE not.",
  )
  must(serviceTd?.every((byte) => byte === 0) !== false, "tdx-service-td", "A service TD is bound to the guest.")
}

const checkPlatform = (info: Readonly<Record<string, unknown>>, pck: PckFacts): void => {
  must(info["fmspc"] === pck.fmspc.toUpperCase(), "tdx-fmspc", "The TCB info is for another platform (FMSPC).")
  must(info["pceId"] === pck.pceId.toUpperCase(), "tdx-pce-id", "The TCB info is for another PCE.")
}

type Entry = AcceptedTdx | AcceptedDstack

/** Refuses levels of platform, module and quoting enclave that the entry does not accept. */
const checkLevels = (
  { statuses, advisories, minimum_tcb_date: oldest }: Entry,
  found: ReadonlyArray<TcbLevel>,
): void => {
  for (const { status, advisories: open, date } of found) {
    const isNamed = status !== "Revoked" && statuses.includes(status)
    must(isNamed, "tdx-tcb-status", `The policy does not accept the status ${status}.`)
    const unknown = open.find((each) => !advisories.includes(each))
    must(unknown === undefined, "tdx-advisory", `The policy does not accept ${unknown}.`)
    const isRecent = oldest === undefined || date >= Date.parse(oldest)
    must(isRecent, "tdx-tcb-date", `The policy wants a TCB of ${oldest} or later.`)
  }
}

/** Throws the last entry's failure unless one accepts the levels. */
const checkAnyLevels = (entries: ReadonlyArray<Entry>, found: ReadonlyArray<TcbLevel>): void => {
  const failures: Array<EvidenceFailure> = []
  for (const entry of entries) {
    try {
      return checkLevels(entry, found)
    } catch (error) {
      if (!(error instanceof EvidenceFailure)) throw error
      failures.push(error)
    }
  }
  throw failures.at(-1) ?? new EvidenceFailure("measurement-unknown", "The policy does not know these measurements.")
}

const isMeasured = ({ mrtd, rtmr }: TdReport, each: TdxMeasurement): boolean =>
  each.mrtd === mrtd && each.rtmr0 === rtmr[0] && each.rtmr1 === rtmr[1] && each.rtmr2 === rtmr[2]

const knows = (entry: Entry, body: TdReport, app: DstackApp | undefined): boolean =>
  entry.format === "tdx"
    ? entry.measurements.some((one) => isMeasured(body, one) && one.rtmr3 === body.rtmr[3])
    : entry.measurements.some((one) => isMeasured(body, one)) &&
      app !== undefined &&
      entry.compose_hashes.includes(app.composeHash)

/** Whether the entry accepts app id and key provider: other code with both can derive the same identity. */
const trustsKeys = (entry: Entry, app: DstackApp | undefined): boolean =>
  entry.format === "tdx" ||
  (app !== undefined && entry.app_ids.includes(app.appId) && entry.key_providers.includes(app.keyProvider))

type TdxCheck = FormatCheck<AcceptedTdx> | FormatCheck<AcceptedDstack>

/** Checks everything but the binding. Throws an `EvidenceFailure` at the first check that fails. */
export const verifyQuote = (
  check: Omit<TdxCheck, "binding">,
  intel: IntelCollateral,
): FormatFacts & { readonly reportData: Buffer } => {
  const { evidence, deny, now, roots } = check
  const quote = readQuote(evidence.report)
  const { body } = quote
  checkAttributes(body)
  const chain = certificatesInPem(quote.pckChain)
  const [leaf, authority, root] = chain
  must(
    chain.length === 3 && leaf !== undefined && authority !== undefined && root !== undefined,
    "chain-length",
    "The PCK chain needs three certificates.",
  )
  const until = checkChain(chain, roots.intel, now)
  const isPck = nameOf(leaf) === "Intel SGX PCK Certificate" && isPckAuthority(nameOf(authority))
  must(isPck, "tdx-pck-chain", "The quote's chain is not one of PCK certificates.")
  const pck = pckFactsOf(leaf)
  checkSignatures(quote, leaf.publicKey)
  must(!deny.chips.includes(pck.ppid), "chip-denied", "The policy denies this platform.")
  const collateral = readCollateral(intel, roots.intel, now)
  const ends = [
    checkRevocation(intel.rootCrl, root, [authority], now),
    checkRevocation(intel.pckCrl, authority, [leaf], now),
  ]
  checkPlatform(collateral.tcbInfo, pck)
  const levels = [
    qeLevel(collateral.qeIdentity, quote.qeReport),
    platformLevel(collateral.tcbInfo, pck, body),
    moduleLevel(collateral.tcbInfo, body),
  ].filter((level) => level !== undefined)
  const app = evidence.format === "dstack" ? checkEventLog(evidence.collateral, body.rtmr[3]) : undefined
  const entries = check.accepted.filter((entry) => knows(entry, body, app))
  const trusting = entries.filter((entry) => trustsKeys(entry, app))
  must(
    entries.length === 0 || trusting.length > 0,
    "dstack-key-service",
    `The policy does not accept keys of app ${app?.appId} from ${app?.keyProvider}.`,
  )
  checkAnyLevels(trusting, levels)
  return {
    reportData: body.reportData,
    measurement: app?.composeHash ?? body.mrtd,
    hardware: "Intel TDX",
    chip: pck.ppid,
    validUntil: Math.min(until, collateral.until, ...ends),
  }
}

/** Checks a quote of either format, and that it carries the binding. Throws an `EvidenceFailure`. */
export const verifyTdx = (check: TdxCheck, collateral: IntelCollateral): FormatFacts => {
  const { reportData, ...facts } = verifyQuote(check, collateral)
  const bound = isReportData(reportData, check.binding)
  must(bound, "binding-differs", "The quote covers another key, configuration or nonce.")
  return facts
}
