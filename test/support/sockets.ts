/** Plain TCP connections, for bytes that an HTTP client would not send. */
import { connect, type Socket } from "node:net"
import { Effect, type Scope } from "effect"

interface OpenSocket {
  readonly socket: Socket
  readonly write: (bytes: string | Uint8Array) => void
  /** Resolves with everything received once the server has closed or reset the connection. */
  readonly ended: Promise<string>
  /** Everything received so far. */
  readonly received: () => string
  /** Resolves once the received text matches. */
  readonly receives: (pattern: RegExp | ((text: string) => boolean)) => Promise<string>
}

/** Opens a connection to 127.0.0.1 and writes `bytes`; closed with the scope. All of 127.0.0.0/8 is this machine. */
export const openSocket = (
  port: number,
  bytes: string | Uint8Array = "",
  localAddress = "127.0.0.1",
): Effect.Effect<OpenSocket, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.promise(async (): Promise<OpenSocket> => {
      const socket = connect({ port, host: "127.0.0.1", localAddress })
      let text = ""
      const waiting = new Set<() => void>()
      const look = () => {
        for (const each of waiting) each()
      }
      socket.on("data", (chunk) => {
        text += chunk.toString("latin1")
        look()
      })
      const ended = new Promise<string>((resolve) => {
        socket.on("error", () => undefined)
        socket.on("close", () => resolve(text))
        socket.on("close", look)
      })
      await new Promise<void>((resolve, reject) => {
        socket.once("connect", resolve)
        socket.once("error", reject)
      })
      if (bytes.length > 0) socket.write(bytes)
      return {
        socket,
        ended,
        write: (more) => void socket.write(more),
        received: () => text,
        receives: (pattern) =>
          new Promise((resolve, reject) => {
            const each = () => {
              if (!(typeof pattern === "function" ? pattern(text) : pattern.test(text))) {
                if (socket.closed) reject(new Error(`closed without ${String(pattern)} in: ${text}`))
                return
              }
              waiting.delete(each)
              resolve(text)
            }
            waiting.add(each)
            each()
          }),
      }
    }),
    ({ socket }) => Effect.sync(() => socket.destroy()),
  )

/** A JSON request as bytes. */
export const postOf = (path: string, body: unknown, headers: Readonly<Record<string, string>> = {}): string => {
  const text = JSON.stringify(body)
  const lines = Object.entries({
    host: "127.0.0.1",
    "content-type": "application/json",
    "content-length": String(Buffer.byteLength(text)),
    ...headers,
  }).map(([name, value]) => `${name}: ${value}\r\n`)
  return `POST ${path} HTTP/1.1\r\n${lines.join("")}\r\n${text}`
}
