/**
 * A `fetch` for OpenAI SDKs that seals: Chat Completions go to a sealed proxy and come back verified, in OpenAI's format.
 * It runs wherever `SealedClient` does, and never falls back to plaintext.
 */
import type { ChatInput } from "../domain/chat.ts"
import type { PublicJwk, ReceiptClaims } from "../domain/statement.ts"
import { withoutSlashes } from "../domain/url.ts"
import { isObject, type JsonObject } from "../domain/json.ts"
import { AnswerIncomplete, SealedProblem, Unreachable } from "./errors.ts"
import { errorResponse, problemAnswer } from "./openai/errorResponse.ts"
import { bodyOf, eventsOf, type Release } from "./openai/eventStream.ts"
import { type Model, modelOf, modelsIn } from "./openai/models.ts"
import { type Fetch, type RequestOptions, SealedClient, type SealedClientOptions } from "./SealedClient.ts"
import { objectIn, readBody } from "./transport.ts"
import type { RevealedExchange } from "./verify.ts"
import { defined } from "../domain/defined.ts"

export interface SealedFetchOptions extends SealedClientOptions {
  /**
   * When a streamed answer is handed out. `streaming` (default): as it comes; a provider that fails in the middle ends
   * the stream with `AnswerIncomplete`, because what was handed out cannot be taken back. `verified`: after all of it
   * was verified, in one piece.
   */
  readonly release?: Release
  /** Which provider must serve every request; without it the proxy's order decides. */
  readonly provider?: string
  /** What `GET /models` answers; default: what the proxy's `/v1/models` does. */
  readonly models?: ReadonlyArray<string>
  /** Told of every verified answer before the caller sees its end. If it rejects, the answer fails with its error. */
  readonly onVerified?: (answer: VerifiedAnswer) => void | Promise<void>
}

/** What is worth keeping of a verified answer. */
export interface VerifiedAnswer {
  readonly receipt: ReceiptClaims
  /** The signed statements as they came; only a streamed answer has a proof. */
  readonly statements: { readonly receipt: string; readonly proof?: string }
  /** The public keys that the statements were verified with, as a JWKS. */
  readonly keys: { readonly keys: ReadonlyArray<PublicJwk> }
  /** Proves the exchange to a third party; holding it means being able to read it. */
  readonly evidence: RevealedExchange
}

const OPENING = { status: 200, headers: { "content-type": "text/event-stream", "cache-control": "no-store" } }

/**
 * A `fetch` that answers `POST …/chat/completions` and `GET …/models` as an OpenAI endpoint would, through a sealed
 * proxy. Of a URL only the path counts: nothing is ever sent to its host, and of the request's headers none is sent
 * anywhere. Everything else is refused with 404.
 *
 * A refusal of proxy or provider is a response with an OpenAI-style error body; only one that came under seal can tell
 * an SDK to ask again. A `SealgateError` (tampering, a wrong pin, truncation) rejects, or breaks the stream; an unreachable
 * proxy rejects as `fetch` does, with it as `cause`.
 *
 * @example
 * const fetch = createSealedFetch({ baseUrl: "https://proxy.example.com", pins: ["GjmH…"] })
 * const openai = new OpenAI({ fetch, baseURL: "https://sealed.invalid/v1", apiKey: "unused" })
 */
export const createSealedFetch = (options: SealedFetchOptions): typeof globalThis.fetch => {
  const sealed = new SealedFetch(options)
  return async (input, init) => sealed.handle(new Request(input, init))
}

class SealedFetch {
  private readonly options: SealedFetchOptions
  private readonly client: SealedClient
  private readonly fetch: Fetch

  constructor(options: SealedFetchOptions) {
    this.options = options
    this.client = new SealedClient(options)
    this.fetch = options.fetch ?? ((url, init) => globalThis.fetch(url, init))
  }

  async handle(request: Request): Promise<Response> {
    const { method } = request
    const { pathname } = new URL(request.url)
    if (pathname.endsWith("/chat/completions") && method === "POST") return this.answer(request)
    const [listed, id] = /\/models(?:\/(.+))?$/s.exec(pathname) ?? []
    if (listed !== undefined && method === "GET") return this.describeModels(id, request.signal)
    return errorResponse({
      status: 404,
      code: "not_sealable",
      message:
        `${method} ${pathname} cannot be sealed, so nothing was sent. ` +
        "Only Chat Completions (POST …/chat/completions) and GET …/models are supported.",
    })
  }

