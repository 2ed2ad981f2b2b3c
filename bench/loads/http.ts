/** Sends requests over kept connections with Node's client, the cheapest one. */
import { Agent, type IncomingHttpHeaders, request } from "node:http"

interface HttpAnswer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly body: Buffer
}

export type Ask = (
  method: "GET" | "POST",
  url: string | URL,
  body?: string | Buffer,
  headers?: Readonly<Record<string, string>>,
) => Promise<HttpAnswer>

export const makeAsk = (): Ask => {
  const agent = new Agent({ keepAlive: true })
  return (method, url, body, headers) =>
    new Promise((resolve, reject) => {
      const sent = request(url, {
        method,
        agent,
        headers: {
          ...(body === undefined
            ? {}
            : { "content-type": "application/json", "content-length": Buffer.byteLength(body) }),
          ...headers,
        },
      })
      sent.once("error", reject)
      sent.once("response", (response) => {
        const parts: Array<Buffer> = []
        response.on("data", (part: Buffer) => parts.push(part))
        response.once("error", reject)
        response.once("end", () =>
          resolve({ status: response.statusCode ?? 0, headers: response.headers, body: Buffer.concat(parts) }),
        )
      })
      sent.end(body)
    })
}

export const jsonOf = ({ body, status }: HttpAnswer, expected: number): Readonly<Record<string, unknown>> => {
  if (status !== expected) throw new Error(`answered with ${status}: ${body.toString()}`)
  return JSON.parse(body.toString())
}
