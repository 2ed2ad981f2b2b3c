/** A `fetch` for vendors' SDKs that goes through a sealed proxy and verifies answers. It never sends plaintext. */
import { API_HEADERS, API_NAMES, apiAt, type ApiName, apiOf } from "../../domain/upstream/apis.ts"
import { fromUtf8 } from "../../domain/bytes/bytes.ts"
import type { PublicJwk, ReceiptClaims } from "../../domain/protocol/statement.ts"
import { withoutSlashes } from "../../domain/url.ts"
import { isObject, type JsonObject } from "../../domain/json/json.ts"
import { AnswerIncomplete, SealedProblem, Unreachable } from "../errors.ts"
import { type ErrorAnswer, refusalAnswer } from "./errorAnswer.ts"
import { bodyOf, eventsOf, type Release } from "./eventStream.ts"
import type { ProvenCode } from "../attestation/Policy.ts"
import { type RequestOptions, SealedClient, type SealedClientOptions } from "../sealed/SealedClient.ts"
import { objectIn, readBody, refuseRedirect } from "../transport/transport.ts"
import { vendorAsked, vendorOf } from "./vendors/endpoints.ts"
import { type Model, modelsIn } from "./vendors/models.ts"
import { errorReply, type Vendor } from "./vendors/Vendor.ts"
import type { RevealedExchange } from "../verification/verify.ts"
import { withoutUndefined } from "../../domain/json/withoutUndefined.ts"

export interface SealedFetchOptions extends SealedClientOptions {
  /**
   * When a streamed answer is released. `streaming` (default): as it comes. A provider that fails midway ends the stream with
   * `AnswerIncomplete`, because released parts cannot be taken back. `verified`: in one piece, after all of it was verified.
   */
  readonly release?: Release
  /** Provider that must serve every request; default: the proxy's order. */
  readonly provider?: string
  /** Models listed by `GET /models`; default: those of the proxy's `/v1/models`. */
  readonly models?: ReadonlyArray<string>
  /** Called with every verified answer before the caller sees its end. If it rejects, so does the answer. */
  readonly onVerified?: (answer: VerifiedAnswer) => void | Promise<void>
  /**
   * Describes a broken stream in a last event in the vendor's form, before the stream fails. For servers that pass on bytes but
   * cannot pass on errors. Default: no such event.
   */
  readonly lastWords?: (error: unknown) => ErrorAnswer
}

/** The parts of a verified answer to keep as evidence. */
export interface VerifiedAnswer {
  readonly receipt: ReceiptClaims
  /** The signed statements. Only a streamed answer has a proof. */
  readonly statements: { readonly receipt: string; readonly proof?: string }
  /** The public keys of the statements, as a JWKS. */
  readonly keys: { readonly keys: ReadonlyArray<PublicJwk> }
  /** Proves the exchange to a third party; holding it means being able to read it. */
  readonly evidence: RevealedExchange
  /** The code that served it, if there is a policy. */
  readonly code?: ProvenCode
}

const SEALABLE = API_NAMES.map((api) => `POST …${apiOf(api).path}`).join(", ")
const JSON_ANSWER = { "content-type": "application/json", "cache-control": "no-store" }
const OPENING = { status: 200, headers: { "content-type": "text/event-stream", "cache-control": "no-store" } }

/**
 * Returns a `fetch` that answers `POST` to the path of each API (`…/chat/completions`, `…/responses`, `…/embeddings`,
 * `…/v1/messages`, `…/v1/messages/count_tokens`) and `GET …/models` as the vendor's endpoint would, through a sealed proxy.
 * Only the path of a URL counts; nothing is sent to its host. Bodies are sealed byte for byte, and so are headers that say how
 * to call the model; other headers are dropped. Other requests are answered with 404.
 *
 * A refusal of proxy or provider becomes a response with the vendor's error body. Only a sealed refusal can make an SDK retry.
 * A `SealgateError` (tampering, a wrong pin, truncation) rejects, or breaks the stream; an unreachable proxy rejects as `fetch`
 * does, with it as `cause`.
 *
 * @example
 * const fetch = createSealedFetch({ baseUrl: "https://proxy.example.com", pins: ["GjmH…"] })
 * const openai = new OpenAI({ fetch, baseURL: "https://sealed.invalid/v1", apiKey: "unused" })
 * const anthropic = new Anthropic({ fetch, baseURL: "https://sealed.invalid", apiKey: "unused" })
 */
export const createSealedFetch = (options: SealedFetchOptions): typeof globalThis.fetch => {
  const sealed = new SealedFetch(options)
  return async (input, init) => sealed.fetch(new Request(input, init))
}

class SealedFetch {
  private readonly options: SealedFetchOptions
  private readonly client: SealedClient

  constructor(options: SealedFetchOptions) {
    this.options = options
    this.client = new SealedClient(options)
  }

  async fetch(request: Request): Promise<Response> {
    const { headers, method } = request
    const { pathname, searchParams } = new URL(request.url)
    const api = apiAt(pathname)
    if (api !== undefined && method === "POST") return this.post(api, request)
    const vendor = vendorAsked(pathname, headers)
    const [listed, id] = /\/models(?:\/(.+))?$/s.exec(pathname) ?? []
    if (listed !== undefined && method === "GET") {
      return this.describeModels(id, vendor, searchParams, request.signal)
    }
    return refuse(vendor, {
      status: 404,
      code: "not_sealable",
      message: `${method} ${pathname} cannot be sealed, so nothing was sent. Only ${SEALABLE} and GET …/models are supported.`,
    })
  }

