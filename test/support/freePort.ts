/** Ports for servers that restart on the same port. */
import { once } from "node:events"
import { createServer } from "node:net"

/**
 * Below the ephemeral ports (from 32768 on Linux), which an outgoing connection could take while the server is
 * down.
 */
const FIRST = 20_000
const COUNT = 12_000

const isFree = async (port: number): Promise<boolean> => {
  const server = createServer().listen(port, "127.0.0.1")
  const listens = await Promise.race([
    once(server, "listening").then(() => true),
    once(server, "error").then(() => false),
  ])
  server.close()
  return listens
}

/** A port of 127.0.0.1 that was free a moment ago. */
export const freePort = async (): Promise<number> => {
  for (;;) {
    const port = FIRST + Math.floor(Math.random() * COUNT)
    if (await isFree(port)) return port
  }
}
