/** HTTP to one proxy, with errors that say whether a request without an answer may have been served. */
import { withPiece } from "../../domain/bytes/bytes.ts"
import type { Problem } from "../../domain/problems/problemTypes.ts"
import { refuseUser, withoutSlashes } from "../../domain/url.ts"
import { parseObject, problemFrom } from "../verification/decode.ts"
import type { JsonObject } from "../../domain/json/json.ts"
import { SealedProblem, Tampered, Unreachable } from "../errors.ts"
import { nodeCrypto } from "../crypto/nodeCrypto.ts"
import type { HttpRequest, HttpResponse, Send } from "./httpTypes.ts"
import { originHint } from "./originHint.ts"
import { isRedirect, redirectMessage } from "./redirect.ts"
import { withoutUndefined } from "../../domain/json/withoutUndefined.ts"
import { connectionReason, isFromConnecting, NO_ANSWER, systemCode } from "../../domain/problems/systemErrors.ts"

/** The part of `fetch` that is used. */
export type Fetch = (url: string, init: RequestInit) => Promise<Response>

/** A response other than a success. */
interface ErrorResponse {
  readonly status: number
  /** Its problem document, if it has one. */
  readonly problem: Problem | undefined
  readonly retryAfterMs: number | undefined
}

/** Context for errors while a request is sent or its response is read. */
interface SendContext {
  readonly mayHaveBeenServed: boolean
  /** The caller's signal. Once it has fired, its reason is thrown in place of any error. */
  readonly signal: AbortSignal | undefined
}

const NOT_SERVING: SendContext = { mayHaveBeenServed: false, signal: undefined }

interface PostOptions {
  readonly headers?: Readonly<Record<string, string>>
  /** Ends the request as if the connection broke. */
  readonly limit?: AbortSignal
}

