/** HTTP to one proxy: what was asked, what came back, and what is known about a request that got no answer. */
import { isObject, type JsonObject, parseObject, problemFrom } from "./decode.ts"
import { SealedProblem, Unreachable } from "./errors.ts"
import { isAbort } from "./SealedStream.ts"

/** The part of `fetch` that is used. */
export type Fetch = (url: string, init: RequestInit) => Promise<Response>

/** Something other than a success came back. */
export interface Refusal {
  readonly status: number
  /** Its JSON object, if it is one. */
  readonly body: JsonObject | undefined
  readonly retryAfterMs: number | undefined
}

export interface SendOptions {
  readonly headers: Readonly<Record<string, string>>
  readonly signal: AbortSignal | undefined
}

/** Failures by which Node says that there was no connection, so that nothing can have been sent. */
const NOT_CONNECTED = new Set(["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "UND_ERR_CONNECT_TIMEOUT"])

export class Transport {
  private readonly baseUrl: string
  private readonly fetch: Fetch

  constructor(baseUrl: string | URL, fetch: Fetch | undefined) {
    this.baseUrl = String(baseUrl).replace(/\/+$/, "")
    this.fetch = fetch ?? ((url, init) => globalThis.fetch(url, init))
  }

  /** Asks for JSON, where asking again does no harm: a GET, or a POST when there is a `body`. */
  async ask(path: string, body?: object): Promise<JsonObject> {
    const response = await this.request(path, body === undefined ? { method: "GET" } : postOf(body), false)
    if (response.status !== 200) {
      const { body, retryAfterMs, status } = await readRefusal(response, false)
      throw new SealedProblem(problemFrom(body ?? {}, status), false, retryAfterMs, false)
    }
    return parseObject(await readText(response, false), "the answer")
  }

  /** Posts something that may be served, and paid for, by the time that sending it fails. */
  send(path: string, body: object, { headers, signal }: SendOptions): Promise<Response> {
    return this.request(path, { ...postOf(body, headers), ...(signal === undefined ? {} : { signal }) }, true)
  }

  private async request(path: string, init: RequestInit, serves: boolean): Promise<Response> {
    try {
      return await this.fetch(this.baseUrl + path, { ...init, redirect: "error" })
    } catch (cause) {
      if (isAbort(cause)) throw cause
      const message = `${this.baseUrl} could not be reached: ${reasonOf(cause)}`
      throw new Unreachable(message, { cause }, serves && !NOT_CONNECTED.has(codeOf(cause)))
    }
  }
}

const postOf = (body: object, headers: Readonly<Record<string, string>> = {}) => ({
  method: "POST",
  headers: { "content-type": "application/json", ...headers },
  body: JSON.stringify(body),
})

/** Reads what came in place of a success. */
export const readRefusal = async (response: Response, mayHaveBeenServed: boolean): Promise<Refusal> => {
  const seconds = Number(response.headers.get("retry-after") ?? Number.NaN)
  return {
    status: response.status,
    body: parseBody(await readText(response, mayHaveBeenServed)),
    retryAfterMs: Number.isFinite(seconds) ? seconds * 1000 : undefined,
  }
}

/** The JSON object that a served request was answered with. */
export const readAnswer = async (response: Response): Promise<JsonObject> =>
  parseObject(await readText(response, true), "the answer")

/** Gives up a body that will not be read, so that its connection is freed. */
export const hangUp = async (response: Response): Promise<void> => {
  await response.body?.cancel().catch(() => undefined)
}

/** The body as text. A connection that breaks here broke before there was an answer. */
const readText = (response: Response, mayHaveBeenServed: boolean): Promise<string> =>
  response.text().catch((cause: unknown) => {
    if (isAbort(cause)) throw cause
    const message = `The connection broke before the answer was complete: ${reasonOf(cause)}`
    throw new Unreachable(message, { cause }, mayHaveBeenServed)
  })

const parseBody = (text: string): JsonObject | undefined => {
  try {
    const value: unknown = JSON.parse(text)
    return isObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

const reasonOf = (cause: unknown): string => {
  if (!(cause instanceof Error)) return String(cause)
  return cause.cause instanceof Error ? cause.cause.message : cause.message
}

/** The system's code for the failure below a failed `fetch`. */
const codeOf = (cause: unknown): string => {
  const below = cause instanceof Error ? cause.cause : undefined
  return isObject(below) && typeof below["code"] === "string" ? below["code"] : ""
}
