/** Limits connections: number, refusals, idle time, slow readers, unread answers. Also answers what is not HTTP. */
import type { IncomingMessage, Server, ServerResponse } from "node:http"
import type { Server as HttpsServer } from "node:https"
import type { Socket } from "node:net"
import { Duration, Result } from "effect"
import { IpNetwork, NetAddress } from "effect/net"
import { makeProblem, PROBLEM_CONTENT_TYPE } from "../../domain/problems/problem.ts"
import { subscriberOf } from "../../domain/access/ipAddress.ts"
import { makeAnswerMemory } from "./AnswerMemory.ts"
import { makeRefusals } from "./Refusals.ts"
import { type Serving, takeTurns } from "./Turns.ts"

type AnyServer = Server | HttpsServer

export interface ConnectionLimits {
  readonly maxConnections: number
  readonly maxConnectionsPerClient: number
  readonly trustedProxies: ReadonlyArray<IpNetwork.IpNetwork>
  readonly writeTimeout: Duration.Duration
  readonly writeMinRate: number
  /** Bytes of all unread answers together. */
  readonly maxAnswerMemory: number
}

/** How often connections are checked, in milliseconds. */
export const CHECK_MS = 1000
/** How long the client has to close a connection after its refusal was sent, in milliseconds. */
const REFUSAL_LINGER_MS = 500

const isTrusted = (limits: ConnectionLimits, address: string | undefined): boolean =>
  Result.match(NetAddress.ipFromString(address ?? ""), {
    onFailure: () => false,
    onSuccess: (parsed) => {
      const canonical = NetAddress.toCanonical(parsed)
      return limits.trustedProxies.some((network) => IpNetwork.contains(network, canonical))
    },
  })

/** The client that a connection counts for; `undefined` for a trusted proxy, whose connections carry many clients. */
const clientOf = (limits: ConnectionLimits, { remoteAddress }: Socket): string | undefined =>
  isTrusted(limits, remoteAddress) ? undefined : subscriberOf(remoteAddress ?? "unknown")

const capConnections = (server: AnyServer, limits: ConnectionLimits): void => {
  const open = new Map<string, number>()
  server.maxConnections = limits.maxConnections
  server.on("connection", (socket: Socket) => {
    const address = subscriberOf(socket.remoteAddress ?? "unknown")
    const count = (open.get(address) ?? 0) + 1
    if (count > limits.maxConnectionsPerClient && !isTrusted(limits, socket.remoteAddress)) {
      socket.destroy()
      return
    }
    open.set(address, count)
    socket.once("close", () => {
      const left = (open.get(address) ?? 1) - 1
      if (left === 0) open.delete(address)
      else open.set(address, left)
    })
  })
}

/**
 * Cuts connections that are idle or whose answer is not read, but none that waits for a provider. Node counts a write as
 * progress as long as the system accepts parts of it.
 */
const cutStalled = (server: AnyServer, limits: ConnectionLimits, serving: ReadonlyMap<Socket, Serving>): void => {
  server.setTimeout(Duration.toMillis(limits.writeTimeout), (socket: Socket) => {
    if (serving.get(socket)?.answer === undefined || socket.writableLength > 0) socket.destroy()
  })
}

/** Cuts readers that take longer than the write time-out plus the time for all bytes since then at `writeMinRate`. */
const slowReaders = (limits: ConnectionLimits) => {
  const patience = Duration.toMillis(limits.writeTimeout)
  /** Since when each reader has been behind, and how many bytes it had read by then. */
  const behind = new WeakMap<Socket, { readonly since: number; readonly taken: number }>()
  return (sockets: Iterable<Socket>) => {
    const now = performance.now()
    for (const socket of sockets) {
      if (socket.writableLength === 0) {
        behind.delete(socket)
        continue
      }
      const { since, taken } = behind.get(socket) ?? { since: now, taken: socket.bytesWritten - socket.writableLength }
      behind.set(socket, { since, taken })
      // Includes waiting bytes: a large write is reported only once all of it was taken.
      const allowed = patience + ((socket.bytesWritten - taken) / limits.writeMinRate) * 1000
      if (now - since > allowed) socket.destroy()
    }
  }
}

const MALFORMED = { code: "malformed", status: 400, title: "Bad Request" }

/** Problems for error codes of Node's parser. Their titles are also the reason phrases. */
const CLIENT_ERRORS = new Map<string | undefined, typeof MALFORMED>([
  ["HPE_HEADER_OVERFLOW", { code: "headers-too-large", status: 431, title: "Request Header Fields Too Large" }],
  ["ERR_HTTP_REQUEST_TIMEOUT", { code: "timeout", status: 408, title: "Request Timeout" }],
])

/** Answers input that Node's parser rejects with a problem document. */
const answerClientErrors = (server: AnyServer, serving: ReadonlyMap<Socket, Serving>): void => {
  server.on("clientError", (error: NodeJS.ErrnoException, socket: Socket) => {
    // After an answer has begun, no other can follow.
    const begun = serving.get(socket)?.answer?.headersSent === true
    if (error.code === "ECONNRESET" || !socket.writable || begun) return void socket.destroy()
    const problem = makeProblem(CLIENT_ERRORS.get(error.code) ?? MALFORMED)
    const body = JSON.stringify(problem)
    socket.end(
      `HTTP/1.1 ${problem.status} ${problem.title}\r\ncontent-type: ${PROBLEM_CONTENT_TYPE}\r\ncontent-length: ${body.length}\r\nconnection: close\r\n\r\n${body}`,
    )
    // The client may still use its half of the connection, which Node no longer watches.
    const timer = setTimeout(() => socket.destroy(), REFUSAL_LINGER_MS)
    socket.once("close", () => clearTimeout(timer))
  })
}

/** Ignores `Upgrade` (RFC 9110 §7.8): the HTTP layer's listener takes connections out of time-outs and back-pressure. */
const ignoreUpgrades = (server: AnyServer): void => {
  server.on("newListener", (event, listener) => {
    if (event === "upgrade") queueMicrotask(() => server.off("upgrade", listener))
  })
}

/** Ignores unknown `Expect` values (RFC 9110 §10.1.1). Node would answer 417, out of order and without a problem document. */
const ignoreExpectations = (server: AnyServer): void => {
  server.on("checkExpectation", (request: IncomingMessage, response: ServerResponse) =>
    server.emit("request", request, response),
  )
}

export const limitConnections = (server: AnyServer, limits: ConnectionLimits): void => {
  const answers = makeAnswerMemory(limits.maxAnswerMemory)
  const refusals = makeRefusals()
  const serving = takeTurns(server, {
    onBegin: answers.watch,
    clientOf: (socket) => clientOf(limits, socket),
    refusals,
  })
  capConnections(server, limits)
  cutStalled(server, limits, serving)
  answerClientErrors(server, serving)
  ignoreUpgrades(server)
  ignoreExpectations(server)
  const cutSlow = slowReaders(limits)
  const timer = setInterval(() => {
    answers.update(serving.keys())
    cutSlow(serving.keys())
    refusals.forget()
  }, CHECK_MS)
  timer.unref()
  server.once("close", () => clearInterval(timer))
}
