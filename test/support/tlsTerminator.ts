/** Terminates TLS in front of a server like a balancer: sets the client's address and forwards the rest. */
import { readFileSync } from "node:fs"
import { request } from "node:http"
import { createServer } from "node:https"
import { Effect } from "effect"
import { type Certificate, makeCertificate } from "./certificates.ts"
import { temporaryFolder } from "./proxy.ts"
import { listening } from "./listening.ts"

interface TlsTerminator {
  readonly url: string
  readonly certificate: Certificate
}

/** Starts a terminator before `port` of 127.0.0.1, until the scope closes. */
export const runTlsTerminator = Effect.fnUntraced(function* (port: number) {
  const certificate = makeCertificate(yield* temporaryFolder, "terminator")
  const server = createServer(
    { cert: readFileSync(certificate.cert), key: readFileSync(certificate.key) },
    (incoming, outgoing) => {
      const { headers, method, socket, url } = incoming
      const onward = request({
        port,
        host: "127.0.0.1",
        method,
        path: url,
        // Replaces the client's own claim.
        headers: { ...headers, "x-forwarded-for": socket.remoteAddress, "x-forwarded-proto": "https" },
      })
      onward.on("response", (answer) => {
        outgoing.writeHead(answer.statusCode ?? 502, answer.headers)
        answer.pipe(outgoing)
      })
      onward.on("error", () => outgoing.destroy())
      outgoing.on("close", () => onward.destroy())
      incoming.pipe(onward)
    },
  )
  return { url: `https://127.0.0.1:${yield* listening(server)}`, certificate } satisfies TlsTerminator
})
