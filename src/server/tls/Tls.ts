/** The certificate files of a server: read together, and checked before they are used. */
import { constants, createHash, createPrivateKey, X509Certificate } from "node:crypto"
import { readFile } from "node:fs/promises"
import { createSecureContext, type SecureContextOptions } from "node:tls"
import { DateTime, Effect, Schema } from "effect"
import { fileReason } from "../../domain/problems/systemErrors.ts"
import { readKeys } from "../../services/fileAccess.ts"
import { checkRules, type ConfigurationMistakes, type Rule } from "../../domain/problems/configuration.ts"

export interface TlsSettings {
  readonly tlsCertFile: string | undefined
  readonly tlsKeyFile: string | undefined
  readonly tlsClientCaFile: string | undefined
  readonly tlsMinVersion: "TLSv1.2" | "TLSv1.3"
}

/** Rejects a certificate without a key and a key without a certificate, which would silently mean plain HTTP. */
export const tlsRule: Rule<Omit<TlsSettings, "tlsMinVersion">> = {
  of: ["tlsCertFile", "tlsKeyFile", "tlsClientCaFile"],
  problems: ({ tlsCertFile, tlsClientCaFile, tlsKeyFile }) => {
    const isOff = [tlsCertFile, tlsKeyFile, tlsClientCaFile].every((file) => file === undefined)
    const missing = "is missing; TLS needs a certificate and its key"
    return {
      TLS_CERT_FILE: !isOff && tlsCertFile === undefined && missing,
      TLS_KEY_FILE: !isOff && tlsKeyFile === undefined && missing,
    }
  },
}

export interface TlsFiles {
  readonly cert: string
  readonly key: string
  readonly clientCa: string | undefined
}

/** The certificate files cannot be used. The problem names the file and quotes nothing from it. */
export class TlsError extends Schema.TaggedError<TlsError>()("TlsError", { problem: Schema.String }) {
  override get message(): string {
    return `TLS: ${this.problem}`
  }
}

/** The files to use, or `undefined` for plain HTTP. An incomplete pair is a mistake. */
export const tlsFiles = (settings: TlsSettings): Effect.Effect<TlsFiles | undefined, ConfigurationMistakes> => {
  const { tlsCertFile: cert, tlsClientCaFile: clientCa, tlsKeyFile: key } = settings
  const files = cert === undefined || key === undefined ? undefined : { cert, key, clientCa }
  return Effect.as(checkRules(settings, [tlsRule]), files)
}

export interface TlsContents {
  readonly cert: Buffer
  readonly key: Buffer
  readonly clientCa: Buffer | undefined
  /** A digest by which contents can be compared without being kept. */
  readonly digest: string
}

/** A problem with a file, in the words of this program. */
class Unfit extends Error {}

const problemOf = (cause: unknown): string =>
  cause instanceof Unfit ? cause.message : "holds nothing in PEM that could be used"

const attempt = <A>(variable: string, run: () => A): Effect.Effect<A, TlsError> =>
  Effect.try({ try: run, catch: (cause) => new TlsError({ problem: `${variable}: ${problemOf(cause)}` }) })

const read = (variable: string, path: string): Effect.Effect<Buffer, TlsError> =>
  Effect.tryPromise({
    try: () => readFile(path),
    catch: (cause) => new TlsError({ problem: `${variable}: ${path} cannot be read: ${fileReason(cause)}.` }),
  })

/** Reads the private key, unless other users could have read it. */
const readKey = Effect.fnUntraced(function* (path: string): Effect.fn.Return<Buffer, TlsError> {
  const read = yield* Effect.tryPromise({
    try: () => readKeys(path, true),
    catch: (cause) => new TlsError({ problem: `TLS_KEY_FILE: ${path} cannot be read: ${fileReason(cause)}.` }),
  })
  if (Buffer.isBuffer(read)) return read
  return yield* new TlsError({ problem: `TLS_KEY_FILE: ${path} ${read.problem}. ${read.remedy}.` })
})

