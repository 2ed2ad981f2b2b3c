/** Intel's collateral (PCS API v4): TCB info and QE identity, signed JSON, and the shape of TCB levels. */
import { type KeyObject, verify } from "node:crypto"
import { isObject, type JsonObject, parseJson } from "../../domain/json/json.ts"
import { hasBegun } from "../clock.ts"
import { type IntelCollateral, type IntelDocument, MALFORMED, textIn } from "../collateral.ts"
import { must } from "../failure.ts"
import { certificatesInPem, checkChain, nameOf } from "../x509/certificate.ts"
import { checkRevocation } from "../x509/crl.ts"

interface TdxCollateral {
  readonly tcbInfo: JsonObject
  readonly qeIdentity: JsonObject
  /** Earliest end of both documents and their certificates, in seconds. */
  readonly until: number
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

interface Context {
  readonly rootCrl: Uint8Array
  /** SHA-256 of the pinned root. */
  readonly root: string
  readonly now: number
}

interface Signer {
  readonly key: KeyObject
  /** Earliest end of its chain and of the revocation list, in seconds. */
  readonly until: number
}

/** Verifies the chain of a document's signer. */
const signerOf = (issuerChain: string, { rootCrl, root, now }: Context): Signer => {
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
  return { key: signer.publicKey, until: Math.min(chainUntil, crlUntil) }
}

/** One signed document, of the given kind and current. */
const readDocument = (
  { text, signature }: IntelDocument,
  signer: Signer,
  { id, version, now }: { readonly id: string; readonly version: number; readonly now: number },
): { readonly document: JsonObject; readonly until: number } => {
  const valid = verify("sha256", Buffer.from(text), { key: signer.key, dsaEncoding: "ieee-p1363" }, signature)
  must(valid, "collateral-signature", `The signature of ${id} is wrong.`)
  const document = parseJson(text)
  must(isObject(document), MALFORMED, `The collateral's ${id} is not an object.`)
  const isExpected = document["id"] === id && document["version"] === version
  must(isExpected, "collateral-kind", `The collateral's ${id} is of another kind.`)
  const [from, until] = ["issueDate", "nextUpdate"].map((date) => Date.parse(textIn(document, date)) / 1000)
  must(
    from !== undefined && until !== undefined && hasBegun(from, now) && now < until,
    "collateral-expired",
    `The collateral's ${id} is not valid at this time.`,
  )
  return { document, until: Math.min(until, signer.until) }
}

/** Verifies collateral against the pinned root. Throws an `EvidenceFailure`. */
export const readCollateral = (
  { tcbInfo, qeIdentity, rootCrl }: IntelCollateral,
  root: string,
  now: number,
): TdxCollateral => {
  const context = { rootCrl, root, now }
  const tcb = readDocument(tcbInfo, signerOf(tcbInfo.issuerChain, context), { id: "TDX", version: 3, now })
  const qe = readDocument(qeIdentity, signerOf(qeIdentity.issuerChain, context), { id: "TD_QE", version: 2, now })
  return { tcbInfo: tcb.document, qeIdentity: qe.document, until: Math.min(tcb.until, qe.until) }
}
