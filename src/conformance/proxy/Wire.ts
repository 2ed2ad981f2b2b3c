/** An HTTP client that keeps headers, bytes and times of arrival. */
import { request as plainRequest } from "node:http"
import { request as tlsRequest } from "node:https"
import { rootCertificates } from "node:tls"
import type { Bytes } from "../../domain/bytes/bytes.ts"

export interface Received {
  readonly status: number
  /** By lower-case name; repeated headers are joined by commas. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: Bytes
  /** Pieces of the body with their arrival, in milliseconds of a monotonic clock. */
  readonly pieces: ReadonlyArray<{ readonly at: number; readonly bytes: Bytes }>
  /** Time of sending, on the same clock. */
  readonly sentAt: number
  /** Why the body broke off, if it did. */
  readonly broken: string | undefined
}

interface Sending {
  readonly method?: "GET" | "POST"
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Uint8Array
}

/** No answer at all. */
export class NoResponse extends Error {}

/** Longest silence on a connection, in milliseconds; a proxy may keep silent for 15 s. */
const SILENCE_MS = 25_000
/** Retries after 429, and the longest accepted `Retry-After`, in seconds. */
const PATIENCE = { times: 4, seconds: 61 }

/** Longest body read; answers to the kit's requests have less than a hundredth of it. */
const MOST_BYTES = 64 * 1024 * 1024
/** Approximate overhead of one piece, counted because the server chooses how small pieces are. */
const PIECE_BYTES = 256

const wait = (ms: number) => new Promise<void>((resolve) => void setTimeout(resolve, ms))

export class Wire {
  private readonly base: URL
  private readonly ca: string | undefined

  constructor(base: URL, ca: string | undefined) {
    this.base = new URL(base.href.endsWith("/") ? base.href : `${base.href}/`)
    this.ca = ca
  }

  /** Sends a request, and retries after 429 as `Retry-After` says. */
  async send(path: string, sending: Sending): Promise<Received> {
    for (let left = PATIENCE.times; ; left--) {
      const received = await this.sendOnce(path, sending)
      const seconds = Number(received.headers["retry-after"])
      if (received.status !== 429 || left === 0 || !(seconds <= PATIENCE.seconds)) return received
      await wait(seconds * 1000)
    }
  }

  /** Posts a body, as `application/json` unless the headers say otherwise. */
  post(path: string, body: string | Uint8Array, headers: Sending["headers"] = {}): Promise<Received> {
    return this.send(path, { method: "POST", body, headers: { "content-type": "application/json", ...headers } })
  }

  sendOnce(path: string, { body, headers = {}, method = "GET" }: Sending): Promise<Received> {
    const { ca } = this
    const sentAt = performance.now()
    return new Promise((resolve, reject) => {
      const fail = (error: Error) => reject(new NoResponse(`there was no answer: ${error.message}`))
      const request = (this.base.protocol === "https:" ? tlsRequest : plainRequest)(new URL(path, this.base), {
        method,
        agent: false,
        timeout: SILENCE_MS,
        headers: { ...headers, ...(body === undefined ? {} : { "content-length": Buffer.byteLength(body) }) },
        ...(ca === undefined ? {} : { ca: [...rootCertificates, ca] }),
      })
      request.on("timeout", () => request.destroy(new Error("nothing came in time")))
      request.on("error", fail)
      request.on("response", (response) => {
        const pieces: Array<Received["pieces"][number]> = []
        const settle = (broken: string | undefined) =>
          resolve({
            status: response.statusCode ?? 0,
            headers: Object.fromEntries(
              Object.entries(response.headers).map(([name, value]) => [
                name,
                Array.isArray(value) ? value.join(", ") : (value ?? ""),
              ]),
            ),
            body: new Uint8Array(Buffer.concat(pieces.map(({ bytes }) => bytes))),
            pieces,
            sentAt,
            broken,
          })
        let length = 0
        response.on("data", (bytes: Buffer) => {
          length += bytes.length + PIECE_BYTES
          if (length > MOST_BYTES) response.destroy(new Error("there is no end to it"))
          else pieces.push({ at: performance.now(), bytes: new Uint8Array(bytes) })
        })
        response.on("error", (error) => settle(error.message))
        response.on("end", () => settle(undefined))
      })
      request.end(body)
    })
  }
}
