/** A sealed proxy made of the reference implementation, behind a scripted `fetch`, that can be told to misbehave. */
import type { Fetch } from "../../../src/client/index.ts"
import * as reference from "./reference.ts"
import { b64u, type Claims, fromB64u, text } from "./reference.ts"

type Json = Readonly<Record<string, unknown>>
export interface WireEvent {
  readonly event: string
  readonly data: unknown
}

/** The answer to one opened request. */
export interface Script {
  /** Payloads of the data frames, or their very text; by default an echo of the prompt. */
  readonly payloads?: ReadonlyArray<Json | string>
  readonly status?: "complete" | "failed" | "aborted"
  readonly problem?: Json
  readonly usage?: Json | null
  /** Default: "stop" for a complete answer. */
  readonly finishReasons?: ReadonlyArray<string>
  /** A failure or an abort in place of an answer; no provider was called unless one is named. */
  readonly refuse?: { readonly problem: Json; readonly status?: "failed" | "aborted"; readonly provider?: string }
}

/** Hooks that change the proxy's output. Each receives the correct value. */
export interface Hooks {
  /** Claims of the session statement, before they are signed. */
  readonly sessionClaims?: (claims: Claims) => Claims
  /** The whole answer to `POST /v1/init`, after signing. */
  readonly offer?: (body: Json) => unknown
  readonly receiptClaims?: (claims: Claims) => Claims
  readonly proofClaims?: (claims: Claims) => Claims
  readonly receipt?: (statement: string) => unknown
  readonly proof?: (statement: string) => unknown
  /** The end record, or its very text. */
  readonly record?: (record: Json) => unknown
  /** How an end record gets its size. */
  readonly fill?: (record: string) => Buffer
  /** Base64url frames of a complete answer. */
  readonly frames?: (frames: ReadonlyArray<string>) => unknown
  readonly events?: (events: ReadonlyArray<WireEvent>) => ReadonlyArray<WireEvent | string>
  /** The form that frames are bound to. */
  readonly form?: reference.ReferenceForm
  readonly responseNonce?: Buffer
  /** Instead of any answer of its own. */
  readonly respond?: (path: string, body: Json, call: number) => Response | undefined
}

export interface Call {
  readonly path: string
  readonly body: Json
  readonly init: RequestInit
}

export interface OpenedRequest {
  readonly payload: Json
  readonly bytes: Buffer
  readonly credential: string
  readonly sessionId: string
}

interface Session {
  readonly privateKey: Buffer
  readonly suite: reference.ReferenceSuite
  readonly attestation: string
  readonly identity: reference.Identity
  served: number
}

export const JSON_TYPE = { "content-type": "application/json" }
export const SEALED_TYPE = { "content-type": "application/vnd.sealgate.sealed+json" }
export const json = (body: unknown, status = 200, headers: Record<string, string> = {}): Response =>
  new Response(JSON.stringify(body), { status, headers: { ...JSON_TYPE, ...headers } })

/** A refusal without a seal. */
export const refusal = (status: number, code: string, headers: Record<string, string> = {}): Response =>
  json(problem(status, code), status, { "content-type": "application/problem+json", ...headers })

const isRestart = (payload: unknown): payload is { readonly restart: { readonly provider: unknown } } =>
  typeof payload === "object" && payload !== null && "restart" in payload

const jsonOf = (value: unknown): string => (typeof value === "string" ? value : JSON.stringify(value))

export const problem = (status: number, code: string): Json => ({
  type: `urn:sealgate:problem:${code}`,
  title: code,
  status,
  code,
  retryable: false,
})

export const renderEvents = (events: ReadonlyArray<WireEvent | string>): ReadonlyArray<string> =>
  events.map((each) =>
    typeof each === "string" ? each : `event: ${each.event}\ndata: ${JSON.stringify(each.data)}\n\n`,
  )

export class FakeProxy {
  identity: reference.Identity
  hooks: Hooks = {}
  script: Script = {}
  /** This proxy's clock minus the machine's, in milliseconds. */
  skew = 0
  ttlSeconds = 300
  maxRequests = 256
  maxRequestBytes = 65_536
  readonly calls: Array<Call> = []
  readonly opened: Array<OpenedRequest> = []
  /** Connections whose reader hung up before their end. */
  hungUp = 0
  private readonly sessions = new Map<string, Session>()
  private random = 0

  constructor(seed = 0x77) {
    this.identity = reference.identityFrom(Buffer.alloc(32, seed))
  }

  get jwks(): Json {
    return { keys: [this.identity.jwk] }
  }

  callsTo(path: string): ReadonlyArray<Call> {
    return this.calls.filter((call) => call.path === path)
  }

  /** Forgets all sessions, as a proxy does that restarted. */
  forgetSessions(): void {
    this.sessions.clear()
  }

