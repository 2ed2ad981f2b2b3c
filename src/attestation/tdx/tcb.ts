/** TCB levels of platform, TDX module and quoting enclave (Intel PCS API v4, "TCB info" and "enclave identity"). */
import type { JsonObject } from "../../domain/json/json.ts"
import { must } from "../failure.ts"
import { hexIn } from "../collateral.ts"
import { numberIn, objectIn, objectsIn } from "./collateral.ts"
import type { PckFacts } from "./pck.ts"
import type { TdReport } from "./quote.ts"

export interface TcbLevel {
  readonly status: string
  readonly advisories: ReadonlyArray<string>
  /** Milliseconds since the epoch: the level has all fixes up to this date. */
  readonly date: number
}

const levelOf = (level: JsonObject): TcbLevel => {
  const { tcbStatus, tcbDate, advisoryIDs = [] } = level
  const date = typeof tcbDate === "string" ? Date.parse(tcbDate) : Number.NaN
  const isText = (value: unknown): value is string => typeof value === "string"
  must(
    isText(tcbStatus) && Array.isArray(advisoryIDs) && advisoryIDs.every(isText) && !Number.isNaN(date),
    "collateral-malformed",
    "A TCB level has no status or date.",
  )
  return { status: tcbStatus, advisories: advisoryIDs, date }
}

const masked = (value: Uint8Array, mask: Uint8Array): string =>
  Buffer.from(value.map((byte, i) => byte & (mask[i] ?? 0))).toString("hex")

/** The newest level that `has` accepts. Levels are listed from new to old. */
const byVersion = (levels: ReadonlyArray<JsonObject>, version: number): TcbLevel | undefined => {
  const level = levels.find((each) => numberIn(objectIn(each, "tcb"), "isvsvn") <= version)
  return level === undefined ? undefined : levelOf(level)
}

/** Platform: certificate and report reach all components of a level. */
export const platformLevel = (info: JsonObject, pck: PckFacts, report: TdReport): TcbLevel => {
  const [, moduleVersion = 0] = report.tcbSvn
  // The module's own versions are checked by its identity from TDX 1.5 on.
  const first = moduleVersion > 0 ? 2 : 0
  const reaches = (tcb: JsonObject): boolean => {
    const [sgx, tdx] = ["sgxtcbcomponents", "tdxtcbcomponents"].map((name) => objectsIn(tcb, name))
    must(sgx?.length === 16 && tdx?.length === 16, "collateral-malformed", "A TCB level needs 16 components.")
    return (
      sgx.every((each, i) => (pck.components[i] ?? 0) >= numberIn(each, "svn")) &&
      tdx.every((each, i) => i < first || (report.tcbSvn[i] ?? 0) >= numberIn(each, "svn")) &&
      pck.pceSvn >= numberIn(tcb, "pcesvn")
    )
  }
  const level = objectsIn(info, "tcbLevels").find((each) => reaches(objectIn(each, "tcb")))
  must(level !== undefined, "tdx-tcb-level", "The platform reaches no TCB level of Intel.")
  return levelOf(level)
}

/** Signer, attributes and version of the TDX module. */
export const moduleLevel = (info: JsonObject, report: TdReport): TcbLevel | undefined => {
  const [version = 0, major = 0] = report.tcbSvn
  const id = `TDX_${major.toString(16).toUpperCase().padStart(2, "0")}`
  const identity =
    major === 0 ? objectIn(info, "tdxModule") : objectsIn(info, "tdxModuleIdentities").find((each) => each["id"] === id)
  must(identity !== undefined, "tdx-module-tcb", `Intel does not list the module ${id}.`)
  must(
    report.moduleSigner.equals(hexIn(identity, "mrsigner")),
    "tdx-module-signer",
    "The TDX module has another signer.",
  )
  const isSame =
    masked(report.moduleAttributes, hexIn(identity, "attributesMask")) === hexIn(identity, "attributes").toString("hex")
  // Besides equality, Intel's library requires zeros ("4.1.2.4.11.2").
  const isPlain = report.moduleAttributes.every((byte) => byte === 0)
  must(isSame && isPlain, "tdx-module-attributes", "The TDX module has other attributes.")
  if (major === 0) return undefined
  const status = byVersion(objectsIn(identity, "tcbLevels"), version)
  must(status !== undefined, "tdx-module-tcb", "The TDX module reaches no TCB level of Intel.")
  return status
}

/** Identity and version of the quoting enclave, from its SGX report (Intel SDM, REPORT). */
export const qeLevel = (identity: JsonObject, report: Buffer): TcbLevel => {
  const same =
    masked(report.subarray(16, 20), hexIn(identity, "miscselectMask")) ===
      hexIn(identity, "miscselect").toString("hex") &&
    masked(report.subarray(48, 64), hexIn(identity, "attributesMask")) ===
      hexIn(identity, "attributes").toString("hex") &&
    report.subarray(128, 160).equals(hexIn(identity, "mrsigner")) &&
    report.readUInt16LE(256) === numberIn(identity, "isvprodid")
  must(same, "tdx-qe-identity", "The quoting enclave is not the one that Intel names.")
  const status = byVersion(objectsIn(identity, "tcbLevels"), report.readUInt16LE(258))
  must(status !== undefined, "tdx-qe-tcb", "The quoting enclave reaches no TCB level of Intel.")
  return status
}
