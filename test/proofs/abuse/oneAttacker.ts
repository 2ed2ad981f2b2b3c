/**
 * An attacker in a separate process: one attack after the other, each from a fresh address, with at most 10 MB/s.
 * Arguments: the proxy's port, milliseconds per attack, and the names of the attacks. Prints each attack as it begins, and how many of
 * its requests were answered under the seal.
 */
import { connect, type Socket } from "node:net"
import { constants, setPriority } from "node:os"
import { setTimeout } from "node:timers/promises"
import { Agent, fetch as fetchWith, setGlobalDispatcher } from "undici"
import { beginSession, INIT, post, seal } from "../../support/sealing.ts"
import { postOf } from "../../support/sockets.ts"
import { addressOf } from "./Attackers.ts"

const [port = "", phaseMs = "", ...names] = process.argv.slice(2)
let address = addressOf(0)
const proxy = { url: `http://127.0.0.1:${port}` }

// Lowest priority, as if on another machine: the attacker must not take processor time from the server.
setPriority(constants.priority.PRIORITY_LOW)
// Both are the standard fetch; only their types differ.
globalThis.fetch = fetchWith as unknown as typeof fetch

const BYTES_PER_SECOND = 10_000_000
let sent = 0
const started = performance.now()

/** Waits until this many more bytes are within the rate. */
const withinRate = async (bytes: number) => {
  sent += bytes
  const due = (sent / BYTES_PER_SECOND) * 1000 - (performance.now() - started)
  if (due > 0) await setTimeout(due)
  else sent = Math.max(sent, ((performance.now() - started - 1000) / 1000) * BYTES_PER_SECOND)
}

let over = false
const isOver = () => over
/** Requests answered under the seal. */
let opened = 0

/** Repeats an operation until the phase ends, ignoring failures. */
const keepDoing = async (times: number, each: () => Promise<unknown>) => {
  await Promise.all(
    Array.from({ length: times }, async () => {
      while (!isOver()) {
        await each().catch(() => undefined)
        await setTimeout(1)
      }
    }),
  )
}

/** Keeps a connection open, reconnecting when closed; `use` sends on it. */
const onConnections = (count: number, use: (socket: Socket) => Promise<unknown>, reads = true) =>
  keepDoing(count, async () => {
    const socket = connect({ port: Number(port), host: "127.0.0.1", localAddress: address })
    socket.on("error", () => undefined)
    const closed = new Promise<void>((resolve) => socket.once("close", () => resolve()))
    if (reads) socket.resume()
    else socket.pause()
    const using = use(socket).catch(() => undefined)
    await Promise.race([using, closed])
    socket.destroy()
    await using
  })

const write = async (socket: Socket, bytes: string | Uint8Array) => {
  await withinRate(bytes.length)
  if (socket.destroyed || isOver() || socket.write(bytes)) return
  const waiting = new AbortController()
  const drained = new Promise<void>((resolve) => socket.once("drain", resolve).once("close", () => resolve()))
  await Promise.race([drained, setTimeout(1000, undefined, { signal: waiting.signal }).catch(() => undefined)])
  waiting.abort()
}

const writeOn = (head: string, piece: string | Uint8Array) => async (socket: Socket) => {
  await write(socket, head)
  while (!isOver() && !socket.destroyed) await write(socket, piece)
}

const chunkedTo = (path: string) =>
  `POST ${path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n`
const REFUSED = "GET /v1/init HTTP/1.1\r\nhost: evil.example\r\n\r\n"
const DOCUMENT = "GET /console/main.js HTTP/1.1\r\nhost: localhost\r\n\r\n"
const LARGE = 12 * 1024 * 1024
const largeBody = JSON.stringify({
  session_id: "A".repeat(22),
  enc: "A".repeat(1494),
  ciphertext: "A".repeat(LARGE - 2000),
})
const PIECE = 64 * 1024
/** The session has been used up. */
const GONE = 410

