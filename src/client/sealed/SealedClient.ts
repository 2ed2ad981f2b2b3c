/** The client of the sealed proxy, for Node and browsers. */
import { type ApiName, apiOf, CHAT_COMPLETIONS } from "../../domain/upstream/apis.ts"
import type { ChatCompletion, ChatInput } from "../../domain/chat/chatTypes.ts"
import type { PublicJwk, ReceiptClaims } from "../../domain/protocol/statement.ts"
import type { SuiteName } from "../../domain/protocol/suites.ts"
import { floorOf, paceOf } from "../../domain/protocol/pace.ts"
import { type Form, MEDIA_TYPE } from "../../domain/protocol/transcript.ts"
import { parseStatement } from "../../domain/protocol/statement.ts"
import { string, strings } from "../verification/decode.ts"
import { orAbort } from "../transport/orAbort.ts"
import { isObject, type JsonObject, parseJson } from "../../domain/json/json.ts"
import { CodeProver } from "../attestation/CodeProver.ts"
import type { ProvenCode } from "../attestation/Policy.ts"
import { deliver } from "./delivery.ts"
import { KeyMissing, NoPins, PinMismatch, SealedProblem, SealgateError, StreamTruncated, Tampered } from "../errors.ts"
import type { RequestOptions, SealedClientOptions } from "./options.ts"
import { ResponseOpener } from "./ResponseOpener.ts"
import { type ChatStream, type EventStream, joinChat, joinEvents } from "./joins.ts"
import { failureOf, type Join, nextEvent, SealedStream, type StreamEnd } from "./SealedStream.ts"
import { expectEvent } from "./streamParts.ts"
import { sealRequest, type SentRequest } from "./sealRequest.ts"
import { serverSentEvents } from "./serverSentEvents.ts"
import { type ClientSession, sessionRequest, verifySession } from "./session.ts"
import type { HttpResponse } from "../transport/httpTypes.ts"
import { hangUp, readAnswer, Transport } from "../transport/transport.ts"
import { publicJwk } from "../../domain/protocol/statement.ts"
import { keysByThumbprint, type TrustedKeys } from "../verification/trust.ts"
import type { RevealedExchange } from "../verification/verify.ts"
import { withoutUndefined } from "../../domain/json/withoutUndefined.ts"

export type { Fetch } from "../transport/transport.ts"
export type { RequestOptions, SealedClientOptions } from "./options.ts"

/** How long after a session's end, in milliseconds, its request may be sealed again in a new session. */
const SEALED_ANEW_WITHIN_MS = 60_000

/** The verified parts common to all whole answers. */
interface VerifiedWhole {
  readonly receipt: ReceiptClaims
  /** The signed receipt, to be kept. */
  readonly statements: { readonly receipt: string }
  /** Proves the exchange to a third party; holding it means being able to read it. */
  readonly evidence: RevealedExchange
  /** The code that served it, if the client has a policy. */
  readonly code?: ProvenCode
}

/** A whole answer of Chat Completions. */
export interface SealedCompletion extends VerifiedWhole {
  readonly completion: ChatCompletion
}

/** A whole answer of any API. */
export interface SealedAnswer extends VerifiedWhole {
  /** As the vendor's API describes it. */
  readonly answer: JsonObject
}

/** A request body of the vendor's API. JSON text is sealed byte for byte. */
export type RequestBody = object | string

/**
 * Completions that only the pinned proxy can read, with answers that only it can have given.
 *
 * @example
 * const client = new SealedClient({ baseUrl: "http://localhost:3001", pins: ["GjmH…"] })
 * const { completion, receipt } = await client.complete({ prompt: "Hello" })
 * const stream = await client.stream({ messages: [{ role: "user", content: "Hello" }] })
 * for await (const part of stream) if (part.type === "delta") show(part.chunk)
 * const { proof } = await stream.end
 * const { answer } = await client.messages({ model: "claude-…", max_tokens: 99, messages: [{ role: "user", content: "Hi" }] })
 */
