/**
 * The part of `fetch` that the client uses, on Node's own HTTP client, which takes a third of the processor time. Respects
 * `NODE_USE_ENV_PROXY`. Follows no redirect.
 */
import { builtinModule } from "./builtinModule.ts"
import type { AnswerBody, BodyPiece, HttpRequest, HttpResponse } from "./httpTypes.ts"
import { deferred, type Deferred } from "./deferred.ts"

/** The used parts of Node's modules. Their types are missing in browsers. */
interface Emitter<Events> {
  readonly on: <Name extends keyof Events>(event: Name, listener: (value: Events[Name]) => void) => unknown
}
interface IncomingMessage extends Emitter<{
  readonly data: Uint8Array<ArrayBuffer>
  readonly end: void
  readonly error: Error
  readonly close: void
}> {
  readonly statusCode: number
  readonly headers: Readonly<Record<string, string | undefined>>
  readonly pause: () => void
  readonly resume: () => void
  readonly destroy: (error?: Error) => void
}
interface Socket extends Emitter<{ readonly connect: void; readonly secureConnect: void; readonly close: void }> {
  readonly connecting: boolean
}
interface ClientRequest extends Emitter<{
  readonly socket: Socket
  readonly response: IncomingMessage
  readonly timeout: void
  readonly error: Error
  readonly close: void
}> {
  readonly destroy: (error: Error) => void
  readonly end: (body: string | undefined) => void
}
interface ParsedAddress {
  readonly protocol: string
  readonly hostname: string
  readonly port: string
  readonly path: string
}
interface NodeHttp {
  readonly request: (options: ParsedAddress & Omit<HttpRequest, "body"> & { readonly timeout: number }) => ClientRequest
}

/** Time to connect and time without data, in milliseconds; both as in Node's `fetch`. */
const CONNECT_LIMIT_MS = 10_000
const IDLE_LIMIT_MS = 300_000

/** This client does not decompress, and ciphertext does not compress. */
const AS_IT_IS = { "accept-encoding": "identity" }

/** Uses the error codes of Node's `fetch`. */
const tookTooLong = (code: string): Error => Object.assign(new Error("It took too long."), { code })

/** Pauses the socket when this many pieces wait to be read. */
const MAX_UNREAD = 2

/** Reads a body as it comes. It costs less than Node's own iterator, which makes a dozen objects for each body. */
const readerOf = (message: IncomingMessage): ReturnType<AnswerBody["getReader"]> => {
  const unread: Array<Uint8Array> = []
  let waiting: Deferred<BodyPiece> | undefined
  let ended = false
  let failure: Error | undefined
  const go = () => {
    if (waiting === undefined) return
    const piece = unread.shift()
    if (piece !== undefined) waiting.resolve({ value: piece })
    else if (ended) waiting.resolve({ done: true, value: undefined })
    else if (failure !== undefined) waiting.reject(failure)
    else return message.resume()
    waiting = undefined
  }
  message.on("data", (piece) => {
    if (unread.push(piece) >= MAX_UNREAD) message.pause()
    go()
  })
  message.on("end", () => {
    ended = true
    go()
  })
  message.on("error", (error) => {
    failure = error
    go()
  })
  message.on("close", () => {
    failure ??= new Error("The connection closed in the middle of the answer.")
    go()
  })
  return {
    read: () => {
      waiting = deferred()
      const { promise } = waiting
      go()
      return promise
    },
    cancel: async () => {
      if (!ended) message.destroy()
    },
  }
}

const answerFrom = (message: IncomingMessage): HttpResponse => {
  const reader = readerOf(message)
  return {
    ok: message.statusCode >= 200 && message.statusCode < 300,
    status: message.statusCode,
    headers: { get: (name) => message.headers[name] ?? null },
    body: { cancel: reader.cancel, getReader: () => reader },
  }
}

/** Limits the time to connect. Over TLS, that includes the handshake. */
const limitConnecting = (sent: ClientRequest, socket: Socket, connected: "connect" | "secureConnect"): void => {
  if (!socket.connecting) return
  const timer = setTimeout(() => sent.destroy(tookTooLong("UND_ERR_CONNECT_TIMEOUT")), CONNECT_LIMIT_MS)
  socket.on(connected, () => clearTimeout(timer))
  socket.on("close", () => clearTimeout(timer))
}

/** A parsed address and the function that sends to it. */
interface Sender {
  readonly address: string
  readonly connected: "connect" | "secureConnect"
  readonly send: (sent: Omit<HttpRequest, "body">) => ClientRequest
}

const routeTo = (address: string): Sender => {
  const url = new URL(address)
  const { protocol, port } = url
  const isSecure = protocol === "https:"
  // This file is loaded only in Node.
  const { request } = builtinModule(isSecure ? "node:https" : "node:http") as NodeHttp
  const target = { protocol, hostname: url.hostname.replace(/^\[|\]$/g, ""), port, path: url.pathname + url.search }
  return {
    address,
    connected: isSecure ? "secureConnect" : "connect",
    send: ({ headers, ...sent }) =>
      request({ ...target, ...sent, headers: { ...AS_IT_IS, ...headers }, timeout: IDLE_LIMIT_MS }),
  }
}

/** The last route, kept because a client sends nearly all requests to one address. */
let last: Sender | undefined

export const nodeFetch = (address: string, { body, ...options }: HttpRequest): Promise<HttpResponse> =>
  new Promise((resolve, reject) => {
    const route = last?.address === address ? last : routeTo(address)
    last = route
    const sent = route.send(options)
    let receiving: ClientRequest | IncomingMessage = sent
    sent.on("socket", (socket) => limitConnecting(sent, socket, route.connected))
    sent.on("timeout", () =>
      receiving.destroy(tookTooLong(receiving === sent ? "UND_ERR_HEADERS_TIMEOUT" : "UND_ERR_BODY_TIMEOUT")),
    )
    sent.on("error", reject)
    sent.on("response", (message) => {
      receiving = message
      resolve(answerFrom(message))
    })
    // Neither a response nor an error: Node silently drops a connection that switches protocols.
    sent.on("close", () => {
      if (receiving === sent) reject(new Error("The connection closed without an answer."))
    })
    sent.end(body)
  })
