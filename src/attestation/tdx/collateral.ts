/** Intel's collateral (PCS API v4): TCB info and QE identity, signed JSON, and the shape of TCB levels. */
import { verify } from "node:crypto"
import { isObject, type JsonObject, parseJson } from "../../domain/json/json.ts"
import type { IntelCollateral, IntelDocument } from "../collateral.ts"
import { must } from "../failure.ts"
import { certificatesInPem, checkChain, nameOf } from "../x509/certificate.ts"
import { checkRevocation } from "../x509/crl.ts"

export interface TdxCollateral {
  readonly tcbInfo: JsonObject
  readonly qeIdentity: JsonObject
  /** Earliest end of both documents and their certificates, in seconds. */
  readonly until: number
}

const MALFORMED = "collateral-malformed"

const textIn = (object: JsonObject, name: string): string => {
  const value = object[name]
  must(typeof value === "string", MALFORMED, `The collateral's ${name} is missing.`)
  return value
}

export const hexIn = (object: JsonObject, name: string): Buffer => {
  const text = textIn(object, name)
  must(/^(?:[0-9a-fA-F]{2})*$/.test(text), MALFORMED, `The collateral's ${name} is not hexadecimal.`)
  return Buffer.from(text, "hex")
}

export const numberIn = (object: JsonObject, name: string): number => {
  const value = object[name]
  must(typeof value === "number", MALFORMED, `The collateral's ${name} is not a number.`)
  return value
}

export const objectIn = (object: JsonObject, name: string): JsonObject => {
  const value = object[name]
  must(isObject(value), MALFORMED, `The collateral's ${name} is not an object.`)
  return value
}

export const objectsIn = (object: JsonObject, name: string): ReadonlyArray<JsonObject> => {
  const value = object[name]
  must(Array.isArray(value) && value.every(isObject), MALFORMED, `The collateral's ${name} is not a list.`)
  return value
}

const INTEL_TCB_SIGNER = "Intel SGX TCB Signing"

/** One signed document, of the given kind and current, from Intel's TCB signer. */
const readDocument = (
  { text, signature, issuerChain }: IntelDocument,
  expected: { readonly id: string; readonly version: number },
  { rootCrl, root, now }: { readonly rootCrl: Uint8Array; readonly root: string; readonly now: number },
): { readonly document: JsonObject; readonly until: number } => {
  const { id, version } = expected
  const chain = certificatesInPem(issuerChain)
  const [signer, authority] = chain
  must(
    chain.length === 2 && signer !== undefined && authority !== undefined,
    "chain-length",
    "The signer's chain needs two certificates.",
  )
  const chainUntil = checkChain(chain, root, now)
  must(nameOf(signer) === INTEL_TCB_SIGNER, "collateral-signer", "The collateral has another signer.")
  const crlUntil = checkRevocation(rootCrl, authority, [signer], now)
  const key = { key: signer.publicKey, dsaEncoding: "ieee-p1363" } as const
  const valid = verify("sha256", Buffer.from(text), key, signature)
  must(valid, "collateral-signature", `The signature of ${id} is wrong.`)
  const document = parseJson(text)
  must(isObject(document), MALFORMED, `The collateral's ${id} is not an object.`)
  const isExpected = document["id"] === id && document["version"] === version
  must(isExpected, "collateral-kind", `The collateral's ${id} is of another kind.`)
  const [from, until] = ["issueDate", "nextUpdate"].map((date) => Date.parse(textIn(document, date)) / 1000)
  must(
    from !== undefined && until !== undefined && from <= now && now < until,
    "collateral-expired",
    `The collateral's ${id} is not valid at this time.`,
  )
  return { document, until: Math.min(until, chainUntil, crlUntil) }
}

/** Verifies collateral against the pinned root. Throws an `EvidenceFailure`. */
export const readCollateral = (collateral: IntelCollateral, root: string, now: number): TdxCollateral => {
  const context = { rootCrl: collateral.rootCrl, root, now }
  const tcb = readDocument(collateral.tcbInfo, { id: "TDX", version: 3 }, context)
  const qe = readDocument(collateral.qeIdentity, { id: "TD_QE", version: 2 }, context)
  return { tcbInfo: tcb.document, qeIdentity: qe.document, until: Math.min(tcb.until, qe.until) }
}
