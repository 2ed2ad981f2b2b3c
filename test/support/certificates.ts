/** Certificates for tests, made with the openssl command. */
import { execFileSync, spawnSync } from "node:child_process"
import { request } from "node:https"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import type { Fetch } from "../../src/client/SealedClient.ts"

export const hasOpenssl = spawnSync("openssl", ["version"]).status === 0

export interface Certificate {
  readonly cert: string
  readonly key: string
}

/** Writes a new certificate and its key into `folder`: self-signed for 127.0.0.1, or signed by `issuer`. */
export const makeCertificate = (folder: string, name: string, issuer?: Certificate): Certificate => {
  const made = { cert: join(folder, `${name}.crt`), key: join(folder, `${name}.key`) }
  const subject = `-subj /CN=${name} -addext subjectAltName=IP:127.0.0.1`
  const signer = issuer === undefined ? "" : ` -CA ${issuer.cert} -CAkey ${issuer.key}`
  const output = `-out ${made.cert} -keyout ${made.key}`
  const options = `-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 ${subject} ${output}${signer}`
  execFileSync("openssl", ["req", "-x509", ...options.split(" ")], { stdio: "pipe" })
  return made
}

/** `fetch` over TLS that believes the server with certificate `server`, and shows its own `client` certificate. */
export const httpsFetch =
  (server: Certificate, client?: Certificate, options: { readonly maxVersion?: "TLSv1.2" } = {}): Fetch =>
  (url, init) =>
    new Promise((resolve, reject) => {
      const sent = request(url, {
        method: init.method ?? "GET",
        headers: init.headers as Record<string, string> | undefined,
        agent: false,
        ca: readFileSync(server.cert),
        ...(client === undefined ? {} : { cert: readFileSync(client.cert), key: readFileSync(client.key) }),
        ...options,
      })
      sent.on("error", reject)
      sent.on("response", (response) => {
        const chunks: Array<Buffer> = []
        response.on("data", (chunk: Buffer) => chunks.push(chunk))
        response.on("error", reject)
        response.on("end", () => {
          const headers = { "content-type": response.headers["content-type"] ?? "" }
          resolve(new Response(Buffer.concat(chunks), { status: response.statusCode ?? 0, headers }))
        })
      })
      sent.end(init.body)
    })
