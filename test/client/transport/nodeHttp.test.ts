/** How requests reach a proxy in Node when no `fetch` is given, over real sockets. */
import { once } from "node:events"
import http, { createServer, type RequestListener } from "node:http"
import { type AddressInfo, createServer as createTcpServer, type Server } from "node:net"
import { afterEach, assert, describe, it, vi } from "@effect/vitest"
import { Unreachable } from "../../../src/client/index.ts"
import type { HttpResponse } from "../../../src/client/transport/httpTypes.ts"
import { readBody, Transport } from "../../../src/client/transport/transport.ts"
import { systemCode } from "../../../src/domain/problems/systemErrors.ts"
import { freePort } from "../../support/freePort.ts"
import { failureOf } from "../../support/promises.ts"

const open: Array<Server> = []

const listen = async (server: Server): Promise<string> => {
  open.push(server)
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  // It listens on a port, so it has a number.
  return `127.0.0.1:${(server.address() as AddressInfo).port}`
}

const serve = async (listener: RequestListener) => `http://${await listen(createServer(listener))}`

afterEach(() => {
  vi.useRealTimers()
  vi.restoreAllMocks()
  for (const server of open.splice(0)) {
    if ("closeAllConnections" in server) (server as http.Server).closeAllConnections()
    server.close()
  }
})

const send = (url: string, signal?: AbortSignal): Promise<HttpResponse> =>
  new Transport(url, undefined).post(
    "/v1/completions",
    JSON.stringify({ a: "ü" }),
    { mayHaveBeenServed: true, signal },
    { headers: { "x-one": "1" } },
  )

const unreachable = async (promise: Promise<unknown>): Promise<Unreachable> => {
  const error = await failureOf(promise)
  return error instanceof Unreachable ? error : assert.fail(String(error))
}

describe("a request", () => {
  it("arrives with its headers and body, without anything that identifies the sender; status, headers and body return", async () => {
    const url = await serve(async (request, response) => {
      const pieces = await Array.fromAsync(request)
      const body = Buffer.concat(pieces).toString()
      response.writeHead(201, { "content-type": "application/json" })
      assert.strictEqual(request.headers["accept-encoding"], "identity")
      response.end(JSON.stringify([request.method, request.url, Object.keys(request.headers).sort(), body]))
    })
    const answer = await send(url)
    assert.deepStrictEqual(
      [answer.ok, answer.status, answer.headers.get("content-type"), answer.headers.get("x-none")],
      [true, 201, "application/json", null],
    )
    const headers = ["accept-encoding", "connection", "content-length", "content-type", "host", "x-one"]
    const seen = ["POST", "/v1/completions", headers, '{"a":"ü"}']
    assert.deepStrictEqual(JSON.parse(Buffer.from(await readBody(answer)).toString()), seen)
  })

  it("reuses a connection", async () => {
    const ports = new Set<number | undefined>()
    const url = await serve((request, response) => {
      ports.add(request.socket.remotePort)
      response.end("1")
    })
    for (let i = 0; i < 3; i++) await readBody(await send(url))
    assert.strictEqual(ports.size, 1)
  })

  it("does not follow a redirect", async () => {
    let asked = 0
    const url = await serve((_, response) => {
      asked++
      response.writeHead(307, { location: "/elsewhere" }).end("away")
    })
    const error = await unreachable(send(url))
    assert.include(error.message, "redirects to /elsewhere, which is not followed")
    assert.strictEqual(asked, 1)
  })

  it("is refused for an address with a user or password, which is not quoted", () => {
    for (const address of ["http://user:hunter2@127.0.0.1:9", "https://hunter2@proxy.test/"]) {
      assert.throws(() => void send(address), TypeError, /^(?!.*hunter2).*holds a user or password/)
    }
  })
})