export class SealedClient {
  private readonly transport: Transport
  private readonly prover: CodeProver | undefined
  private readonly trustOnFirstUse: boolean
  private readonly suites: ReadonlyArray<SuiteName> | undefined
  private readonly credential: SealedClientOptions["credential"]
  private readonly pace: number | undefined
  private readonly retry: SealedClientOptions["retry"]
  private pinned: ReadonlyArray<string>
  private keys: TrustedKeys = new Map()
  private session: ClientSession | undefined
  /** The session being begun, shared by all requests that need one meanwhile. */
  private beginning: Promise<void> | undefined

  constructor(options: SealedClientOptions) {
    this.transport = new Transport(options.baseUrl, options.fetch)
    this.prover = options.policy === undefined ? undefined : new CodeProver(options.policy, this.transport)
    this.pinned = options.pins ?? []
    this.suites = options.suites
    this.credential = options.credential
    this.pace = options.pace
    this.retry = options.retry
    this.trustOnFirstUse = options.trustOnFirstUse === true
  }

  /** The trusted key ids: the given ones, or the one trusted on first use. */
  get pins(): ReadonlyArray<string> {
    return this.pinned
  }

  /** The trusted public keys seen so far, as a JWKS, for offline verification. */
  get keySet(): { readonly keys: ReadonlyArray<PublicJwk> } {
    return { keys: [...this.keys].map(([kid, publicKey]) => publicJwk(kid, publicKey)) }
  }

  /** Asks for a whole answer. Throws a `SealgateError`, or the signal's reason when it fires. */
  async complete(input: ChatInput, options: RequestOptions = {}): Promise<SealedCompletion> {
    const { answer, ...verified } = await this.request(CHAT_COMPLETIONS, { ...input, stream: false }, options)
    // The frame is authentic, so it contains what the proxy's own schema produced: a completion.
    return { completion: answer as unknown as ChatCompletion, ...verified }
  }

  /** Asks for a streamed answer; see {@link requestStream}. */
  async stream(input: ChatInput, options: RequestOptions = {}): Promise<ChatStream> {
    return this.openStream(CHAT_COMPLETIONS, { ...input, stream: true }, joinChat, options)
  }

  /** Anthropic Messages: a `message` object. */
  messages(body: RequestBody, options?: RequestOptions): Promise<SealedAnswer> {
    return this.request("messages", body, options)
  }

  /** Counts the tokens of a `messages` request: `{ input_tokens }`. */
  countTokens(body: RequestBody, options?: RequestOptions): Promise<SealedAnswer> {
    return this.request("messages.count_tokens", body, options)
  }

  /** OpenAI Responses: a `response` object. */
  responses(body: RequestBody, options?: RequestOptions): Promise<SealedAnswer> {
    return this.request("responses", body, options)
  }

  /** OpenAI Embeddings: a `list` object. */
  embeddings(body: RequestBody, options?: RequestOptions): Promise<SealedAnswer> {
    return this.request("embeddings", body, options)
  }

  /**
   * Asks for a whole answer of any API. Throws a `SealgateError`, or the signal's reason when it fires; a
   * `TypeError` if the body asks for a stream or is not a JSON object.
   */
  async request(api: ApiName, body: RequestBody, options: RequestOptions = {}): Promise<SealedAnswer> {
    const text = jsonText(body, false)
    for (let mayRenew = true; ; mayRenew = false) {
      const { response, sent } = await this.send(api, text, "complete", options)
      const sealed = await readAnswer(response, options.signal)
      const opener = await ResponseOpener.begin(
        sent,
        this.keys,
        { form: "complete", onFrame: options.onFrame },
        string(sealed, "response_nonce"),
      )
      const [answer, last, ...more] = strings(sealed, "frames")
      if (answer === undefined || last === undefined || more.length > 0) {
        throw new Tampered("A complete answer has exactly two frames.")
      }
      const opened = await opener.openAnswer(answer)
      const end = await opener.end(await opener.open(last, true))
      if (opened !== null) {
        const { code, evidence, receipt } = end
        return {
          answer: opened,
          receipt,
          statements: { receipt: evidence.receipt },
          evidence,
          ...withoutUndefined({ code }),
        }
      }
      const error = failureOf(end)
      if (!this.isRenewable(error, sent, options) || !mayRenew) throw error
    }
  }