  private async post(api: ApiName, request: Request): Promise<Response> {
    const vendor = vendorOf(api)
    const bytes = new Uint8Array(await request.arrayBuffer())
    const body = objectIn(bytes)
    if (body === undefined) {
      return refuse(vendor, {
        status: 400,
        code: "invalid_json",
        message: "The request's body is not a JSON object in I-JSON (RFC 7493).",
      })
    }
    let requestId: string | undefined
    const { provider } = this.options
    const options = {
      requestId: () => (requestId = globalThis.crypto.randomUUID()),
      signal: request.signal,
      ...withoutUndefined({ provider, headers: headersOf(api, request) }),
    }
    // Keeps the request referenced: once it is garbage-collected, its signal may no longer follow the caller's.
    const failure = (error: unknown): unknown => {
      if (request.signal.aborted) return request.signal.reason
      return asFetchFails(error)
    }
    try {
      const response =
        body["stream"] === true
          ? await this.stream(api, fromUtf8(bytes), asksForUsage(body), options, failure)
          : await this.complete(api, fromUtf8(bytes), options)
      if (requestId !== undefined) response.headers.set(vendor.requestIdHeader, requestId)
      return response
    } catch (error) {
      if (!request.signal.aborted && (error instanceof SealedProblem || error instanceof AnswerIncomplete)) {
        return refuse(vendor, refusalAnswer(error), requestId)
      }
      throw failure(error)
    }
  }

  private async complete(api: ApiName, body: string, options: RequestOptions): Promise<Response> {
    const { answer: _, ...verified } = await this.client.request(api, body, options)
    await this.options.onVerified?.({ ...verified, keys: this.client.keySet })
    // The answer's own text, so that no number in it is written anew.
    return new Response(verified.evidence.responses[0] ?? "", { headers: JSON_ANSWER })
  }

  private async stream(
    api: ApiName,
    body: string,
    includeUsage: boolean,
    { signal, ...options }: RequestOptions & { readonly signal: AbortSignal },
    failure: (error: unknown) => unknown,
  ): Promise<Response> {
    const { lastWords, onVerified, release = "streaming" } = this.options
    const hangUp = new AbortController()
    const stream = await this.client.requestStream(api, body, {
      ...options,
      signal: AbortSignal.any([signal, hangUp.signal]),
      restart: release === "verified",
    })
    const events = eventsOf(stream, {
      api,
      release,
      lastWords,
      includeUsage,
      onEnd: async ({ code, evidence, receipt, statements }) =>
        onVerified?.({ evidence, receipt, statements, keys: this.client.keySet, ...withoutUndefined({ code }) }),
    })
    // A failure before the first part of the answer is reported as a response with a status.
    const first = await events.next()
    if (release === "verified") return new Response(first.value ?? "", OPENING)
    return new Response(
      bodyOf(first, events, () => hangUp.abort(), failure),
      OPENING,
    )
  }

  private async describeModels(
    id: string | undefined,
    vendor: Vendor,
    query: URLSearchParams,
    signal: AbortSignal,
  ): Promise<Response> {
    const models = await this.models(signal)
    if (models === undefined) {
      const message = "The proxy does not list its models."
      return refuse(vendor, { status: 502, code: "no_models", message, retryable: true })
    }
    if (id === undefined) return Response.json(vendor.modelList(models, query))
    const model = models.find((model) => model.id === id || encodeURIComponent(model.id) === id)
    if (model !== undefined) return Response.json(vendor.model(model))
    return refuse(vendor, { status: 404, code: "model_not_found", message: `There is no model ${id}.`, param: "model" })
  }

  private async models(signal: AbortSignal): Promise<ReadonlyArray<Model> | undefined> {
    const { baseUrl, fetch = globalThis.fetch, models } = this.options
    if (models !== undefined) return models.map((id) => ({ id, owned_by: "sealgate" }))
    const proxy = withoutSlashes(String(baseUrl))
    const response = await fetch(`${proxy}/v1/models`, { method: "GET", redirect: "manual", signal })
    await refuseRedirect(proxy, response, false).catch((error: unknown) => Promise.reject(asFetchFails(error)))
    return modelsIn(objectIn(await readBody(response)))
  }
}

const asFetchFails = (error: unknown): unknown =>
  error instanceof Unreachable ? new TypeError("fetch failed", { cause: error }) : error

/** The headers that say how the API is called, if the request has any. */
const headersOf = (api: ApiName, { headers }: Request): Readonly<Record<string, string>> | undefined => {
  const meant = API_HEADERS[apiOf(api).vendor].flatMap((name) => {
    const value = headers.get(name)
    return value === null ? [] : [[name, value] as const]
  })
  return meant.length === 0 ? undefined : Object.fromEntries(meant)
}

/** Whether an OpenAI caller asked for a chunk with token counts. */
const asksForUsage = ({ stream_options }: JsonObject): boolean =>
  isObject(stream_options) && stream_options["include_usage"] === true

const refuse = (vendor: Vendor, answer: ErrorAnswer, requestId?: string): Response => {
  const { body, ...init } = errorReply(vendor, answer, requestId)
  return new Response(JSON.stringify(body), init)
}