describe("a request without an answer", () => {
  it("is not served if nothing listens", async () => {
    const error = await unreachable(send(`http://127.0.0.1:${await freePort()}`))
    assert.include(error.message, "nothing listens there")
    assert.isFalse(error.mayHaveBeenServed)
  })

  it("is not served if no network leads there", async () => {
    const error = await unreachable(send("http://255.255.255.255:9"))
    assert.strictEqual(Object(error.cause).syscall, "connect")
    assert.isFalse(error.mayHaveBeenServed)
  })

  it("fails if the connection switches protocols", async () => {
    const change = "HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n"
    const server = createTcpServer((socket) => {
      socket.on("error", () => undefined)
      socket.once("data", () => socket.write(change))
    })
    const { mayHaveBeenServed, message } = await unreachable(send(`http://${await listen(server)}`))
    assert.include(message, "there was no answer")
    assert.isTrue(mayHaveBeenServed)
  })

  it("is not served if connecting takes ten seconds", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] })
    const server = createTcpServer()
    const error = unreachable(send(`https://${await listen(server)}`))
    const [connection] = await once(server, "connection")
    // The client is connected once it has begun to speak TLS.
    await once(connection, "data")
    vi.advanceTimersByTime(9_999)
    assert.strictEqual(vi.getTimerCount(), 1)
    vi.advanceTimersByTime(1)
    const { mayHaveBeenServed, message } = await error
    assert.include(message, "there is no answer; check the network")
    assert.isFalse(mayHaveBeenServed)
  })

  it("has no connect time-out once connected", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] })
    const url = await serve((_, response) => {
      vi.advanceTimersByTime(60_000)
      response.end("late")
    })
    assert.strictEqual(Buffer.from(await readBody(await send(url))).toString(), "late")
  })

  it("may have been served if the connection closes", async () => {
    const url = await serve((request) => void request.socket.destroy())
    const error = await unreachable(send(url))
    assert.include(error.message, "could not be reached: it closed the connection; if it speaks TLS, use https://")
    assert.isTrue(error.mayHaveBeenServed)
  })

  it("is not advised to use https if it already does", async () => {
    const server = createTcpServer((socket) => void socket.once("data", () => socket.resetAndDestroy()))
    const { message } = await unreachable(send(`https://${await listen(server)}`))
    assert.match(message, /could not be reached: it closed the connection\.$/)
  })

  it("rejects with the reason of its signal", async () => {
    const controller = new AbortController()
    const url = await serve(() => controller.abort("enough"))
    assert.strictEqual(await failureOf(send(url, controller.signal)), "enough")
  })

  it.each([["before its answer"], ["in the middle of it"]])(
    "a server that says nothing more %s is given up",
    async (when) => {
      // Shortens the limits of minutes to milliseconds.
      const request = (options: http.RequestOptions) =>
        http.request({ ...options, timeout: (options.timeout ?? assert.fail("it waits forever")) / 10_000 })
      const real = process.getBuiltinModule.bind(process)
      vi.spyOn(process, "getBuiltinModule").mockImplementation((name: string) =>
        name === "node:http" ? { ...http, request } : real(name),
      )
      const url = await serve((_, response) => {
        if (when !== "before its answer") response.write("half")
      })
      const error = await failureOf(send(url).then(readBody))
      const code = when === "before its answer" ? "UND_ERR_HEADERS_TIMEOUT" : "UND_ERR_BODY_TIMEOUT"
      assert.strictEqual(systemCode(error), code)
    },
  )
})

describe("an answer", () => {
  it("that breaks off is an error", async () => {
    const url = await serve((_, response) => {
      response.writeHead(200, { "content-length": "10" })
      response.write("half", () => response.destroy())
    })
    assert.instanceOf(await failureOf(send(url).then(readBody)), Error)
    const { message } = await unreachable(new Transport(url, undefined).postJson("/v1/init", "{}"))
    assert.strictEqual(message, "The connection broke before the answer was complete: it closed the connection.")
    const fails = new ReadableStream({ start: (body) => body.error(new Error("for no known reason")) })
    const unexplained = await unreachable(
      new Transport(url, () => Promise.resolve(new Response(fails))).postJson("/v1/init", "{}"),
    )
    assert.strictEqual(unexplained.message, "The connection broke before the answer was complete.")
  })

  it("in many pieces is read completely and in order, even by a slow reader", async () => {
    const pieces = Array.from({ length: 300 }, (_, i) => Buffer.alloc(64 * 1024, i))
    const url = await serve((_, response) => {
      for (const piece of pieces) response.write(piece)
      response.end()
    })
    const answer = await send(url)
    const other = await serve((_, response) => response.end("1"))
    await readBody(await send(other))
    assert.isTrue(Buffer.concat(pieces).equals(await readBody(answer)))
  })

  it("that is not read stays in the socket", async () => {
    let sent = 0
    const piece = Buffer.alloc(1024 * 1024)
    const url = await serve((_, response) => {
      const more = () => {
        sent++
        if (sent < 64) response.write(piece, more)
      }
      more()
    })
    const unread = await send(url)
    const other = await serve((_, response) => response.end("1"))
    for (let i = 0; i < 100; i++) await readBody(await send(other))
    assert.isBelow(sent, 64)
    await unread.body?.cancel()
  })

  it("that broke off before it was read is an error", async () => {
    const url = await serve((_, response) => {
      response.writeHead(200, { "content-length": "10" })
      response.write("half", () => response.destroy())
    })
    const answer = await send(url)
    const other = await serve((_, response) => response.end("1"))
    for (let i = 0; i < 10; i++) await readBody(await send(other))
    assert.instanceOf(await failureOf(readBody(answer)), Error)
  })

  it("frees its connection when the reader cancels", async () => {
    const closed = Promise.withResolvers<void>()
    const url = await serve((request, response) => {
      request.socket.once("close", () => closed.resolve())
      response.write("an endless")
    })
    await (await send(url)).body?.cancel()
    await closed.promise
  })
})