const ATTACKS: Readonly<Record<string, () => Promise<unknown>>> = {
  "one-byte chunks": () =>
    onConnections(50, writeOn(chunkedTo("/v1/completions"), Buffer.from("1\r\nx\r\n".repeat(2000)))),
  "one-byte chunks with extensions": () =>
    onConnections(50, writeOn(chunkedTo("/v1/init"), Buffer.from(`1;${"x".repeat(100)}\r\nx\r\n`.repeat(200)))),
  "one-byte chunks of refused requests": () =>
    onConnections(50, writeOn(chunkedTo("/nowhere"), Buffer.from("1\r\nx\r\n".repeat(2000)))),
  "pipelined refusals": () => onConnections(200, writeOn("", REFUSED.repeat(16))),
  "refusals, one at a time": () =>
    onConnections(200, async (socket) => {
      while (!isOver() && !socket.destroyed) {
        await write(socket, REFUSED)
        await new Promise<void>((resolve) => socket.once("data", () => resolve()).once("close", () => resolve()))
      }
    }),
  "refusals, a connection for each": () =>
    onConnections(100, async (socket) => {
      await write(socket, REFUSED)
      await new Promise<void>((resolve) => socket.once("data", () => resolve()).once("close", () => resolve()))
    }),
  "bodies of 12 MiB": () =>
    onConnections(8, async (socket) => {
      await write(
        socket,
        `POST /v1/completions HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: ${largeBody.length}\r\n\r\n`,
      )
      for (let at = 0; at < largeBody.length && !isOver() && !socket.destroyed; at += PIECE) {
        await write(socket, largeBody.slice(at, at + PIECE))
      }
      await new Promise<void>((resolve) => socket.once("data", () => resolve()).once("close", () => resolve()))
    }),
  "slow readers": () =>
    onConnections(
      200,
      async (socket) => {
        await write(socket, DOCUMENT.repeat(15))
        while (!isOver() && !socket.destroyed) await setTimeout(100)
      },
      false,
    ),
  "sessions begun": () => {
    const request = postOf("/v1/init", INIT)
    return onConnections(100, async (socket) => {
      while (!isOver() && !socket.destroyed) {
        await write(socket, request)
        await new Promise<void>((resolve) => socket.once("data", () => resolve()).once("close", () => resolve()))
      }
    })
  },
  "stale requests": async () => {
    let session = await beginSession(proxy)
    await keepDoing(16, async () => {
      const { body } = await seal(session, { messages: [] }, { issued_at: 1 })
      await withinRate(JSON.stringify(body).length)
      const response = await post(proxy, "/v1/completions", body)
      if (response.ok) opened += 1
      if (response.status === GONE) session = await beginSession(proxy)
      await response.arrayBuffer()
    })
  },
  // Last, because its streams continue for a while.
  "streams at pace 20": async () => {
    let session = await beginSession(proxy)
    await keepDoing(64, async () => {
      const { body } = await seal(
        session,
        { messages: [{ role: "user", content: "x ".repeat(2000) }], stream: true },
        { pace: 20 },
      )
      await withinRate(JSON.stringify(body).length)
      const response = await post(proxy, "/v1/completions", body)
      if (response.ok) opened += 1
      if (response.status === GONE) session = await beginSession(proxy)
      for await (const piece of response.body ?? []) if (isOver() || piece === undefined) return
    })
  },
}

for (const [index, name] of (names.length > 0 ? names : Object.keys(ATTACKS)).entries()) {
  console.log(`attack: ${name}`)
  over = false
  opened = 0
  address = addressOf(index)
  setGlobalDispatcher(new Agent({ localAddress: address, bodyTimeout: 0, headersTimeout: 0 }))
  const attack = ATTACKS[name]
  if (attack === undefined) throw new Error(`unknown attack ${name}`)
  const attacking = attack().catch((error: unknown) => console.log(`failed: ${String(error)}`))
  await setTimeout(Number(phaseMs))
  over = true
  await Promise.race([attacking, setTimeout(2000)])
  if (opened > 0) console.log(`opened: ${opened} in ${name}`)
}
console.log(`done: ${sent} bytes`)
process.exit(0)