  readonly fetch: Fetch = async (url, init) => {
    init.signal?.throwIfAborted()
    const path = new URL(url).pathname
    const body = typeof init.body === "string" ? (JSON.parse(init.body) as Json) : {}
    this.calls.push({ path, body, init })
    // A client that loops must fail its test, not hang it.
    if (this.calls.length > 500) throw new Error("the client does not stop asking")
    await Promise.resolve()
    const response = this.hooks.respond?.(path, body, this.callsTo(path).length)
    if (response !== undefined) return response
    if (path === "/v1/init") return json(this.begin(String(init.body)))
    return this.complete(body, init.signal ?? undefined)
  }

  private now(): number {
    return Date.now() + this.skew
  }

  private randomBytes(length: number): Buffer {
    return reference.sha256(text(`random ${this.random++}`)).subarray(0, length)
  }

  private begin(body: string): unknown {
    const id = b64u(this.randomBytes(16))
    const privateKey = this.randomBytes(32)
    const seconds = Math.floor(this.now() / 1000)
    const { suites } = JSON.parse(body) as { readonly suites: ReadonlyArray<unknown> }
    const suite = reference.suiteNamed(suites[0])
    const claims = {
      version: 2,
      iat: seconds,
      session_id: id,
      public_key: b64u(reference.sessionPublicKey(suite, privateKey)),
      suite: reference.SUITE_IDS[suite],
      expires_at: seconds + this.ttlSeconds,
      max_requests: this.maxRequests,
      max_request_bytes: this.maxRequestBytes,
      init_hash: reference.initHash(body),
    }
    const { statement } = reference.statement(this.identity, "session", this.hooks.sessionClaims?.(claims) ?? claims)
    this.sessions.set(id, { privateKey, suite, attestation: statement, identity: this.identity, served: 0 })
    const answer = { attestation: statement, ...this.jwks }
    return this.hooks.offer === undefined ? answer : this.hooks.offer(answer)
  }

  private async complete(body: Json, signal: AbortSignal | undefined): Promise<Response> {
    const id = String(body["session_id"])
    const session = this.sessions.get(id)
    if (session === undefined) return refusal(410, "session-gone")
    if (++session.served > this.maxRequests) throw new Error("the client used a session more often than it may")
    const enc = fromB64u(String(body["enc"]))
    const ciphertext = fromB64u(String(body["ciphertext"]))
    const { plaintext, secret } = await reference.hpkeOpen(
      session.privateKey,
      {
        suite: session.suite,
        info: reference.requestInfo(session.attestation),
        aad: reference.requestAad(fromB64u(id)),
      },
      enc,
      ciphertext,
    )
    const inside = reference.unblock(plaintext)
    const credential = inside.subarray(4, 4 + inside.readUInt32BE(0)).toString()
    const bytes = reference.payloadIn(inside)
    const payload = JSON.parse(bytes.toString()) as Json
    this.opened.push({ payload, bytes, credential, sessionId: id })
    const responseNonce = this.hooks.responseNonce ?? this.randomBytes(32)
    const exchange: reference.Exchange = {
      keys: reference.responseKeys(secret, enc, responseNonce),
      requestHash: reference.requestHash(session.attestation, enc, ciphertext),
      responseNonce,
    }
    return this.answer(exchange, session, id, { payload, bytes, credential }, signal)
  }

