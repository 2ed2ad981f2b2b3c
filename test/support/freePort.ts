/** Ports for servers that are started again where they were. */
import { once } from "node:events"
import { createServer } from "node:net"

/**
 * Below the ports that the system gives to outgoing connections (from 32768 on Linux), one of which could take the
 * server's place while it is down.
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
