/**
 * What a connection may cost: how many there are in all and per address, how long nothing may move, how slowly an answer
 * may be read, and how what is not HTTP is turned away.
 */
import { IncomingMessage, type Server, type ServerResponse } from "node:http"
import type { Server as HttpsServer } from "node:https"
import type { Socket } from "node:net"
import { Duration, Result } from "effect"
import { IpNetwork, NetAddress } from "effect/net"
import { makeProblem, PROBLEM_CONTENT_TYPE } from "../domain/problem.ts"
import { subscriberOf } from "../http/shared/ClientAddress.ts"

type AnyServer = Server | HttpsServer

export interface ConnectionLimits {
  readonly maxConnections: number
  readonly maxConnectionsPerClient: number
  readonly trustedProxies: ReadonlyArray<IpNetwork.IpNetwork>
  readonly writeTimeout: Duration.Duration
  /** Bytes per second. */
  readonly writeMinRate: number
}

/** How often connections are looked at, in milliseconds. */
export const CHECK_MS = 1000
/** How many requests of one connection may be under way; clients that wait for each answer have one. */
const MAX_PIPELINED = 16
/** How long, after its refusal was sent, a connection is left to the client to close, in milliseconds. */
const REFUSAL_LINGER_MS = 500

const isTrusted = (limits: ConnectionLimits, address: string | undefined): boolean =>
  Result.match(NetAddress.ipFromString(address ?? ""), {
    onFailure: () => false,
    onSuccess: (parsed) => {
      const canonical = NetAddress.toCanonical(parsed)
      return limits.trustedProxies.some((network) => IpNetwork.contains(network, canonical))
    },
  })

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

/** What is being answered on a connection. */
interface Serving {
  /** More than one when requests are pipelined. */
  readonly answers: Set<ServerResponse>
  /** Since when the reader is behind, and how much it had taken then; `undefined` while it keeps up. */
  behind: { readonly since: number; readonly taken: number } | undefined
}

const isServing = (current: Serving | undefined): boolean => current !== undefined && current.answers.size > 0

/** What is being answered on the connections that have brought a request. */
const followAnswers = (server: AnyServer): ReadonlyMap<Socket, Serving> => {
  const serving = new Map<Socket, Serving>()
  const follow = ({ socket }: { readonly socket: Socket }, response: ServerResponse) => {
    let current = serving.get(socket)
    if (current === undefined) {
      current = { answers: new Set(), behind: undefined }
      serving.set(socket, current)
      // Answers that wait for their turn do not learn that their connection was closed.
      socket.once("close", () => serving.delete(socket))
    }
    const { answers } = current
    answers.add(response)
    response.once("close", () => {
      answers.delete(response)
    })
  }
  server.on("request", follow)
  // A request that waits for leave to send its body comes by this way only.
  server.on("checkContinue", follow)
  return serving
}

/**
 * Cuts connections over which nothing moves although something should: answers that nobody reads, and idle ones. What
 * waits for a provider is left alone. Node counts a write as moving while the system still takes parts of it.
 */
const cutStalled = (server: AnyServer, limits: ConnectionLimits, serving: ReadonlyMap<Socket, Serving>): void => {
  server.setTimeout(Duration.toMillis(limits.writeTimeout), (socket: Socket) => {
    if (!isServing(serving.get(socket)) || socket.writableLength > 0) socket.destroy()
  })
}

/**
 * Cuts readers that take so little, so seldom, that an answer would never end though something always moves. While bytes
 * wait for a reader, it has the write time-out, and beyond it the time that all the bytes there are to take need at the
 * least rate; when it has taken all, the count begins anew. Who waits for a provider has nothing to take.
 */
