/** Sends one request for the doctor. It reports a bad certificate instead of failing, and sends no secrets. */
import { parseJson } from "../../domain/json/json.ts"
import { connectionReason } from "../../domain/problems/systemErrors.ts"
import { Agent as PlainAgent, type IncomingHttpHeaders, request as plainRequest } from "node:http"
import { Agent as TlsAgent, request as tlsRequest } from "node:https"
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
  /** The parsed JSON; `undefined` if the text is not JSON. */
  readonly body: unknown
  readonly certificate: CertificateSeen | undefined
  /** Milliseconds since the epoch on this machine's clock, in the middle of the request. */
  readonly at: number
}

/** No answer. `code` is the system's, such as `ECONNREFUSED`. */
export class NoAnswer extends Schema.TaggedError<NoAnswer>()("NoAnswer", {
  code: Schema.String,
  reason: Schema.String,
}) {}

const UNKNOWN = "UNKNOWN"

/** Returns the reason in plain words if the code is known. */
export const reasonOf = ({ code, reason }: NoAnswer): string => (code === UNKNOWN ? reason : connectionReason({ code }))

/** The network's proxy is used as by Node's global agents, which clients use; but each request gets a new connection. */
const PROXY_ENV = process.env["NODE_USE_ENV_PROXY"] === "1" ? process.env : undefined

const TIMEOUT_MS = 10_000
const MAX_BODY_BYTES = 1024 * 1024

const codeOf = (error: Error): string => ("code" in error && typeof error.code === "string" ? error.code : UNKNOWN)

const certificateOf = (socket: unknown): CertificateSeen | undefined => {
  if (!(socket instanceof TLSSocket)) return undefined
  // Typed as an Error, but a string: OpenSSL's name of the objection.
  const objection: unknown = socket.authorizationError
  return {
    objection: socket.authorized ? undefined : String(objection),
    validUntil: Date.parse(socket.getPeerCertificate().valid_to),
  }
}

const send = (url: URL, body: string | undefined) =>
  Effect.callback<Omit<Probed, "at">, NoAnswer>((resume) => {
    const fail = (error: Error) => resume(Effect.fail(new NoAnswer({ code: codeOf(error), reason: error.message })))
    const [sendRequest, Agent] = url.protocol === "https:" ? [tlsRequest, TlsAgent] : [plainRequest, PlainAgent]
    const request = sendRequest(url, {
      method: body === undefined ? "GET" : "POST",
      headers: body === undefined ? {} : { "content-type": "application/json" },
      agent: new Agent({ proxyEnv: PROXY_ENV }),
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

/** Adds a final slash, so that the URL can be a base of paths. */
export const asBase = (server: URL): URL => new URL(server.href.endsWith("/") ? server.href : `${server.href}/`)

/** Sends `POST` with a JSON `body`, else `GET`. */
export const probe = Effect.fnUntraced(function* (url: URL, body?: string) {
  const before = yield* Clock.currentTimeMillis
  const answer = yield* send(url, body)
  const after = yield* Clock.currentTimeMillis
  const probed: Probed = { ...answer, at: (before + after) / 2 }
  return probed
})
