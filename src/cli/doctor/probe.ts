/** One request for the doctor: it looks at a certificate instead of failing on it, and sends nothing secret. */
import { parseJson } from "../../domain/json/json.ts"
import { connectionReason } from "../../domain/problems/systemErrors.ts"
import { type IncomingHttpHeaders, request as plainRequest } from "node:http"
import { request as tlsRequest } from "node:https"
import { TLSSocket } from "node:tls"
import { Clock, Effect, Schema } from "effect"

export interface CertificateSeen {
  /** Why a client would refuse the certificate, in OpenSSL's terms; `undefined` if it would accept it. */
  readonly objection: string | undefined
  /** Milliseconds since the epoch. */
  readonly validUntil: number
}

export interface Probed {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly text: string
  /** The text as JSON; `undefined` if it is none. */
  readonly body: unknown
  readonly certificate: CertificateSeen | undefined
  /** Milliseconds since the epoch on this machine's clock, in the middle of the request. */
  readonly at: number
}

/** There was no answer. `code` is the system's, such as `ECONNREFUSED`. */
export class NoAnswer extends Schema.TaggedError<NoAnswer>()("NoAnswer", {
  code: Schema.String,
  reason: Schema.String,
}) {}

const UNKNOWN = "UNKNOWN"

/** Why there was no answer, in words of this program where it knows the code. */
export const reasonOf = ({ code, reason }: NoAnswer): string => (code === UNKNOWN ? reason : connectionReason({ code }))

const TIMEOUT_MS = 10_000
const MAX_BODY_BYTES = 1024 * 1024

const codeOf = (error: Error): string => ("code" in error && typeof error.code === "string" ? error.code : UNKNOWN)

const certificateOf = (socket: unknown): CertificateSeen | undefined => {
  if (!(socket instanceof TLSSocket)) return undefined
  // Typed as an Error, but OpenSSL's name for it where there is one.
  const objection: unknown = socket.authorizationError
  return {
    objection: socket.authorized ? undefined : String(objection),
    validUntil: Date.parse(socket.getPeerCertificate().valid_to),
  }
}

const send = (url: URL, body: string | undefined) =>
  Effect.callback<Omit<Probed, "at">, NoAnswer>((resume) => {
    const fail = (error: Error) => resume(Effect.fail(new NoAnswer({ code: codeOf(error), reason: error.message })))
    const request = (url.protocol === "https:" ? tlsRequest : plainRequest)(url, {
      method: body === undefined ? "GET" : "POST",
      headers: body === undefined ? {} : { "content-type": "application/json" },
      agent: false,
      timeout: TIMEOUT_MS,
      rejectUnauthorized: false,
    })
    request.on("timeout", () => request.destroy(Object.assign(new Error("no answer in time"), { code: "ETIMEDOUT" })))
    request.on("error", fail)
    request.on("response", (response) => {
      const certificate = certificateOf(response.socket)
      let text = ""
      response.setEncoding("utf8")
      response.on("data", (piece: string) => {
        text += piece
        if (text.length > MAX_BODY_BYTES) request.destroy(new Error("an answer without end"))
      })
      response.on("error", fail)
      response.on("end", () => {
        const { headers, statusCode = 0 } = response
        resume(Effect.succeed({ status: statusCode, headers, text, body: parseJson(text), certificate }))
      })
    })
    request.end(body)
    return Effect.sync(() => void request.destroy())
  })

/** A server's address as the base of its paths. */
export const asBase = (server: URL): URL => new URL(server.href.endsWith("/") ? server.href : `${server.href}/`)

/** `POST` with a `body`, which is JSON, else `GET`. */
export const probe = Effect.fnUntraced(function* (url: URL, body?: string) {
  const before = yield* Clock.currentTimeMillis
  const answer = yield* send(url, body)
  const after = yield* Clock.currentTimeMillis
  const probed: Probed = { ...answer, at: (before + after) / 2 }
  return probed
})