/** Error codes of connections that were never made, which name no system call: nothing was sent. */
const NOT_CONNECTED = new Set(["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "UND_ERR_CONNECT_TIMEOUT"])

/** Limit for requests that call no provider, in milliseconds. All requests may be waiting for a session. */
const ASK_LIMIT_MS = 30_000

/** Longest body read, in bytes. The largest answer, 48 MiB of embeddings, has 65.4 MiB when sealed and padded. */
export const MAX_BODY_BYTES = 72 * 1024 * 1024

export class Transport {
  private readonly baseUrl: string
  private readonly fetch: Fetch | undefined
  private sender: Promise<Send> | undefined

  constructor(baseUrl: string | URL, fetch: Fetch | undefined) {
    this.baseUrl = withoutSlashes(String(baseUrl))
    refuseUser(this.baseUrl, "proxy", "credential")
    this.fetch = fetch
  }

  /** Posts JSON to an endpoint that calls no provider, and returns the JSON object that it answers. */
  async postJson(path: string, body: string): Promise<JsonObject> {
    const response = await this.post(path, body, NOT_SERVING, { limit: AbortSignal.timeout(ASK_LIMIT_MS) })
    if (response.status !== 200) {
      const { problem, retryAfterMs, status } = await readRefusal(response, NOT_SERVING)
      throw new SealedProblem(problem ?? problemFrom({}, status), false, retryAfterMs, false)
    }
    const what = `${this.baseUrl} does not answer as a sealed proxy: its answer`
    return parseObject(await readBytes(response, NOT_SERVING), what)
  }

  /** Posts JSON text. Rejects with `Unreachable` if no answer came or it was a redirect. */
  async post(
    path: string,
    body: string,
    exchange: SendContext,
    { headers, limit }: PostOptions = {},
  ): Promise<HttpResponse> {
    const { mayHaveBeenServed, signal } = exchange
    const sent: HttpRequest = {
      method: "POST",
      headers: { "content-type": "application/json", ...headers },
      body,
      ...withoutUndefined({ signal: limit ?? signal }),
    }
    let response: HttpResponse
    try {
      this.sender ??= senderOf(this.fetch)
      const send = await this.sender
      response = await send(this.baseUrl + path, sent)
    } catch (cause) {
      if (signal?.aborted === true) throw signal.reason
      const message = `${this.baseUrl} could not be reached: ${connectionReason(cause, this.baseUrl)}.${originHint(this.baseUrl)}`
      const wasSent = !isFromConnecting(cause) && !NOT_CONNECTED.has(systemCode(cause) ?? "")
      throw new Unreachable(message, { cause }, mayHaveBeenServed && wasSent)
    }
    await refuseRedirect(this.baseUrl, response, mayHaveBeenServed)
    return response
  }
}

/** Returns the caller's `fetch`, else Node's own HTTP client in Node, else the platform's `fetch`. */
const senderOf = async (given: Fetch | undefined): Promise<Send> => {
  if (given === undefined && nodeCrypto() !== undefined) return (await import("./nodeHttp.ts")).nodeFetch
  const fetch: Fetch = given ?? ((url, init) => globalThis.fetch(url, init))
  // Not "error": with that, Node loses the body when `fetch` itself repeats a request (after 421).
  return (url, sent) => fetch(url, { ...sent, redirect: "manual" })
}

/** Throws `Unreachable` if the server redirects. */
export const refuseRedirect = async (
  baseUrl: string,
  response: HttpResponse,
  mayHaveBeenServed: boolean,
): Promise<void> => {
  if (!isRedirect(response.status)) return
  await hangUp(response)
  throw new Unreachable(redirectMessage(baseUrl, response.headers.get("location")), {}, mayHaveBeenServed)
}

/** Reads the body of a refusal. */
export const readRefusal = async (response: HttpResponse, exchange: SendContext): Promise<ErrorResponse> => {
  const { headers, status } = response
  const seconds = Number(headers.get("retry-after") ?? Number.NaN)
  const body = objectIn(await readBytes(response, exchange))
  const isProblem = /^application\/problem\+json\s*(;|$)/i.test(headers.get("content-type") ?? "")
  return {
    status,
    problem: isProblem && body !== undefined ? problemFrom(body, status) : undefined,
    retryAfterMs: Number.isFinite(seconds) ? seconds * 1000 : undefined,
  }
}

/** Reads the JSON object in the answer to a sealed request. */
export const readAnswer = async (response: HttpResponse, signal: AbortSignal | undefined): Promise<JsonObject> =>
  parseObject(await readBytes(response, { mayHaveBeenServed: true, signal }), "the answer")

/** Cancels a body that will not be read, to free its connection. */
export const hangUp = async (response: HttpResponse): Promise<void> => {
  await response.body?.cancel().catch(() => undefined)
}

/** Reads a whole body. Throws `Tampered` above {@link MAX_BODY_BYTES}. */
export const readBody = async ({ body }: HttpResponse): Promise<Uint8Array> => {
  if (body === null) return new Uint8Array()
  const reader = body.getReader()
  let bytes = new Uint8Array()
  let size = 0
  try {
    for (;;) {
      const next = await reader.read()
      if (next.done === true) return bytes.subarray(0, size)
      const { value } = next
      if (size + value.length > MAX_BODY_BYTES) throw new Tampered("The body of an answer is too large.")
      bytes = withPiece(bytes, size, value)
      size += value.length
    }
  } finally {
    // A body that failed or ended has nothing left to cancel.
    await reader.cancel().catch(() => undefined)
  }
}

/** Reads the body. If the connection breaks here, there was no complete answer. */
const readBytes = (response: HttpResponse, { mayHaveBeenServed, signal }: SendContext): Promise<Uint8Array> =>
  readBody(response).catch((cause: unknown) => {
    if (signal?.aborted === true) throw signal.reason
    if (cause instanceof Tampered) throw cause
    const reason = connectionReason(cause)
    const message = `The connection broke before the answer was complete${reason === NO_ANSWER ? "" : `: ${reason}`}.`
    throw new Unreachable(message, { cause }, mayHaveBeenServed)
  })

/** Parses a body; returns `undefined` unless it holds a JSON object. */
export const objectIn = (body: Uint8Array): JsonObject | undefined => {
  try {
    return parseObject(body, "the body")
  } catch {
    return undefined
  }
}
