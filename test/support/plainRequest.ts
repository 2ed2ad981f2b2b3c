/** Sends requests with exactly the given headers. */
import { request as httpRequest } from "node:http"

export interface PlainAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string | ReadonlyArray<string> | undefined>>
  readonly text: string
}

interface PlainRequest {
  readonly port: number
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string | undefined
  /** Default: `POST` with a body, else `GET`. */
  readonly method?: string
}

/** Sends one request with any headers, even `Host` and others that `fetch` forbids. */
export const plainRequest = ({ body, headers, method, path, port }: PlainRequest): Promise<PlainAnswer> =>
  new Promise((resolve, reject) => {
    const verb = method ?? (body === undefined ? "GET" : "POST")
    const request = httpRequest({ host: "127.0.0.1", port, path, method: verb, headers }, (response) => {
      let text = ""
      response.on("data", (piece) => (text += piece))
      response.on("end", () => resolve({ status: response.statusCode ?? 0, headers: response.headers, text }))
    })
    request.on("error", reject)
    request.end(body)
  })

/** `fetch` with the headers that a browser sends for a page of `origin`. */
export const asPageOf =
  (origin: string): typeof globalThis.fetch =>
  (input, init) => {
    const headers = new Headers(init?.headers)
    headers.set("origin", origin)
    headers.set("sec-fetch-site", "cross-site")
    return fetch(input, { ...init, headers })
  }