/** Reads all files without checking their contents. */
export const readTls = Effect.fnUntraced(function* (files: TlsFiles): Effect.fn.Return<TlsContents, TlsError> {
  const cert = yield* read("TLS_CERT_FILE", files.cert)
  const key = yield* readKey(files.key)
  const clientCa = files.clientCa === undefined ? undefined : yield* read("TLS_CLIENT_CA_FILE", files.clientCa)
  const hash = createHash("sha256")
  for (const content of [cert, key, clientCa ?? Buffer.alloc(0)]) {
    hash.update(createHash("sha256").update(content).digest())
  }
  return { cert, key, clientCa, digest: hash.digest("hex") }
})

export interface LoadedTls {
  readonly contents: TlsContents
  readonly context: SecureContextOptions
  readonly validFrom: DateTime.Utc
  readonly expiresAt: DateTime.Utc
}

const BEGIN_CERTIFICATE = "-----BEGIN CERTIFICATE-----"
const END_CERTIFICATE = "-----END CERTIFICATE-----"

const certificatesIn = (pem: string): ReadonlyArray<string> =>
  pem
    .split(END_CERTIFICATE)
    // Text after the last certificate belongs to no certificate.
    .slice(0, -1)
    .map((text) => [text, text.indexOf(BEGIN_CERTIFICATE)] as const)
    .filter(([, start]) => start !== -1)
    .map(([text, start]) => text.slice(start) + END_CERTIFICATE)

/** Throws for a certificate that cannot be parsed. OpenSSL would skip it and refuse clients for no visible reason. */
const parseAuthorities = (pem: Buffer): ReadonlyArray<X509Certificate> => {
  const found = certificatesIn(pem.toString("latin1"))
  if (found.length === 0) throw new Unfit("holds no certificate in PEM")
  return found.map((each) => new X509Certificate(each))
}

const parseKey = (pem: Buffer) => {
  if (pem.includes("ENCRYPTED")) throw new Unfit("is encrypted; it has to be without a passphrase")
  return createPrivateKey(pem)
}

export const checkTls = Effect.fnUntraced(function* (
  contents: TlsContents,
  minVersion: TlsSettings["tlsMinVersion"],
): Effect.fn.Return<LoadedTls, TlsError> {
  const { cert, clientCa, key } = contents
  const leaf = yield* attempt("TLS_CERT_FILE", () => new X509Certificate(cert))
  const privateKey = yield* attempt("TLS_KEY_FILE", () => parseKey(key))
  if (!leaf.checkPrivateKey(privateKey)) {
    return yield* new TlsError({ problem: "TLS_KEY_FILE does not match the first certificate in TLS_CERT_FILE" })
  }
  if (clientCa !== undefined) yield* attempt("TLS_CLIENT_CA_FILE", () => parseAuthorities(clientCa))
  const context: SecureContextOptions = {
    cert,
    key,
    minVersion,
    // Session tickets are off: a resumed session is not verified again, so a client could connect after its certificate
    // expired.
    ...(clientCa === undefined ? {} : { ca: clientCa, secureOptions: constants.SSL_OP_NO_TICKET }),
  }
  yield* attempt("TLS_CERT_FILE", () => createSecureContext(context))
  return {
    contents,
    context,
    validFrom: DateTime.makeUnsafe(leaf.validFromDate),
    expiresAt: DateTime.makeUnsafe(leaf.validToDate),
  }
})

/** Why a certificate is not valid at `now`, or `undefined`. */
export const outsideValidity = ({ expiresAt, validFrom }: LoadedTls, now: DateTime.Utc): string | undefined => {
  if (DateTime.isLessThanOrEqualTo(expiresAt, now)) {
    return `the certificate in TLS_CERT_FILE expired at ${DateTime.formatIso(expiresAt)}`
  }
  return DateTime.isGreaterThan(validFrom, now)
    ? `the certificate in TLS_CERT_FILE is not valid before ${DateTime.formatIso(validFrom)}`
    : undefined
}
