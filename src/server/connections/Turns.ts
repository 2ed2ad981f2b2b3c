/** Serves a connection's requests in turn (RFC 9112 §9.3.2), so that pipelining brings no advantage. */
import { IncomingMessage, type Server, ServerResponse } from "node:http"
import type { Server as HttpsServer } from "node:https"
import type { Socket } from "node:net"
import { cutAtOnce } from "./cutAtOnce.ts"
import type { RefusalCounts } from "./Refusals.ts"

/** Most requests of one connection, including the one being answered. */
const MAX_PIPELINED = 16
/** Most waiting requests of one client, on all of its connections. Hardly any program pipelines. */
const MAX_WAITING_PER_CLIENT = 512
/** Refusals after which the next answer closes the connection. */
const MAX_REFUSALS = 100

interface Turn {
  readonly response: ServerResponse
  readonly begin: () => void
}

/** A connection that has brought a request. */
export interface Serving {
  /** The response being written; `undefined` between two requests. */
  readonly answer: ServerResponse | undefined
}

interface Queue extends Serving {
  answer: ServerResponse | undefined
  readonly waiting: Array<Turn>
  /** The client that it counts for; `undefined` for a trusted proxy, which carries many clients. */
  readonly client: string | undefined
  refused: number
  /** Whether it pauses after too many refusals. */
  isPaused: boolean
}

interface TurnSettings {
  readonly onBegin: (socket: Socket, response: ServerResponse) => void
  /** The client that a connection counts for; `undefined` for a trusted proxy, which carries many clients. */
  readonly clientOf: (socket: Socket) => string | undefined
  readonly refusals: Pick<RefusalCounts, "count" | "pause">
}

const isRefusal = ({ statusCode }: ServerResponse): boolean => statusCode >= 400 && statusCode < 500

/** How long a connection pauses after an answer, in milliseconds. */
const pauseAfter = (refusals: TurnSettings["refusals"], response: ServerResponse, queue: Queue): number => {
  if (queue.client === undefined || !isRefusal(response)) return 0
  queue.refused += 1
  return refusals.count(queue.client)
}

/** Counts the waiting requests of each client. Those of `undefined`, a trusted proxy, are not counted. */
const makeWaitingCounts = () => {
  const counts = new Map<string, number>()
  const of = (client: string | undefined): number => (client === undefined ? 0 : (counts.get(client) ?? 0))
  const add = (client: string | undefined, count: number): void => {
    if (client === undefined || count === 0) return
    const sum = of(client) + count
    if (sum === 0) counts.delete(client)
    else counts.set(client, sum)
  }
  return { of, add }
}

/**
 * Emits the requests of a server one at a time per connection, and cuts connections on which too many wait. After too many
 * refusals of a client its connections pause: refused ones before their next request, new ones before their first. A
 * connection that keeps being refused is closed in the end. Returns the connections that have brought a request.
 */
export const takeTurns = (
  server: Server | HttpsServer,
  { clientOf, onBegin, refusals }: TurnSettings,
): ReadonlyMap<Socket, Serving> => {
  const queues = new Map<Socket, Queue>()
  const waiting = makeWaitingCounts()
  const emit: (event: string, ...args: ReadonlyArray<unknown>) => boolean = server.emit.bind(server)

  const queueOf = (socket: Socket): Queue => {
    const known = queues.get(socket)
    if (known !== undefined) return known
    const queue: Queue = { answer: undefined, waiting: [], client: clientOf(socket), refused: 0, isPaused: false }
    queues.set(socket, queue)
    socket.once("close", () => {
      queues.delete(socket)
      waiting.add(queue.client, -queue.waiting.splice(0).length)
    })
    // Otherwise a client could avoid its pauses with a new connection for each request.
    if (queue.client !== undefined) pause(socket, queue, refusals.pause(queue.client))
    return queue
  }

  const beginNext = (socket: Socket, queue: Queue) => {
    const next = queue.waiting.shift()
    if (next === undefined) return
    waiting.add(queue.client, -1)
    // If the previous answer closed the connection, later requests cannot be answered.
    if (socket.writable) begin(socket, queue, next)
  }

  /** Begins no request of a connection for some milliseconds. */
  const pause = (socket: Socket, queue: Queue, ms: number) => {
    if (ms === 0) return
    queue.isPaused = true
    setTimeout(() => {
      queue.isPaused = false
      beginNext(socket, queue)
    }, ms).unref()
  }

  const begin = (socket: Socket, queue: Queue, turn: Turn) => {
    queue.answer = turn.response
    if (queue.refused >= MAX_REFUSALS) turn.response.shouldKeepAlive = false
    turn.response.once("close", () => {
      queue.answer = undefined
      pause(socket, queue, pauseAfter(refusals, turn.response, queue))
      if (!queue.isPaused) beginNext(socket, queue)
    })
    onBegin(socket, turn.response)
    turn.begin()
  }

  const mayWait = ({ client, waiting: { length } }: Queue): boolean =>
    length < MAX_PIPELINED - 1 && waiting.of(client) < MAX_WAITING_PER_CLIENT

  const takeTurn = (socket: Socket, turn: Turn) => {
    const queue = queueOf(socket)
    if (queue.answer === undefined && !queue.isPaused) return begin(socket, queue, turn)
    if (!mayWait(queue)) return cutAtOnce(socket)
    queue.waiting.push(turn)
    waiting.add(queue.client, 1)
  }

  const takeRequest = (event: string, ...args: ReadonlyArray<unknown>): boolean => {
    const [request, response] = args
    const isRequest = event === "request" || event === "checkContinue"
    if (!isRequest || !(request instanceof IncomingMessage) || !(response instanceof ServerResponse)) {
      return emit(event, ...args)
    }
    takeTurn(request.socket, { response, begin: () => void emit(event, ...args) })
    return true
  }
  Object.assign(server, { emit: takeRequest })
  return queues
}
