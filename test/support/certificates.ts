/** Certificates for tests, made with the openssl command. */
import { execFileSync, spawnSync } from "node:child_process"
import { X509Certificate } from "node:crypto"
import { readFileSync, writeFileSync } from "node:fs"
import { type Agent, request, type RequestOptions } from "node:https"
import { join } from "node:path"
import { Readable } from "node:stream"
import type { Fetch } from "../../src/client/sealed/SealedClient.ts"

export const hasOpenssl = spawnSync("openssl", ["version"]).status === 0

export interface Certificate {
  readonly cert: string
  readonly key: string
}

const openssl = (...args: ReadonlyArray<string>) => execFileSync("openssl", args, { stdio: "pipe" })

const NEW_KEY = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
const subjectOf = (name: string) => ["-subj", `/CN=${name}`, "-addext", "subjectAltName=IP:127.0.0.1"]
const filesOf = (folder: string, name: string): Certificate => ({
  cert: join(folder, `${name}.crt`),
  key: join(folder, `${name}.key`),
})

/** Writes a new certificate and its key into `folder`: self-signed for 127.0.0.1, or signed by `issuer`. */
export const makeCertificate = (folder: string, name: string, issuer?: Certificate): Certificate => {
  const made = filesOf(folder, name)
  const signer = issuer === undefined ? [] : ["-CA", issuer.cert, "-CAkey", issuer.key]
  const output = ["-out", made.cert, "-keyout", made.key]
  openssl("req", "-x509", ...NEW_KEY, "-days", "2", ...subjectOf(name), ...output, ...signer)
  return made
}

/** Only openssl 3.0's `ca` command takes any two dates, and it needs a configuration. */
const AUTHORITY = `[ca]
default_ca = only
[only]
database = DATABASE
new_certs_dir = FOLDER
rand_serial = yes
unique_subject = no
policy = any
default_md = sha256
copy_extensions = copy
[any]
commonName = supplied
`

const asn1Time = (date: Date): string => date.toISOString().replaceAll(/[-:T]|\.\d+/g, "")

/** The same with given dates; self-signed without an `issuer`. */
export const makeCertificateFor = (
  folder: string,
  name: string,
  validity: { readonly from: Date; readonly to: Date },
  issuer?: Certificate,
): Certificate => {
  const made = filesOf(folder, name)
  const [wish, database, config] = ["csr", "database", "config"].map((kind) => join(folder, `${name}.${kind}`))
  if (wish === undefined || database === undefined || config === undefined) throw new Error("three names, three files")
  openssl("req", "-new", ...NEW_KEY, ...subjectOf(name), "-out", wish, "-keyout", made.key)
  writeFileSync(database, "")
  writeFileSync(config, AUTHORITY.replace("DATABASE", database).replace("FOLDER", folder))
  const signer =
    issuer === undefined ? ["-selfsign", "-keyfile", made.key] : ["-cert", issuer.cert, "-keyfile", issuer.key]
  const dates = ["-startdate", asn1Time(validity.from), "-enddate", asn1Time(validity.to)]
  openssl("ca", "-batch", "-notext", "-config", config, ...signer, "-in", wish, "-out", made.cert, ...dates)
  return made
}

const parsed = ({ cert }: Certificate) => new X509Certificate(readFileSync(cert))

export const fingerprintOf = (certificate: Certificate): string => parsed(certificate).fingerprint256

export const expiryOf = (certificate: Certificate): string => parsed(certificate).validToDate.toISOString()

/** A client's certificate and trust. */
export const identityOf = (client: Certificate | undefined) =>
  client === undefined ? {} : { cert: readFileSync(client.cert), key: readFileSync(client.key) }

export type TlsOptions = Pick<RequestOptions, "maxVersion" | "minVersion" | "ciphers" | "localAddress"> & {
  /** Reuses connections; default: a new one for each request. */
  readonly agent?: Agent
  /** Further trusted certificates. */
  readonly alsoTrusted?: ReadonlyArray<Certificate>
}

/** `fetch` over TLS that trusts the certificate `server` and presents `client`. */
export const httpsFetch = (server: Certificate, client?: Certificate, options: TlsOptions = {}): Fetch => {
  const { alsoTrusted = [], ...tls } = options
  const ca = [server, ...alsoTrusted].map(({ cert }) => readFileSync(cert))
  const shared = { agent: false as const, ca, ...identityOf(client), ...tls }
  return (url, init) =>
    new Promise((resolve, reject) => {
      const sent = request(url, {
        ...shared,
        method: init.method ?? "GET",
        headers: init.headers as Record<string, string> | undefined,
      })
      sent.on("error", reject)
      sent.on("response", (response) => {
        const headers = new Headers()
        for (const [name, value] of Object.entries(response.headers)) headers.set(name, String(value))
        // One class with two declarations, Node's and the DOM's.
        const body = Readable.toWeb(response) as ReadableStream<Uint8Array<ArrayBuffer>>
        resolve(new Response(body, { status: response.statusCode ?? 0, headers }))
      })
      sent.end(init.body)
    })
}
