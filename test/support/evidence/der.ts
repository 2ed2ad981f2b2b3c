/** Writes DER (X.690), for certificates and revocation lists of the tests' own authorities. */
import { type KeyObject, createPublicKey, generateKeyPairSync, sign } from "node:crypto"

export const der = (tag: number, ...parts: ReadonlyArray<Uint8Array>): Buffer => {
  const content = Buffer.concat(parts)
  const { length } = content
  const octets = length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff]
  return Buffer.concat([Buffer.from([tag, ...octets]), content])
}
export const sequence = (...parts: ReadonlyArray<Uint8Array>): Buffer => der(0x30, ...parts)
export const octets = (content: Uint8Array): Buffer => der(0x04, content)
/** A non-negative INTEGER below 128. */
export const small = (value: number): Buffer => der(0x02, Buffer.of(value))
const bits = (content: Uint8Array): Buffer => der(0x03, Buffer.of(0), content)

export const oid = (text: string): Buffer => {
  const [first = 0, second = 0, ...arcs] = text.split(".").map(Number)
  const base128 = (arc: number): ReadonlyArray<number> => {
    const digits = [arc & 0x7f]
    for (let rest = arc >> 7; rest > 0; rest >>= 7) digits.unshift((rest & 0x7f) | 0x80)
    return digits
  }
  return der(0x06, Buffer.from([first * 40 + second, ...arcs.flatMap(base128)]))
}

const time = (seconds: number): Buffer =>
  der(0x18, Buffer.from(`${new Date(seconds * 1000).toISOString().replace(/[-:T]|\.\d+/g, "")}`))

const nameOf = (common: string): Buffer => sequence(der(0x31, sequence(oid("2.5.4.3"), der(0x0c, Buffer.from(common)))))

const ALGORITHMS = {
  sha256: sequence(oid("1.2.840.10045.4.3.2")),
  sha384: sequence(oid("1.2.840.10045.4.3.3")),
}
type Hash = keyof typeof ALGORITHMS

/** A certificate with its key. */
export interface Authority {
  readonly name: string
  readonly der: Buffer
  readonly key: KeyObject
  readonly hash: Hash
}

interface CertificateOptions {
  readonly name: string
  /** Absent: it signs itself. */
  readonly issuer?: Authority
  readonly curve?: "P-256" | "P-384"
  readonly isAuthority?: boolean
  readonly extensions?: ReadonlyArray<readonly [id: string, value: Uint8Array]>
  readonly from: number
  readonly until: number
}

const YES = Buffer.of(0x01, 0x01, 0xff)

export const certificate = ({ extensions = [], isAuthority = false, ...options }: CertificateOptions): Authority => {
  const { curve = "P-384", from, issuer, name, until } = options
  const { privateKey: key } = generateKeyPairSync("ec", { namedCurve: curve })
  const hash = issuer?.hash ?? (curve === "P-384" ? "sha384" : "sha256")
  const constraints = isAuthority ? [sequence(oid("2.5.29.19"), YES, octets(sequence(YES)))] : []
  const more = extensions.map(([id, value]) => sequence(oid(id), octets(value)))
  const serial = der(0x02, Buffer.of(1), Buffer.from(crypto.getRandomValues(new Uint8Array(8))))
  const tbs = sequence(
    der(0xa0, small(2)),
    serial,
    ALGORITHMS[hash],
    nameOf(issuer?.name ?? name),
    sequence(time(from), time(until)),
    nameOf(name),
    createPublicKey(key).export({ type: "spki", format: "der" }),
    ...(constraints.length + more.length === 0 ? [] : [der(0xa3, sequence(...constraints, ...more))]),
  )
  const signature = sign(hash, tbs, issuer?.key ?? key)
  return {
    name,
    key,
    der: sequence(tbs, ALGORITHMS[hash], bits(signature)),
    hash: curve === "P-384" ? "sha384" : "sha256",
  }
}

/** A list that revokes nothing. */
export const revocationList = (issuer: Authority, from: number, until: number): Buffer => {
  const tbs = sequence(small(1), ALGORITHMS[issuer.hash], nameOf(issuer.name), time(from), time(until))
  return sequence(tbs, ALGORITHMS[issuer.hash], bits(sign(issuer.hash, tbs, issuer.key)))
}
