/** Intel's collateral (PCS API v4): TCB info and QE identity, signed JSON, and the shape of TCB levels. */
import { verify } from "node:crypto"
import { isObject, type JsonObject, parseJson } from "../../domain/json/json.ts"
import { must } from "../failure.ts"
import { type Certificate, certificatesInPem, checkChain } from "../x509/certificate.ts"
import { checkRevocation } from "../x509/crl.ts"

export interface TdxCollateral {
  readonly tcbInfo: JsonObject
  readonly qeIdentity: JsonObject
  readonly pckCrl: Uint8Array
  readonly pckCrlIssuer: Certificate
  readonly rootCrl: Uint8Array
  /** Earliest end of both documents and their certificates, in seconds. */
  readonly until: number
  /** dstack's additions. */
  readonly members: JsonObject
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

const INTEL_TCB_SIGNER = "CN=Intel SGX TCB Signing"

/** Decodes and verifies collateral. Throws an `EvidenceFailure`. */
export const readCollateral = (bytes: Uint8Array | undefined, root: string, now: number): TdxCollateral => {
  const members = bytes === undefined ? undefined : parseJson(Buffer.from(bytes).toString())
  must(isObject(members), MALFORMED, "The collateral is not a JSON object.")
  const rootCrl = hexIn(members, "root_ca_crl")
  const documentIn = (name: "tcb_info" | "qe_identity", id: string, version: number) => {
    const chain = certificatesInPem(textIn(members, `${name}_issuer_chain`))
    const [signer, authority] = chain
    must(
      chain.length === 2 && signer !== undefined && authority !== undefined,
      "chain-length",
      "The signer's chain needs two certificates.",
    )
    const chainUntil = checkChain(chain, root, now)
    must(
      signer.x509.subject.split("\n").includes(INTEL_TCB_SIGNER),
      "collateral-signature",
      "The collateral has another signer.",
    )
    const crlUntil = checkRevocation(rootCrl, authority, [signer], now)
    const text = textIn(members, name)
    const key = { key: signer.publicKey, dsaEncoding: "ieee-p1363" } as const
    const valid = verify("sha256", Buffer.from(text), key, hexIn(members, `${name}_signature`))
    must(valid, "collateral-signature", `The signature of ${name} is wrong.`)
    const document = parseJson(text)
    must(isObject(document), MALFORMED, `The collateral's ${name} is not an object.`)
    must(
      document["id"] === id && document["version"] === version,
      MALFORMED,
      `The collateral's ${name} is of another kind.`,
    )
    const [from, until] = ["issueDate", "nextUpdate"].map((date) => Date.parse(textIn(document, date)) / 1000)
    must(
      from !== undefined && until !== undefined && from <= now && now < until,
      "collateral-expired",
      `The collateral's ${name} is not valid at this time.`,
    )
    return { document, until: Math.min(until, chainUntil, crlUntil) }
  }
  const tcb = documentIn("tcb_info", "TDX", 3)
  const qe = documentIn("qe_identity", "TD_QE", 2)
  const issuers = certificatesInPem(textIn(members, "pck_crl_issuer_chain"))
  const [pckCrlIssuer] = issuers
  must(
    issuers.length === 2 && pckCrlIssuer !== undefined,
    "chain-length",
    "The PCK list's chain needs two certificates.",
  )
  checkChain(issuers, root, now)
  return {
    tcbInfo: tcb.document,
    qeIdentity: qe.document,
    pckCrl: hexIn(members, "pck_crl"),
    pckCrlIssuer,
    rootCrl,
    until: Math.min(tcb.until, qe.until),
    members,
  }
}
