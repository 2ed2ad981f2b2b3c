/** Revocation lists (RFC 5280 §5). */
import { constants, type KeyObject, verify } from "node:crypto"
import { equalBytes } from "../../domain/bytes/bytes.ts"
import { hasBegun } from "../clock.ts"
import { must } from "../failure.ts"
import { type Certificate, maySign, serialOf } from "./certificate.ts"
import { type DerValue, integerOf, oidOf, sequenceIn, TAG, timeOf, valuesIn } from "./der.ts"

const MALFORMED = "crl-malformed"
const NONE = new Uint8Array()
const EXTENSIONS = 0xa0

/** AMD signs with PSS, SHA-384 and 48 bytes of salt; Intel with ECDSA and SHA-256. */
const verifiers: Readonly<Record<string, (data: Uint8Array, key: KeyObject, signature: Uint8Array) => boolean>> = {
  "1.2.840.10045.4.3.2": (data, key, signature) => verify("sha256", data, key, signature),
  "1.2.840.10045.4.3.3": (data, key, signature) => verify("sha384", data, key, signature),
  "1.2.840.113549.1.1.10": (data, key, signature) =>
    verify("sha384", data, { key, padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: 48 }, signature),
}

/** A critical extension restricts the list's scope, or names another issuer of an entry; so none is accepted. */
const mustBeUncritical = (extensions: ReadonlyArray<DerValue>): void => {
  for (const extension of extensions) {
    const isPlain = valuesIn(extension.content, MALFORMED).length === 2
    must(isPlain, "crl-critical-extension", "The revocation list has a critical extension.")
  }
}

const revokedSerial = (entry: DerValue): string => {
  const [serial, , extensions] = valuesIn(entry.content, MALFORMED)
  must(serial?.tag === TAG.integer, MALFORMED, "An entry of the revocation list is malformed.")
  if (extensions !== undefined) mustBeUncritical(valuesIn(extensions.content, MALFORMED))
  return serialOf(serial.content)
}

/**
 * Checks a list in DER against its issuer, and that it revokes none of `certificates` that this issuer signed. Returns its
 * next update, in seconds. Throws an `EvidenceFailure`.
 */
export const checkRevocation = (
  der: Uint8Array,
  issuer: Certificate,
  certificates: ReadonlyArray<Certificate>,
  now: number,
): number => {
  const [tbs, algorithm, bits] = sequenceIn(der, MALFORMED)
  const fields = valuesIn(tbs?.content ?? NONE, MALFORMED)
  const [version, inner, name, from, until] = fields
  must(
    tbs !== undefined &&
      algorithm !== undefined &&
      bits?.tag === TAG.bits &&
      bits.content[0] === 0 &&
      until !== undefined,
    MALFORMED,
    "The revocation list is malformed.",
  )
  must(version?.tag === TAG.integer && integerOf(version.content) === 1, MALFORMED, "The revocation list is not v2.")
  must(inner !== undefined && equalBytes(inner.raw, algorithm.raw), MALFORMED, "The list names two algorithms.")
  must(name !== undefined && equalBytes(name.raw, issuer.subject), "crl-issuer", "The list is another issuer's.")
  must(maySign(issuer, "revocationLists"), "crl-key-usage", "The issuer's key may not sign revocation lists.")
  const check = verifiers[oidOf(valuesIn(algorithm.content, MALFORMED)[0]?.content ?? NONE)]
  must(
    check !== undefined && check(tbs.raw, issuer.publicKey, bits.content.subarray(1)),
    "crl-signature",
    "The revocation list's signature is wrong.",
  )
  const next = timeOf(until)
  must(
    from !== undefined && hasBegun(timeOf(from), now) && now < next,
    "crl-expired",
    "The revocation list is not valid at this time.",
  )
  const extensions = fields.find(({ tag }) => tag === EXTENSIONS)
  if (extensions !== undefined) mustBeUncritical(sequenceIn(extensions.content, MALFORMED))
  const list = fields[5]?.tag === TAG.sequence ? valuesIn(fields[5].content, MALFORMED) : []
  const revoked = new Set(list.map(revokedSerial))
  const ours = certificates.filter((certificate) => equalBytes(certificate.issuer, issuer.subject))
  must(!ours.some(({ serial }) => revoked.has(serial)), "certificate-revoked", "A certificate is revoked.")
  return next
}
