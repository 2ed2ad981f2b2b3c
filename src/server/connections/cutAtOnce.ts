import type { Socket } from "node:net"

/** The parser that Node gives a connection. Its numbered members are the functions that hear of what it reads. */
type Parser = Record<string, unknown>

const parserOf = (socket: Socket): Parser | undefined =>
  "parser" in socket && typeof socket.parser === "object" && socket.parser !== null
    ? (socket.parser as Parser)
    : undefined

/**
 * Closes a connection in the middle of the 64 KiB that Node reads at a time. Node parses all of them, whatever becomes of
 * the connection, and calls back for every request and every chunk: ten thousand calls for what was to cost nothing. So
 * the parser gets no callbacks until the end of this turn of the event loop. By then the read has been parsed, and Node
 * has not yet given the parser to another connection.
 */
export const cutAtOnce = (socket: Socket): void => {
  const parser = parserOf(socket)
  socket.destroy()
  if (parser === undefined) return
  const callbacks = Object.entries(parser).filter(
    ([, value]) => typeof value === "function" && value.name.startsWith("parserOn"),
  )
  for (const [index] of callbacks) parser[index] = null
  setImmediate(() => Object.assign(parser, Object.fromEntries(callbacks)))
}
