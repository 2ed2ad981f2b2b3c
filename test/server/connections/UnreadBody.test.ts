/** Bodies that arrive before they are read are kept in one buffer. */
import { once } from "node:events"
import { readFileSync } from "node:fs"
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http"
import { createServer as createHttpsServer } from "node:https"
import { connect } from "node:tls"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { UnreadBody } from "../../../src/server/connections/UnreadBody.ts"
import { hasOpenssl, makeCertificate } from "../../support/certificates.ts"
import { temporaryFolder } from "../../support/proxy.ts"
import { openSocket } from "../../support/sockets.ts"
import { listening } from "../../support/listening.ts"

type Listener = (request: IncomingMessage, response: ServerResponse) => void

const serve = (
  listener: Listener,
  Request: typeof UnreadBody = UnreadBody,
  make: (Request: typeof UnreadBody, listener: Listener) => Server = (IncomingMessage, listener) =>
    createServer({ IncomingMessage }, listener),
) =>
  Effect.map(
    Effect.suspend(() => listening(make(Request, listener))),
    (port) => ({ port }),
  )

const chunked = (text: string, size: number): string =>
  (text.match(new RegExp(`.{1,${size}}`, "gs")) ?? [])
    .map((piece) => `${piece.length.toString(16)}\r\n${piece}\r\n`)
    .join("") + "0\r\n\r\n"

const POST = "POST / HTTP/1.1\r\nhost: x\r\n"
const TEXT = Array.from({ length: 5000 }, (_, i) => `${i}`).join(" ")

/** Answers with what was sent. */
const echo = async (request: IncomingMessage, response: ServerResponse) => {
  const pieces: Array<Uint8Array> = []
  for await (const piece of request) pieces.push(piece as Uint8Array)
  response.end(Buffer.concat(pieces))
}

describe("an unread body", () => {
  it.live("is kept in one buffer, however many pieces arrive", () =>
    Effect.gen(function* () {
      const arrived = Promise.withResolvers<IncomingMessage>()
      const { port } = yield* serve((request) => arrived.resolve(request))
      const client = yield* openSocket(port, `${POST}transfer-encoding: chunked\r\n\r\n${chunked(TEXT, 300)}`)
      const request = yield* Effect.promise(() => arrived.promise)
      while (!request.complete) yield* Effect.sleep("5 millis")
      const pieces: Array<Buffer> = []
      request.on("data", (piece: Buffer) => pieces.push(piece))
      yield* Effect.promise(() => once(request, "end"))
      assert.strictEqual(Buffer.concat(pieces).toString(), TEXT)
      assert.isBelow(pieces.length, 5)
      client.socket.destroy()
    }),
  )

  it.live("is limited in size", () =>
    Effect.gen(function* () {
      const arrived = Promise.withResolvers<IncomingMessage>()
      const { port } = yield* serve((request) => arrived.resolve(request))
      const length = 4_000_000
      const client = yield* openSocket(port, `${POST}content-length: ${length}\r\n\r\n`)
      client.write(Buffer.alloc(length, "x"))
      const request = yield* Effect.promise(() => arrived.promise)
      yield* Effect.sleep("300 millis")
      // The permitted buffer, and one read of the socket.
      assert.isBelow(request.socket.bytesRead, 256 * 1024)
      let taken = 0
      request.on("data", (piece: Buffer) => (taken += piece.length))
      yield* Effect.promise(() => once(request, "end"))
      assert.strictEqual(taken, length)
    }),
  )

  it.live("arrives whole, whenever and however it is read", () =>
    Effect.gen(function* () {
      for (const wait of [0, 1, 20]) {
        const { port } = yield* serve((request, response) =>
          wait === 0 ? void echo(request, response) : void setTimeout(() => void echo(request, response), wait),
        )
        for (const size of [300, 1000, TEXT.length]) {
          const client = yield* openSocket(port, `${POST}transfer-encoding: chunked\r\n\r\n`)
          const bytes = chunked(TEXT, size)
          const half = Math.floor(bytes.length / 2)
          client.write(bytes.slice(0, half))
          yield* Effect.sleep("5 millis")
          // The next request on the connection comes along with the end of this one.
          client.write(`${bytes.slice(half)}GET /next HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n`)
          const answers = yield* Effect.promise(() => client.ended)
          assert.include(answers, `\r\n\r\n${TEXT}HTTP/1.1 200 OK\r\n`)
        }
      }
    }),
  )

  it.live("is skipped when its request was answered without it", () =>
    Effect.gen(function* () {
      const seen: Array<string | undefined> = []
      const { port } = yield* serve((request, response) => {
        seen.push(request.url)
        response.end("answered")
      })
      const client = yield* openSocket(port)
      for (const body of [
        `content-length: ${TEXT.length}\r\n\r\n${TEXT}`,
        `transfer-encoding: chunked\r\n\r\n${chunked(TEXT, 300)}`,
      ]) {
        client.write(POST + body)
      }
      client.write("GET /last HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n")
      yield* Effect.promise(() => client.ended)
      assert.deepStrictEqual(seen, ["/", "/", "/last"])
    }),
  )

  it.live("fails when its sender has disconnected", () =>
    Effect.gen(function* () {
      const arrived = Promise.withResolvers<IncomingMessage>()
      const { port } = yield* serve((request) => arrived.resolve(request))
      const client = yield* openSocket(port, `${POST}content-length: 10\r\n\r\nx`)
      const request = yield* Effect.promise(() => arrived.promise)
      const failed = new Promise<Error>((resolve) => request.on("error", resolve))
      client.socket.destroy()
      assert.strictEqual((yield* Effect.promise(() => failed)).message, "aborted")
    }),
  )
})