  private async answer(request: Request): Promise<Response> {
    const input = objectIn(new Uint8Array(await request.arrayBuffer()))
    if (input === undefined) {
      return errorResponse({
        status: 400,
        code: "invalid_json",
        message: "The request's body is not a JSON object, of I-JSON (RFC 7493).",
      })
    }
    const { signal } = request
    // The request itself is referenced, because once it is garbage-collected its signal may no longer follow the
    // caller's.
    const failure = (error: unknown): unknown => {
      if (request.signal.aborted) return request.signal.reason
      return error instanceof Unreachable ? new TypeError("fetch failed", { cause: error }) : error
    }
    const requestId = globalThis.crypto.randomUUID()
    try {
      const response = await (input["stream"] === true
        ? this.stream(input, requestId, signal, failure)
        : this.complete(input, requestId, signal))
      response.headers.set("x-request-id", requestId)
      return response
    } catch (error) {
      if (!signal.aborted && (error instanceof SealedProblem || error instanceof AnswerIncomplete)) {
        return refusal(error, requestId)
      }
      throw failure(error)
    }
  }

  private async complete(input: JsonObject, requestId: string, signal: AbortSignal): Promise<Response> {
    const { completion, ...verified } = await this.client.complete(
      chatInput(input),
      this.requestOptions(requestId, signal),
    )
    await this.options.onVerified?.({ ...verified, keys: this.client.keySet })
    return Response.json(completion, { headers: { "cache-control": "no-store" } })
  }

  private async stream(
    input: JsonObject,
    requestId: string,
    signal: AbortSignal,
    failure: (error: unknown) => unknown,
  ): Promise<Response> {
    const hangUp = new AbortController()
    const either = AbortSignal.any([signal, hangUp.signal])
    const release = this.options.release ?? "streaming"
    const stream = await this.client.stream(chatInput(input), {
      ...this.requestOptions(requestId, either),
      restart: release === "verified",
    })
    const asked = input["stream_options"]
    const events = eventsOf(stream, {
      release,
      includeUsage: isObject(asked) && asked["include_usage"] === true,
      onEnd: async ({ evidence, receipt, statements }) =>
        this.options.onVerified?.({ evidence, receipt, statements, keys: this.client.keySet }),
    })
    // A failure before the first part of the answer is reported as a response with a status.
    const first = await events.next()
    if (release === "verified") return new Response(first.value ?? "", OPENING)
    return new Response(
      bodyOf(first, events, () => hangUp.abort(), failure),
      OPENING,
    )
  }

  private requestOptions(requestId: string, signal: AbortSignal): RequestOptions {
    const { provider } = this.options
    return { requestId, signal, ...defined({ provider }) }
  }

  private async describeModels(id: string | undefined, signal: AbortSignal): Promise<Response> {
    const models = await this.models(signal)
    if (models === undefined) {
      const message = "The proxy does not say which models there are."
      return errorResponse({ status: 502, code: "no_models", message, retryable: true })
    }
    if (id === undefined) return Response.json({ object: "list", data: models })
    const model = models.find((model) => model.id === id || encodeURIComponent(model.id) === id)
    if (model !== undefined) return Response.json(model)
    return errorResponse({ status: 404, code: "model_not_found", message: `There is no model ${id}.`, param: "model" })
  }

  private async models(signal: AbortSignal): Promise<ReadonlyArray<Model> | undefined> {
    if (this.options.models !== undefined) return this.options.models.map((id) => modelOf(id, "sealgate"))
    const url = `${withoutSlashes(String(this.options.baseUrl))}/v1/models`
    const response = await this.fetch(url, { method: "GET", redirect: "error", signal })
    return modelsIn(objectIn(await readBody(response)))
  }
}

const refusal = (error: SealedProblem | AnswerIncomplete, requestId: string): Response => {
  const headers = { "x-request-id": requestId }
  if (error instanceof SealedProblem) {
    const answer = problemAnswer(error.problem, error.retryAfterMs)
    // A refusal without a seal may come from anybody, and a retry might repeat a request that was served.
    return errorResponse({ ...answer, retryable: error.sealed && error.problem.retryable, headers })
  }
  const status = error.status === "aborted" ? 503 : 502
  const code = error.problem?.code ?? error.code
  return errorResponse({ status, code, message: error.message, retryable: true, headers })
}

// The proxy decides whether the request is valid, as an OpenAI endpoint does.
const chatInput = (input: JsonObject): ChatInput => input as unknown as ChatInput
