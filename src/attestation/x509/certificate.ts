/** Certificates and chains (RFC 5280 §6), with signatures by Node's crypto. */
import { type KeyObject, X509Certificate } from "node:crypto"
import { sha256 } from "../binding.ts"
import { hasBegun } from "../clock.ts"
import { EvidenceFailure, must } from "../failure.ts"
import { integerOf, oidOf, sequenceIn, TAG, valuesIn } from "./der.ts"

export interface Certificate {
  readonly der: Uint8Array
  readonly x509: X509Certificate
  readonly publicKey: KeyObject
  /** Lower-case hexadecimal without leading zeros. */
  readonly serial: string
  /** DER of the names. */
  readonly subject: Uint8Array
  readonly issuer: Uint8Array
  /** Values by object identifier. */
  readonly extensions: ReadonlyMap<string, Uint8Array>
  /** Seconds since the epoch. */
  readonly from: number
  readonly until: number
}

const MALFORMED = "certificate-malformed"
const EXTENSIONS = 0xa3
const VERSION = 0xa0

/** Critical extensions that the chain check, or Node, understands. */
const BASIC_CONSTRAINTS = "2.5.29.19"
const KEY_USAGE = "2.5.29.15"
const UNDERSTOOD = new Set([BASIC_CONSTRAINTS, KEY_USAGE])

/** Lower-case hexadecimal without leading zeros. */
export const serialOf = (content: Uint8Array): string => Buffer.from(content).toString("hex").replace(/^0+/, "")

/** Node decodes the key only on access. */
const opened = (der: Uint8Array): Pick<Certificate, "x509" | "publicKey"> => {
  try {
    const x509 = new X509Certificate(der)
    return { x509, publicKey: x509.publicKey }
  } catch {
    throw new EvidenceFailure(MALFORMED, "A certificate is malformed.")
  }
}

/** Decodes `der`, which must be exactly one certificate. Refuses duplicate extensions and unsupported critical ones. */
export const certificateOf = (der: Uint8Array): Certificate => {
  const { x509, publicKey } = opened(der)
  const [tbs] = sequenceIn(der, MALFORMED)
  const fields = valuesIn(tbs?.content ?? new Uint8Array(), MALFORMED).filter(({ tag }) => tag !== VERSION)
  const [serial, , issuer, , subject] = fields
  const isWhole = serial?.tag === TAG.integer && issuer !== undefined && subject !== undefined
  must(isWhole, MALFORMED, "A certificate is malformed.")
  const extensions = new Map<string, Uint8Array>()
  const list = fields.find(({ tag }) => tag === EXTENSIONS)
  for (const extension of list === undefined ? [] : sequenceIn(list.content, MALFORMED)) {
    const parts = valuesIn(extension.content, MALFORMED)
    const [oid, value] = [parts[0], parts.at(-1)]
    must(oid?.tag === TAG.oid && value?.tag === TAG.octets, MALFORMED, "An extension is malformed.")
    const name = oidOf(oid.content)
    must(!extensions.has(name), MALFORMED, `A certificate has the extension ${name} twice.`)
    const critical = parts.length === 3 && integerOf(parts[1]?.content ?? new Uint8Array()) !== 0
    must(!critical || UNDERSTOOD.has(name), "chain-unknown-extension", `Critical extension ${name} is unknown.`)
    extensions.set(name, value.content)
  }
  return {
    der,
    x509,
    publicKey,
    serial: serialOf(serial.content),
    subject: subject.raw,
    issuer: issuer.raw,
    extensions,
    from: x509.validFromDate.getTime() / 1000,
    until: x509.validToDate.getTime() / 1000,
  }
}

/** The common name, if there is exactly one; else the empty text. */
export const nameOf = ({ x509 }: Certificate): string => {
  const [name, more] = x509.subject.split("\n").filter((line) => line.startsWith("CN="))
  return name === undefined || more !== undefined ? "" : name.slice("CN=".length)
}

const LINE = /.{1,64}/g
const pemOf = (der: Uint8Array): string =>
  `-----BEGIN CERTIFICATE-----\n${Buffer.from(der).toString("base64").match(LINE)?.join("\n")}\n-----END CERTIFICATE-----\n`

/** Decodes PEM without any other text, so every byte is signed or fixed. Accepts a final NUL. */
export const certificatesInPem = (text: string): ReadonlyArray<Certificate> => {
  const bodies = [...text.matchAll(/-----BEGIN CERTIFICATE-----([A-Za-z0-9+/=\n]+)-----END CERTIFICATE-----/g)]
  const ders = bodies.map(([, body = ""]) => new Uint8Array(Buffer.from(body, "base64")))
  const same = ders.map(pemOf).join("")
  must(
    ders.length > 0 && (text.replace(/\0$/, "") === same || `${text}\n` === same),
    MALFORMED,
    "The PEM is malformed.",
  )
  return ders.map(certificateOf)
}

/** Bits of the first byte of a KeyUsage (RFC 5280 §4.2.1.3). */
const USAGES = { certificates: 0x04, revocationLists: 0x02 } as const

/** Whether the key may sign certificates or revocation lists; without the extension, it may. */
export const maySign = ({ extensions }: Certificate, usage: keyof typeof USAGES): boolean => {
  const bits = extensions.get(KEY_USAGE)
  if (bits === undefined) return true
  const [value] = valuesIn(bits, MALFORMED)
  return value?.tag === TAG.bits && ((value.content[1] ?? 0) & USAGES[usage]) !== 0
}

/** How many authorities may come below this one (pathLenConstraint, RFC 5280 §4.2.1.9). */
const pathLengthOf = ({ extensions }: Certificate): number => {
  const constraints = sequenceIn(extensions.get(BASIC_CONSTRAINTS) ?? NO_CONSTRAINTS, MALFORMED)
  const length = constraints.find(({ tag }) => tag === TAG.integer)
  return length === undefined ? Number.POSITIVE_INFINITY : integerOf(length.content)
}
const NO_CONSTRAINTS = Uint8Array.of(TAG.sequence, 0)

const checkAuthority = (authority: Certificate, below: number): void => {
  must(maySign(authority, "certificates"), "chain-key-usage", "An issuer's key may not sign certificates.")
  must(authority.x509.ca, "chain-not-authority", "An issuer in the chain is not an authority.")
  must(below <= pathLengthOf(authority), "chain-path-length", "An issuer may not have an authority below it.")
}

/**
 * Checks `chain`, from leaf to root, against the hexadecimal SHA-256 of a pinned root. Returns the earliest end of validity,
 * in seconds. A root other than the pinned one fails with `chain-root`.
 */
export const checkChain = (chain: ReadonlyArray<Certificate>, pinned: string | undefined, now: number): number => {
  const root = chain.at(-1)
  must(
    root !== undefined && Buffer.from(sha256(root.der)).toString("hex") === pinned,
    "chain-root",
    "The chain does not lead to the pinned root.",
  )
  for (const [i, authority] of chain.slice(1).entries()) checkAuthority(authority, i)
  for (const [i, certificate] of chain.entries()) {
    const issuer = chain[i + 1] ?? root
    must(certificate.x509.checkIssued(issuer.x509), "chain-signature", "A certificate names another issuer.")
    must(certificate.x509.verify(issuer.publicKey), "chain-signature", "A certificate's signature is wrong.")
    must(
      hasBegun(certificate.from, now) && now <= certificate.until,
      "chain-validity",
      "A certificate is not valid at this time.",
    )
  }
  return Math.min(...chain.map(({ until }) => until))
}