const cutSlowReaders = (server: AnyServer, limits: ConnectionLimits, serving: ReadonlyMap<Socket, Serving>): void => {
  const patience = Duration.toMillis(limits.writeTimeout)
  const look = () => {
    const now = performance.now()
    for (const [socket, current] of serving) {
      if (socket.writableLength === 0) {
        current.behind = undefined
        continue
      }
      current.behind ??= { since: now, taken: socket.bytesWritten - socket.writableLength }
      const { since, taken } = current.behind
      // What waits counts as well: of one large write nothing shows before all of it is taken.
      const allowed = patience + ((socket.bytesWritten - taken) / limits.writeMinRate) * 1000
      if (now - since > allowed) socket.destroy()
    }
  }
  const timer = setInterval(look, CHECK_MS)
  timer.unref()
  server.once("close", () => clearInterval(timer))
}

/** Answers what Node's parser rejects, before there is a request, as a problem document too. */
const answerClientErrors = (server: AnyServer, serving: ReadonlyMap<Socket, Serving>): void => {
  server.on("clientError", (error: NodeJS.ErrnoException, socket: Socket) => {
    // Behind an answer that has begun there is no place for another one.
    const begun = [...(serving.get(socket)?.answers ?? [])].some(({ headersSent }) => headersSent)
    if (error.code === "ECONNRESET" || !socket.writable || begun) return void socket.destroy()
    const [status, phrase, code] =
      error.code === "HPE_HEADER_OVERFLOW"
        ? [431, "Request Header Fields Too Large", "headers-too-large"]
        : error.code === "ERR_HTTP_REQUEST_TIMEOUT"
          ? [408, "Request Timeout", "timeout"]
          : [400, "Bad Request", "malformed"]
    const body = JSON.stringify(makeProblem({ code: String(code), status: Number(status), title: String(phrase) }))
    socket.end(
      `HTTP/1.1 ${status} ${phrase}\r\ncontent-type: ${PROBLEM_CONTENT_TYPE}\r\ncontent-length: ${body.length}\r\nconnection: close\r\n\r\n${body}`,
    )
    // Half of a connection is still the client's to use, and Node does not watch over it any more.
    const timer = setTimeout(() => socket.destroy(), REFUSAL_LINGER_MS)
    socket.once("close", () => clearTimeout(timer))
  })
}

/**
 * Nothing here is ever upgraded. Without a listener a request to upgrade is served like any other (RFC 9110 §7.8); with
 * the one that the HTTP layer adds, its connection would leave the server's care, time-outs and back-pressure included.
 */
const ignoreUpgrades = (server: AnyServer): void => {
  server.on("newListener", (event, listener) => {
    if (event === "upgrade") queueMicrotask(() => server.off("upgrade", listener))
  })
}

/**
 * Cuts connections on which requests are piled up behind one that is not answered yet, before anybody who listens for
 * requests hears of them: else all would be begun at once, ahead of everybody else's. Node hands on every request of the
 * 64 KiB that it reads at a time, whatever becomes of the connection, so the rest of them is only dropped.
 */
const capPipelines = (server: AnyServer, serving: ReadonlyMap<Socket, Serving>): void => {
  const emit: (event: string, ...args: ReadonlyArray<unknown>) => boolean = server.emit.bind(server)
  const isOneTooMany = ({ socket }: IncomingMessage): boolean => {
    if ((serving.get(socket)?.answers.size ?? 0) < MAX_PIPELINED) return false
    socket.destroy()
    return true
  }
  const heard = (event: string, ...args: ReadonlyArray<unknown>): boolean => {
    const [request] = args
    const isRequest = (event === "request" || event === "checkContinue") && request instanceof IncomingMessage
    return (isRequest && isOneTooMany(request)) || emit(event, ...args)
  }
  Object.assign(server, { emit: heard })
}

/** Puts all of these limits on a server that does not listen yet. */
export const limitConnections = (server: AnyServer, limits: ConnectionLimits): void => {
  const serving = followAnswers(server)
  capConnections(server, limits)
  cutStalled(server, limits, serving)
  cutSlowReaders(server, limits, serving)
  answerClientErrors(server, serving)
  capPipelines(server, serving)
  ignoreUpgrades(server)
}
