/** Ports for servers that restart on the same port. */
import { once } from "node:events"
import { createServer } from "node:net"
import { OPERATOR_OFFSET } from "../../src/layers/config/serverSettings.ts"

/** Outgoing connections take ports from here on (Linux), also one whose server is just down. */
const EPHEMERAL = 32_768
const FIRST = 20_000
const COUNT = EPHEMERAL - OPERATOR_OFFSET - FIRST

/** Whether a server could listen on this port of 127.0.0.1. */
export const isFree = async (port: number): Promise<boolean> => {
  const server = createServer().listen(port, "127.0.0.1")
  // `once` also rejects with an error of the server.
  const listens = await once(server, "listening").then(
    () => true,
    () => false,
  )
  server.close()
  return listens
}

/** A port of 127.0.0.1 that was free a moment ago, as was the one on which a server there listens for its operator. */
export const freePort = async (): Promise<number> => {
  for (;;) {
    const port = FIRST + Math.floor(Math.random() * COUNT)
    if ((await isFree(port)) && (await isFree(port + OPERATOR_OFFSET))) return port
  }
}
