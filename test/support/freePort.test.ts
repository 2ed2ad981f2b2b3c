import { once } from "node:events"
import { createServer } from "node:net"
import { assert, it } from "@effect/vitest"
import { freePort, isFree } from "./freePort.ts"

it("finds that a port is free, and that another server has taken it", async () => {
  const port = await freePort()
  assert.isTrue(await isFree(port))
  const server = createServer().listen(port, "127.0.0.1")
  await once(server, "listening")
  assert.isFalse(await isFree(port))
  server.close()
})