  /**
   * Asks for a streamed answer of any API that streams. Adds `stream: true` to a body that is an object. Resolves when the
   * proxy has taken the request; later failures are thrown by reading the stream. Throws a `SealgateError`, or the signal's
   * reason when it fires, now or while it is read; a `TypeError` if the body does not ask for a stream or is not a JSON object.
   */
  requestStream(api: ApiName, body: RequestBody, options: RequestOptions = {}): Promise<EventStream> {
    return this.openStream(api, body, joinEvents, options)
  }

  private async openStream<Chunk extends JsonObject, End extends StreamEnd>(
    api: ApiName,
    body: RequestBody,
    join: () => Join<Chunk, End>,
    options: RequestOptions,
  ): Promise<SealedStream<Chunk, End>> {
    const text = jsonText(body, true)
    // Unless the caller says otherwise, no restarts in APIs whose agents act on partial output.
    const all = apiOf(api).stream?.restart === false ? { restart: false, ...options } : options
    const first = await this.sendStream(api, text, all)
    const renew = (error: SealgateError) =>
      this.isRenewable(error, first.sent, all) ? this.sendStream(api, text, all) : undefined
    return new SealedStream(first, join, { ...all, renew })
  }

  private async sendStream(api: ApiName, body: string, options: RequestOptions) {
    const { response, sent } = await this.send(api, body, "stream", options)
    if (response.body === null) throw new StreamTruncated({ chunks: [] })
    const events = serverSentEvents(response.body)
    try {
      const opening = expectEvent(await nextEvent(events, [], options.signal), "open")
      const floor = floorOf(paceOf(options.pace ?? this.pace))
      const layout = { form: "stream", floor, onFrame: options.onFrame } as const
      return {
        sent,
        events,
        opener: await ResponseOpener.begin(sent, this.keys, layout, string(opening, "response_nonce")),
      }
    } catch (error) {
      await events.return(undefined)
      throw error
    }
  }

  /**
   * Whether to seal a refused request again. Only if it was stale: the clocks drifted apart, and no provider was called. Not
   * if the caller gave a fixed id, because the proxy accepts an id once.
   */
  private isRenewable(error: SealgateError, { session }: SentRequest, { requestId }: RequestOptions): boolean {
    if (!(error instanceof SealedProblem) || error.problem.code !== "stale") return false
    if (this.session === session) this.session = undefined
    return this.retry !== "never" && typeof requestId !== "string"
  }

  /**
   * Seals and sends a request. If the proxy has ended the session or is draining, it did not serve the request, so the
   * request is sealed once more in a new session, under the same id.
   */
  private async send(
    api: ApiName,
    body: string,
    form: Form,
    { headers, pace = this.pace, provider, requestId, restart, signal, trace }: RequestOptions,
  ) {
    const given = typeof requestId === "function" ? requestId() : requestId
    const id = given?.toLowerCase() ?? globalThis.crypto.randomUUID()
    const credential = typeof this.credential === "function" ? await this.credential() : (this.credential ?? "")
    let refused: { readonly error: SealgateError; readonly anewUntil: number } | undefined
    for (;;) {
      const session = await this.takeSession(signal)
      const now = Date.now() + session.clockOffset
      // The proxy forgets ids soon after the session's end. Later, an attacker who delayed the new session could get the
      // request served twice.
      if (refused !== undefined && now > refused.anewUntil) throw refused.error
      const head = JSON.stringify({
        request_id: id,
        issued_at: now,
        ...withoutUndefined({ provider, restart, pace: form === "stream" ? pace : undefined, ...trace, headers }),
        api,
      })
      const sealing = { requestId: id, payload: `${head.slice(0, -1)},"body":${body}}`, credential }
      const sent = await sealRequest(session, sealing).catch(nothingSealed)
      const delivered = await deliver(this.transport, sent, signal)
      if (delivered.type === "answer") {
        await mustBeSealed(delivered.response, MEDIA_TYPE[form])
        return { sent, response: delivered.response }
      }
      const { error, sessionOver } = delivered
      // Another request may have begun a new one in the meantime.
      if ((sessionOver || error.mayHaveBeenServed) && this.session === session) this.session = undefined
      if (!sessionOver || this.retry === "never" || refused !== undefined) throw error
      refused = { error, anewUntil: session.expiresAt + SEALED_ANEW_WITHIN_MS }
    }
  }

