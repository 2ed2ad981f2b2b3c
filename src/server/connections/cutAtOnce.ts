import type { Socket } from "node:net"

/** The HTTP parser of a connection. Its numbered members are callbacks. */
type Parser = Record<string, unknown>

const parserOf = (socket: Socket): Parser | undefined =>
  "parser" in socket && typeof socket.parser === "object" && socket.parser !== null
    ? (socket.parser as Parser)
    : undefined

/**
 * Closes a connection and ignores the rest of the current read. Node parses all of the read, up to 64 KiB, even after
 * the connection was destroyed, with a callback for every request and chunk: up to ten thousand. So the callbacks are
 * removed until the end of this turn of the event loop. Only then does Node reuse the parser for another connection.
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
