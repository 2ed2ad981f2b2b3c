/** PKI tokens of Confidential Space: a compact JWS (RFC 7515) with its chain in `x5c` (Google Cloud, "Attestation token claims"). */
import { verify } from "node:crypto"
import { type Bytes, decodeBase64Url, fromUtf8, utf8 } from "../../domain/bytes/bytes.ts"
import { parseIJson } from "../../domain/json/iJson.ts"
import { isObject, type JsonObject } from "../../domain/json/json.ts"
import { EvidenceFailure, must } from "../failure.ts"
import { type Certificate, certificateOf, checkChain } from "../x509/certificate.ts"

const MALFORMED = "space-token-malformed"

const CHAIN_LENGTH = 3
const MIN_RSA_BITS = 2048

const partIn = (text: string | undefined): Bytes => {
  const bytes = text === undefined ? undefined : decodeBase64Url(text)
  must(bytes !== undefined, MALFORMED, "The token is not a compact JWS.")
  return bytes
}

const objectIn = (bytes: Bytes): JsonObject => {
  try {
    const value = parseIJson(bytes)
    if (isObject(value)) return value
  } catch {
    throw new EvidenceFailure(MALFORMED, "A part of the token is not I-JSON.")
  }
  throw new EvidenceFailure(MALFORMED, "A part of the token is not a JSON object.")
}

const textOf = (bytes: Bytes): string => {
  try {
    return fromUtf8(bytes)
  } catch {
    throw new EvidenceFailure(MALFORMED, "The token is not text.")
  }
}

/** `x5c` is standard base64 with padding, unlike the rest of a JWS (RFC 7515 §4.1.6). */
const certificateIn = (text: unknown): Certificate => {
  const der = typeof text === "string" ? Buffer.from(text, "base64") : undefined
  must(der !== undefined && der.toString("base64") === text, MALFORMED, "A certificate of x5c is not standard base64.")
  return certificateOf(Uint8Array.from(der))
}

const chainIn = ({ x5c }: JsonObject): readonly [Certificate, ...ReadonlyArray<Certificate>] => {
  must(Array.isArray(x5c), MALFORMED, "The token has no x5c.")
  must(x5c.length === CHAIN_LENGTH, "chain-length", "The token's chain needs three certificates.")
  const [leaf, ...authorities] = x5c.map(certificateIn)
  must(leaf !== undefined, "chain-length", "The token's chain needs three certificates.")
  return [leaf, ...authorities]
}

/**
 * Verifies signature and chain. Returns the claims, which are not judged yet, and the earliest end of the chain, in seconds.
 * Throws an `EvidenceFailure`.
 */
export const readToken = (
  report: Bytes,
  root: string,
  now: number,
): { readonly claims: JsonObject; readonly until: number } => {
  const [first, second, third, more] = textOf(report).split(".")
  const [header, payload, signature] = [partIn(first), partIn(second), partIn(third)]
  must(more === undefined, MALFORMED, "The token is not a compact JWS.")
  const parameters = objectIn(header)
  must(parameters["alg"] === "RS256", "space-algorithm", "The token's algorithm is not RS256.")
  must(!("crit" in parameters), MALFORMED, "The token has critical extensions.")
  const chain = chainIn(parameters)
  const until = checkChain(chain, root, now)
  const { publicKey } = chain[0]
  const isRsa = publicKey.asymmetricKeyType === "rsa"
  const isLong = (publicKey.asymmetricKeyDetails?.modulusLength ?? 0) >= MIN_RSA_BITS
  must(isRsa && isLong, "space-algorithm", "The leaf's key is not RSA of at least 2048 bits.")
  const isValid = verify("sha256", utf8(`${first}.${second}`), publicKey, signature)
  must(isValid, "signature-wrong", "The token's signature is wrong.")
  return { claims: objectIn(payload), until }
}