  /** Takes one request from the session, or begins one. Concurrent callers share the new session, so no signal cancels it. */
  private async takeSession(signal: AbortSignal | undefined): Promise<ClientSession> {
    while (this.session === undefined || !isUsable(this.session)) {
      this.beginning ??= this.begin()
        .catch(nothingSealed)
        .finally(() => {
          this.beginning = undefined
        })
      await orAbort(this.beginning, signal)
    }
    this.session.requestsLeft--
    return this.session
  }

  private async begin(): Promise<void> {
    if (this.pinned.length === 0 && !this.trustOnFirstUse && this.prover === undefined) throw new NoPins()
    const request = sessionRequest(this.suites)
    const offer = await this.transport.postJson("/v1/init", request.body)
    const now = Date.now()
    const attestation = string(offer, "attestation")
    const kid = parseStatement(attestation)?.kid
    if (kid === undefined) throw new Tampered("The session offer is not a well-formed Ed25519 JWS.")
    if (this.pinned.length > 0 && !this.pinned.includes(kid)) throw new PinMismatch(this.pinned, kid)
    const publicKey = (await keysByThumbprint(offer)).get(kid)
    if (publicKey === undefined) {
      throw new KeyMissing(
        kid,
        `The proxy says that ${kid} signed its offer, but sent another key. ` +
          "Ask its operator whether the key is being rotated. If not, something on the path changes the proxy's answers.",
      )
    }
    const keys = new Map([...this.keys, [kid, publicKey]])
    const offered = await verifySession(attestation, keys, request, now)
    const session = this.prover === undefined ? offered : await this.prover.prove(offered)
    // Trusts the key only after its signature, and the evidence if there is a policy, were verified.
    this.keys = keys
    if (this.pinned.length === 0 && this.trustOnFirstUse) this.pinned = [session.kid]
    this.session = session
  }
}

/** The JSON text of a request. Text must parse to one object: other text could add members to the payload. */
const jsonText = (body: RequestBody, streamed: boolean): string => {
  const parsed: unknown = typeof body === "string" ? parseJson(body) : body
  if (!isObject(parsed)) throw new TypeError("The body is neither an object nor the JSON text of one.")
  const given = streamed && parsed === body ? { ...parsed, stream: true } : parsed
  if ((given["stream"] === true) !== streamed) {
    throw new TypeError(
      `The body's member \`stream\` is ${streamed ? "not true: use request" : "true: use requestStream"}.`,
    )
  }
  return typeof body === "string" ? body : JSON.stringify(given)
}

const isUsable = (session: ClientSession): boolean =>
  session.requestsLeft > 0 && Date.now() + session.clockOffset < session.usableUntil

/** Marks an error from before sealing as "not served", and rethrows it. */
const nothingSealed = (error: unknown): never => {
  if (error instanceof SealgateError) Object.assign(error, { mayHaveBeenServed: false })
  throw error
}

/** Throws unless the answer has status 200 and the media type of a sealed one. */
const mustBeSealed = async (response: HttpResponse, mediaType: string): Promise<void> => {
  const [type = ""] = (response.headers.get("content-type") ?? "").split(";")
  if (response.status === 200 && type.trim().toLowerCase() === mediaType) return
  await hangUp(response)
  throw new Tampered(`An unsealed answer (status ${response.status}) came instead of a sealed one.`)
}
