/** The floor: Node passes requests to UPSTREAM; with CRYPTOGRAPHY it also does the cryptography of a sealed exchange. */
import { Agent, createServer, request } from "node:http"
import type { AddressInfo } from "node:net"
import { makeCryptography } from "./cryptography.ts"

const { CRYPTOGRAPHY, UPSTREAM = "" } = process.env
const compute = CRYPTOGRAPHY === undefined ? () => undefined : await makeCryptography()
const agent = new Agent({ keepAlive: true })

const server = createServer((incoming, outgoing) => {
  compute()
  const { "content-length": length, "content-type": type } = incoming.headers
  const sent = request(
    UPSTREAM + (incoming.url ?? "/"),
    { agent, method: incoming.method, headers: { "content-type": type, "content-length": length } },
    (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, { "content-type": answer.headers["content-type"] })
      answer.pipe(outgoing)
    },
  )
  sent.once("error", () => outgoing.destroy())
  incoming.pipe(sent)
})
server.listen(0, "127.0.0.1", () => {
  // A server that listens on a port has an address object.
  console.log(`listening on http://127.0.0.1:${(server.address() as AddressInfo).port}`)
})
