/**
 * Handles the requests of one connection one after the other. Their answers have to be in that order anyway (RFC 9112
 * §9.3.2), and so a client that pipelines requests neither overtakes others nor has more than one answer prepared at a
 * time.
 */
import { IncomingMessage, type Server, ServerResponse } from "node:http"
import type { Server as HttpsServer } from "node:https"
import type { Socket } from "node:net"

/** How many requests one connection may have: the one being answered, and those that wait. */
const MAX_PIPELINED = 16

interface Turn {
  readonly response: ServerResponse
  readonly begin: () => void
}

/** Handles the requests of one connection. */
export interface Serving {
  /** The response being written; `undefined` between two requests. */
  readonly answer: ServerResponse | undefined
}

interface Line extends Serving {
  answer: ServerResponse | undefined
  readonly waiting: Array<Turn>
}

/**
 * Emits the requests of a server one at a time per connection, and cuts connections on which too many wait. Node emits
 * every request within the 64 KiB that it reads at once, whatever becomes of the connection, so the rest of them is
 * dropped. Returns the connections that have brought a request.
 */
export const takeTurns = (
  server: Server | HttpsServer,
  onBegin: (socket: Socket, response: ServerResponse) => void,
): ReadonlyMap<Socket, Serving> => {
  const lines = new Map<Socket, Line>()
  const emit: (event: string, ...args: ReadonlyArray<unknown>) => boolean = server.emit.bind(server)

  const lineOf = (socket: Socket): Line => {
    const known = lines.get(socket)
    if (known !== undefined) return known
    const line: Line = { answer: undefined, waiting: [] }
    lines.set(socket, line)
    socket.once("close", () => lines.delete(socket))
    return line
  }

  const begin = (socket: Socket, line: Line, turn: Turn) => {
    line.answer = turn.response
    turn.response.once("close", () => {
      line.answer = undefined
      const next = line.waiting.shift()
      // The connection closes with this answer, so later requests cannot be answered.
      if (next !== undefined && socket.writable) begin(socket, line, next)
    })
    onBegin(socket, turn.response)
    turn.begin()
  }

  const takeTurn = (socket: Socket, turn: Turn) => {
    const line = lineOf(socket)
    if (line.answer === undefined) begin(socket, line, turn)
    else if (line.waiting.length < MAX_PIPELINED - 1) line.waiting.push(turn)
    else socket.destroy()
  }

  const heard = (event: string, ...args: ReadonlyArray<unknown>): boolean => {
    const [request, response] = args
    const isRequest = event === "request" || event === "checkContinue"
    if (!isRequest || !(request instanceof IncomingMessage) || !(response instanceof ServerResponse)) {
      return emit(event, ...args)
    }
    takeTurn(request.socket, { response, begin: () => void emit(event, ...args) })
    return true
  }
  Object.assign(server, { emit: heard })
  return lines
}