describe("a body in tiny chunks", () => {
  /** A server that counts the pieces it hears of, and whether it reads bodies or answers without them. */
  const counting = Effect.fnUntraced(function* (listener: Listener, make?: Parameters<typeof serve>[2]) {
    const heard = { pieces: 0 }
    class Counted extends UnreadBody {
      override push(piece: Uint8Array<ArrayBuffer> | null): boolean {
        if (piece !== null) heard.pieces += 1
        return super.push(piece)
      }
    }
    const { port } = yield* serve(listener, Counted, make)
    return { heard, port }
  })
  const framing = "transfer-encoding: chunked\r\n\r\n"
  const read: Listener = (request, response) => void echo(request, response).catch(() => undefined)

  it.live("has its connection cut in the middle of a read, whether it is read, refused or not yet asked for", () =>
    Effect.gen(function* () {
      const unread: Listener = (request) => void request.on("error", () => undefined)
      const refuse: Listener = (_, response) => void response.writeHead(429).end("no")
      for (const listener of [read, unread, refuse]) {
        const { heard, port } = yield* counting(listener)
        const client = yield* openSocket(port, `${POST}${framing}${"1\r\nx\r\n".repeat(9000)}`)
        yield* Effect.promise(() => client.ended)
        assert.strictEqual(heard.pieces, 65)
      }
    }),
  )

  it.live("has its connection cut even if its chunks have extensions", () =>
    Effect.gen(function* () {
      const { heard, port } = yield* counting(read)
      const client = yield* openSocket(port, `${POST}${framing}${`1;${"x".repeat(200)}\r\nx\r\n`.repeat(200)}`)
      yield* Effect.promise(() => client.ended)
      assert.strictEqual(heard.pieces, 65)
    }),
  )

  it.live("is cut off once chunk extensions far outweigh the body", () =>
    Effect.gen(function* () {
      const { heard, port } = yield* counting(read)
      const chunk = (extension: number) => `100;${"x".repeat(extension)}\r\n${"y".repeat(256)}\r\n`
      const client = yield* openSocket(port, `${POST}${framing}${chunk(2000).repeat(1000)}`)
      yield* Effect.promise(() => client.ended)
      assert.isBelow(heard.pieces, 200)
      const modest = yield* openSocket(
        port,
        `${POST}connection: close\r\n${framing}${chunk(100).repeat(1000)}0\r\n\r\n`,
      )
      assert.match(yield* Effect.promise(() => modest.ended), /y{256}$/)
    }),
  )

  it.live("is accepted up to 64 chunks, and beyond if they have 256 bytes on average", () =>
    Effect.gen(function* () {
      const { heard, port } = yield* counting(read)
      const tiny = "1\r\nx\r\n".repeat(64)
      const large = `100\r\n${"x".repeat(256)}\r\n`.repeat(100)
      const client = yield* openSocket(port, `${POST}connection: close\r\n${framing}${tiny}${large}0\r\n\r\n`)
      const answer = yield* Effect.promise(() => client.ended)
      assert.strictEqual(answer.split("\r\n\r\n")[1]?.length, 64 + 256 * 100)
      assert.isAtLeast(heard.pieces, 164)
    }),
  )

  it.live("does not affect the parsers of other connections", () =>
    Effect.gen(function* () {
      const { port } = yield* counting(read)
      for (let i = 0; i < 20; i++) {
        const hostile = yield* openSocket(port, `${POST}${framing}${"1\r\nx\r\n".repeat(9000)}`)
        const length = "content-length: 5\r\nconnection: close\r\n\r\nhello"
        const honest = yield* openSocket(port, `${POST}${length}`)
        assert.match(yield* Effect.promise(() => honest.ended), /hello$/)
        yield* Effect.promise(() => hostile.ended)
        const later = yield* openSocket(port, `${POST}${length}`)
        assert.match(yield* Effect.promise(() => later.ended), /hello$/)
      }
    }),
  )

  it.live("is not confused with a body of known length that arrives in tiny pieces", () =>
    Effect.gen(function* () {
      const { port } = yield* counting(read)
      const client = yield* openSocket(port, `${POST}content-length: 100\r\nconnection: close\r\n\r\n`)
      client.socket.setNoDelay(true)
      for (let i = 0; i < 100; i++) {
        client.write("x")
        yield* Effect.sleep("1 millis")
      }
      assert.match(yield* Effect.promise(() => client.ended), /x{100}$/)
    }),
  )

  it.live.skipIf(!hasOpenssl)(
    "has its connection cut if the chunks are TLS records, whatever length it announces",
    () =>
      Effect.gen(function* () {
        const certificate = makeCertificate(yield* temporaryFolder, "server")
        const [cert, key] = [readFileSync(certificate.cert), readFileSync(certificate.key)]
        const { heard, port } = yield* counting(read, (IncomingMessage, listener) =>
          createHttpsServer({ IncomingMessage, cert, key }, listener),
        )
        const send = (sizes: ReadonlyArray<number>) =>
          Effect.promise(async () => {
            const socket = connect({ port, host: "127.0.0.1", ca: cert })
            let answer = ""
            socket.on("data", (piece: Buffer) => (answer += piece.toString("latin1")))
            // The server cuts the connection.
            socket.on("error", () => undefined)
            const closed = new Promise<void>((resolve) => socket.once("close", () => resolve()))
            await once(socket, "secureConnect")
            const length = sizes.reduce((sum, size) => sum + size, 0)
            socket.write(`${POST}connection: close\r\ncontent-length: ${length}\r\n\r\n`)
            for (const size of sizes) {
              if (!socket.writable) break
              // Each write that was passed on is a record.
              await new Promise<void>((resolve) => socket.write("x".repeat(size), () => resolve()))
            }
            await closed
            return answer
          })
        assert.isEmpty(yield* send(Array.from({ length: 9000 }, () => 1)))
        assert.strictEqual(heard.pieces, 65)
        const modest = Array.from({ length: 200 }, (_, index) => (index < 64 ? 1 : 256))
        assert.match(yield* send(modest), /\r\n\r\nx{34880}$/)
      }),
  )
})
