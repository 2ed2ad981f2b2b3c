/** Keys, certificates and revocation lists of tests, with the algorithms of AMD, Intel and Google. */
import { constants, generateKeyPairSync, type KeyObject, sign } from "node:crypto"
import { bits, der, explicit, integer, NULL, octets, oid, sequence, text, time, TRUE } from "./der.ts"
import { NOW } from "./world.ts"

const SHA384 = sequence(oid("2.16.840.1.101.3.4.2.2"), NULL)

const ALGORITHMS = {
  p256: {
    identifier: sequence(oid("1.2.840.10045.4.3.2")),
    sign: (data: Uint8Array, key: KeyObject) => sign("sha256", data, key),
    generate: () => generateKeyPairSync("ec", { namedCurve: "P-256" }),
  },
  p384: {
    identifier: sequence(oid("1.2.840.10045.4.3.3")),
    sign: (data: Uint8Array, key: KeyObject) => sign("sha384", data, key),
    generate: () => generateKeyPairSync("ec", { namedCurve: "P-384" }),
  },
  rsa: {
    identifier: sequence(oid("1.2.840.113549.1.1.11"), NULL),
    sign: (data: Uint8Array, key: KeyObject) => sign("sha256", data, key),
    generate: () => generateKeyPairSync("rsa", { modulusLength: 2048 }),
  },
  pss: {
    identifier: sequence(
      oid("1.2.840.113549.1.1.10"),
      sequence(
        explicit(0, SHA384),
        explicit(1, sequence(oid("1.2.840.113549.1.1.8"), SHA384)),
        explicit(2, integer(48)),
      ),
    ),
    sign: (data: Uint8Array, key: KeyObject) =>
      sign("sha384", data, { key, padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: 48 }),
    generate: () => generateKeyPairSync("rsa", { modulusLength: 2048 }),
  },
} as const

export interface Keys {
  readonly algorithm: keyof typeof ALGORITHMS
  readonly publicKey: KeyObject
  readonly privateKey: KeyObject
}

export const makeKeys = (algorithm: Keys["algorithm"]): Keys => ({ algorithm, ...ALGORITHMS[algorithm].generate() })

const nameOf = (common: string): Buffer => sequence(der(0x31, sequence(oid("2.5.4.3"), text(common))))

export interface Extension {
  readonly id: string
  readonly value: Uint8Array
  readonly critical?: boolean
}

const extensionOf = ({ id, value, critical = false }: Extension): Buffer =>
  sequence(oid(id), ...(critical ? [TRUE] : []), octets(value))

/** Signs `content` with the algorithm's identifier and a BIT STRING behind it. */
const signed = (content: Buffer, { algorithm, privateKey }: Keys): Buffer => {
  const { identifier, sign: signBy } = ALGORITHMS[algorithm]
  return sequence(content, identifier, bits(signBy(content, privateKey)))
}

export interface Subject {
  /** Common name. */
  readonly name: string
  readonly keys: Keys
}

export interface Wish {
  readonly serial?: number
  readonly from?: number
  readonly until?: number
  /** Not one: a leaf. A number: pathLenConstraint. */
  readonly authority?: boolean | number
  /** First byte of KeyUsage; absent: none. */
  readonly usage?: number
  readonly extensions?: ReadonlyArray<Extension>
}

const YEAR = 365 * 86_400

/** Bits of a KeyUsage. */
export const USAGE = { signature: 0x80, certificates: 0x04, both: 0x06 } as const

/** DER of a certificate for `subject`. */
export const makeCertificate = (subject: Subject, issuer: Subject, wish: Wish = {}): Uint8Array<ArrayBuffer> => {
  const { serial = 2, from = NOW - YEAR, until = NOW + YEAR, authority = false, usage, extensions = [] } = wish
  const length = typeof authority === "number" ? [integer(authority)] : []
  const all: ReadonlyArray<Extension> = [
    ...(authority === false ? [] : [{ id: "2.5.29.19", value: sequence(TRUE, ...length), critical: true }]),
    ...(usage === undefined ? [] : [{ id: "2.5.29.15", value: bits(Buffer.of(usage)), critical: true }]),
    ...extensions,
  ]
  const content = sequence(
    explicit(0, integer(2)),
    integer(serial),
    ALGORITHMS[issuer.keys.algorithm].identifier,
    nameOf(issuer.name),
    sequence(time(from), time(until)),
    nameOf(subject.name),
    subject.keys.publicKey.export({ type: "spki", format: "der" }),
    ...(all.length === 0 ? [] : [explicit(3, sequence(...all.map(extensionOf)))]),
  )
  return Uint8Array.from(signed(content, issuer.keys))
}

export interface CrlWish {
  /** One less than the version's name. */
  readonly version?: number
  /** The algorithm that the signed part names, if it is another. */
  readonly names?: Keys["algorithm"]
  /** Entries in DER, behind the others. */
  readonly entries?: ReadonlyArray<Uint8Array>
  /** Serial numbers. */
  readonly revoked?: ReadonlyArray<number>
  readonly from?: number
  readonly until?: number
  readonly extensions?: ReadonlyArray<Extension>
  readonly entryExtensions?: ReadonlyArray<Extension>
}

/** DER of a revocation list. */
export const makeCrl = (issuer: Subject, wish: CrlWish = {}): Uint8Array<ArrayBuffer> => {
  const { revoked = [], from = NOW - 86_400, until = NOW + 30 * 86_400, extensions = [], entryExtensions = [] } = wish
  const entries = [
    ...revoked.map((serial) =>
      sequence(
        integer(serial),
        time(from),
        ...(entryExtensions.length === 0 ? [] : [sequence(...entryExtensions.map(extensionOf))]),
      ),
    ),
    ...(wish.entries ?? []),
  ]
  const content = sequence(
    integer(wish.version ?? 1),
    ALGORITHMS[wish.names ?? issuer.keys.algorithm].identifier,
    nameOf(issuer.name),
    time(from),
    time(until),
    ...(entries.length === 0 ? [] : [sequence(...entries)]),
    ...(extensions.length === 0 ? [] : [explicit(0, sequence(...extensions.map(extensionOf)))]),
  )
  return Uint8Array.from(signed(content, issuer.keys))
}

export const pemOf = (...certificates: ReadonlyArray<Uint8Array>): string =>
  certificates
    .map((each) =>
      Buffer.from(each)
        .toString("base64")
        .match(/.{1,64}/g)
        ?.join("\n"),
    )
    .map((body) => `-----BEGIN CERTIFICATE-----\n${body}\n-----END CERTIFICATE-----\n`)
    .join("")