  private answer(
    exchange: reference.Exchange,
    session: Session,
    id: string,
    request: { readonly payload: Json; readonly bytes: Buffer; readonly credential: string },
    signal: AbortSignal | undefined,
  ): Response {
    const { refuse } = this.script
    const { status = refuse === undefined ? "complete" : (refuse.status ?? "failed") } = this.script
    const { usage = status === "complete" ? { total_tokens: 3 } : null } = this.script
    const failure =
      this.script.problem ?? refuse?.problem ?? (status === "complete" ? undefined : problem(502, "broken"))
    const completion = request.payload["body"] as Json
    const streamed = completion["stream"] === true
    const nonce = { response_nonce: b64u(exchange.responseNonce) }
    const form = this.hooks.form ?? (streamed ? "stream" : "complete")
    const floor = streamed && request.payload["pace"] === 0 ? reference.UNPACED_FLOOR : reference.FLOOR
    const frames: Array<reference.Frame> = []
    const nothing = streamed ? [{ deltas: [] }] : ["null"]
    const said = refuse === undefined ? echo(String(completion["prompt"]), streamed) : nothing
    for (const payload of this.script.payloads ?? said) {
      frames.push(reference.sealFrame(exchange, form, frames, text(jsonOf(payload)), false, floor))
    }
    const { finishReasons = status === "complete" ? ["stop"] : [] } = this.script
    const restart = (this.script.payloads ?? []).findLast((payload) => isRestart(payload))
    const asked = request.payload["provider"] ?? "provider1"
    const provider = refuse === undefined ? (restart?.restart.provider ?? asked) : (refuse.provider ?? null)
    const common = { iat: Math.floor(this.now() / 1000), session_id: id }
    const claims: Claims = {
      version: 2,
      ...common,
      iss: session.identity.kid,
      jti: request.payload["request_id"],
      form: streamed ? "stream" : "complete",
      status,
      provider,
      model: provider === null ? null : "model-1",
      finish_reasons: finishReasons,
      usage,
      received_at: common.iat,
      completed_at: common.iat,
      request_hash: b64u(exchange.requestHash),
      root: b64u(frames.at(-1)?.chain ?? reference.chainSeed(exchange.requestHash, exchange.responseNonce)),
      count: frames.length,
      request_commitment: b64u(reference.requestCommitment(exchange.keys, request.credential, request.bytes)),
      response_commitment: b64u(
        reference.responseCommitment(
          exchange.keys.commitKey,
          frames.map(({ payload }) => payload),
        ),
      ),
      prompt_persisted: false,
      software: "reference/1",
    }
    const receipt = reference.statement(session.identity, "receipt", this.hooks.receiptClaims?.(claims) ?? claims)
    const record: Json = {
      status,
      finish_reasons: finishReasons,
      usage,
      ...(failure === undefined ? {} : { problem: failure }),
      receipt: this.hooks.receipt?.(receipt.statement) ?? receipt.statement,
    }
    const fill = this.hooks.fill ?? reference.filled
    const recordText = fill(jsonOf(this.hooks.record?.(record) ?? record))
    frames.push(reference.sealFrame(exchange, form, frames, recordText, true, floor))
    if (!streamed) return json({ ...nonce, frames: this.changeFrames(frames) }, 200, SEALED_TYPE)

    const proofClaims: Claims = {
      version: 2,
      ...common,
      iss: session.identity.kid,
      request_hash: b64u(exchange.requestHash),
      root: b64u(frames.at(-1)?.chain ?? Buffer.alloc(0)),
      count: frames.length,
    }
    const proof = reference.statement(session.identity, "proof", this.hooks.proofClaims?.(proofClaims) ?? proofClaims)
    const events: ReadonlyArray<WireEvent> = [
      { event: "open", data: nonce },
      ...frames.map(({ ciphertext, final, index }) => ({
        event: "frame",
        data: { seq: index, ...(final ? { final } : {}), ciphertext: b64u(ciphertext) },
      })),
      { event: "proof", data: { proof: this.hooks.proof?.(proof.statement) ?? proof.statement } },
    ]
    return this.eventStream(renderEvents(this.hooks.events?.(events) ?? events), signal)
  }

  private changeFrames(frames: ReadonlyArray<reference.Frame>): unknown {
    const wire = frames.map(({ ciphertext }) => b64u(ciphertext))
    return this.hooks.frames?.(wire) ?? wire
  }

  /** A body that gives one piece per read, breaks at {@link BREAK}, waits for ever at {@link HANG}, and heeds `signal`. */
  private eventStream(pieces: ReadonlyArray<string>, signal: AbortSignal | undefined): Response {
    const left = [...pieces]
    const encoder = new TextEncoder()
    const body = new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          const hangUp = () => {
            this.hungUp++
            controller.error(signal?.reason)
          }
          // It may have fired while the answer was made.
          if (signal?.aborted === true) hangUp()
          signal?.addEventListener("abort", hangUp)
        },
        pull: (controller) => {
          const next = left.shift()
          if (next === undefined) controller.close()
          else if (next === BREAK) controller.error(new TypeError("terminated"))
          else if (next === HANG) return new Promise(() => undefined)
          else controller.enqueue(encoder.encode(next))
          return undefined
        },
        cancel: () => {
          this.hungUp++
        },
      },
      { highWaterMark: 0 },
    )
    return new Response(body, { headers: { "content-type": "text/event-stream" } })
  }
}

/** In the place of an event: the connection breaks, or nothing comes any more. */
export const BREAK = "\0break"
export const HANG = "\0hang"

const echo = (prompt: string, streamed: boolean): ReadonlyArray<Json> => {
  const common = { id: "c1", created: 1, model: "model-1" }
  const message = { role: "assistant", content: prompt }
  if (!streamed) {
    const choices = [{ index: 0, message, finish_reason: "stop" }]
    return [{ ...common, object: "chat.completion", choices }]
  }
  const chunk = (delta: object, finish_reason: string | null = null): Json => ({
    deltas: [{ ...common, object: "chat.completion.chunk", choices: [{ index: 0, delta, finish_reason }] }],
  })
  return [...prompt.split(/(?<= )/).map((content) => chunk({ content })), chunk({}, "stop")]
}
