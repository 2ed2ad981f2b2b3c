/**
 * The little of `fetch` that is used, on Node's own HTTP client, which takes a third of the processor time. Like `fetch`, it goes
 * through the network's proxy where the process is told to (`NODE_USE_ENV_PROXY`). It follows no redirect.
 */
import { builtinModule } from "./builtinModule.ts"
import type { Answer, Sent } from "./answer.ts"

/** The few parts that are used of Node's modules, whose types browsers do not have. */
interface Emitter<Events> {
  readonly on: <Name extends keyof Events>(event: Name, listener: (value: Events[Name]) => void) => unknown
}
interface Message extends AsyncIterable<Uint8Array<ArrayBuffer>, undefined> {
  readonly statusCode: number
  readonly headers: Readonly<Record<string, string | undefined>>
  readonly destroy: (error?: Error) => void
}
interface Socket extends Emitter<{ readonly connect: void; readonly secureConnect: void; readonly close: void }> {
  readonly connecting: boolean
}
interface Request extends Emitter<{
  readonly socket: Socket
  readonly response: Message
  readonly timeout: void
  readonly error: Error
  readonly close: void
}> {
  readonly destroy: (error: Error) => void
  readonly end: (body: string | undefined) => void
}
interface NodeHttp {
  readonly request: (url: URL, options: Omit<Sent, "body"> & { readonly timeout: number }) => Request
}

/** How long, in milliseconds, a connection may take, and how long nothing may come over one: as long as with `fetch`. */
const CONNECT_LIMIT_MS = 10_000
const IDLE_LIMIT_MS = 300_000

/** With the code that `fetch` has for it. */
const tookTooLong = (code: string): Error => Object.assign(new Error("It took too long."), { code })

const answerFrom = (message: Message): Answer => {
  const pieces = message[Symbol.asyncIterator]()
  const cancel = async () => message.destroy()
  return {
    ok: message.statusCode >= 200 && message.statusCode < 300,
    status: message.statusCode,
    headers: { get: (name) => message.headers[name] ?? null },
    body: { cancel, getReader: () => ({ cancel, read: () => pieces.next() }) },
  }
}

/** A connection that TLS is spoken over is there once both sides agreed on keys. */
const limitConnecting = (sent: Request, socket: Socket, connected: "connect" | "secureConnect"): void => {
  if (!socket.connecting) return
  const timer = setTimeout(() => sent.destroy(tookTooLong("UND_ERR_CONNECT_TIMEOUT")), CONNECT_LIMIT_MS)
  socket.on(connected, () => clearTimeout(timer))
  socket.on("close", () => clearTimeout(timer))
}

export const nodeFetch = (address: string, { body, ...options }: Sent): Promise<Answer> =>
  new Promise((resolve, reject) => {
    const url = new URL(address)
    if (url.username !== "" || url.password !== "") throw new TypeError("There are credentials in the address.")
    const isSecure = url.protocol === "https:"
    // This file is loaded in Node alone, whose modules these are.
    const { request } = builtinModule(isSecure ? "node:https" : "node:http") as NodeHttp
    const sent = request(url, { ...options, timeout: IDLE_LIMIT_MS })
    let receiving: Request | Message = sent
    sent.on("socket", (socket) => limitConnecting(sent, socket, isSecure ? "secureConnect" : "connect"))
    sent.on("timeout", () => receiving.destroy(tookTooLong("UND_ERR_BODY_TIMEOUT")))
    sent.on("error", reject)
    sent.on("response", (message) => {
      receiving = message
      resolve(answerFrom(message))
    })
    // A request can be over with neither: Node drops a connection that changes to another protocol without a word.
    sent.on("close", () => {
      if (receiving === sent) reject(new Error("The connection closed without an answer."))
    })
    sent.end(body)
  })
