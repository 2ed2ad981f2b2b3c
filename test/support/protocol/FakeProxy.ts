/** The kit's lying proxy behind a scripted `fetch`, with a clock of its own. */
import { randomBytes } from "node:crypto"
import type { Fetch } from "../../../src/client/index.ts"
import {
  answer,
  chatPayloads,
  chatScript,
  formOf,
  type Script as Answer,
} from "../../../src/conformance/lyingProxy/answer.ts"
import { bodyOf, BREAK, type Lie, type ProxyReply } from "../../../src/conformance/lyingProxy/Lie.ts"
import {
  offerAnswer,
  offerClaims,
  open,
  type Unsealed,
  type LyingSession,
} from "../../../src/conformance/lyingProxy/session.ts"
import { state } from "../../../src/conformance/lyingProxy/statement.ts"
import { omit } from "../../../src/conformance/omit.ts"
import { isObject, type JsonObject } from "../../../src/domain/json/json.ts"
import type { Form } from "../../../src/domain/protocol/transcript.ts"
import * as reference from "./reference.ts"

/** The answer to one opened request. */
export interface Script {
  /** Payloads of the data frames, or their very text; default: an echo of the prompt. */
  readonly payloads?: ReadonlyArray<JsonObject | string>
  readonly status?: "complete" | "failed" | "aborted"
  readonly problem?: JsonObject
  readonly usage?: JsonObject | null
  /** Default: "stop" for a complete answer. */
  readonly finishReasons?: ReadonlyArray<string>
  /** A failure in place of an answer; no provider was called unless one is named. */
  readonly refuse?: { readonly problem: JsonObject; readonly provider?: string }
}

export interface Hooks extends Lie {
  /** Answers in place of the proxy. */
  readonly respond?: (path: string, body: JsonObject, call: number) => Response | undefined
}

export interface Call {
  readonly path: string
  readonly body: JsonObject
  readonly init: RequestInit
}

interface OpenedRequest {
  readonly payload: JsonObject
  readonly credential: string
}

export const JSON_TYPE = { "content-type": "application/json" }
export const SEALED_TYPE = { "content-type": "application/vnd.sealgate.sealed+json" }
export const json = (body: unknown, status = 200, headers: Record<string, string> = {}): Response =>
  new Response(JSON.stringify(body), { status, headers: { ...JSON_TYPE, ...headers } })

export const problem = (status: number, code: string) => ({
  type: `urn:sealgate:problem:${code}`,
  title: code,
  status,
  code,
  retryable: false,
})

/** A refusal without a seal. */
export const refusal = (status: number, code: string, headers: Record<string, string> = {}): Response =>
  json(problem(status, code), status, { "content-type": "application/problem+json", ...headers })

/** In place of an event: the stream stalls. */
export const HANG = "\0hang"

const stranger = reference.identityFrom(Buffer.alloc(32, 2))

export class FakeProxy {
  identity: reference.LyingIdentity
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
  private readonly sessions = new Map<string, LyingSession & { identity: reference.LyingIdentity; served: number }>()

  constructor(seed = 0x77) {
    this.identity = reference.identityFrom(Buffer.alloc(32, seed))
  }

  get jwks() {
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
    const body = typeof init.body === "string" ? (JSON.parse(init.body) as JsonObject) : {}
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
    return Math.floor((Date.now() + this.skew) / 1000)
  }

  private begin(body: string): unknown {
    const [id, privateKey] = [randomBytes(16), randomBytes(32)]
    const { suites } = JSON.parse(body) as { readonly suites: ReadonlyArray<typeof reference.SUITE_IDS.X25519> }
    const suite = suites.map(reference.suiteNamed)[0] ?? "X25519"
    const { identity, maxRequestBytes, maxRequests, ttlSeconds: lifetimeSeconds } = this
    const limits = { lifetimeSeconds, maxRequests, maxRequestBytes }
    const claims = offerClaims({ suite, privateKey, id, body, now: this.now(), ...limits })
    const signers = { pinned: identity, stranger }
    const { statement } = state(signers, "session", claims, this.hooks.session)
    this.sessions.set(reference.b64u(id), { privateKey, suite, attestation: statement, identity, served: 0 })
    return offerAnswer(signers, statement, this.hooks)
  }

  private async complete(body: JsonObject, signal: AbortSignal | undefined): Promise<Response> {
    const session = this.sessions.get(String(body["session_id"]))
    if (session === undefined) return refusal(410, "session-gone")
    if (++session.served > this.maxRequests) throw new Error("the client used a session more often than it may")
    const opened = await open(session, body)
    this.opened.push({ payload: opened.payload, credential: opened.credential.toString() })
    const form = formOf(opened.payload)
    const reply = answer({
      signers: { pinned: session.identity, stranger },
      opened,
      form,
      unpaced: opened.payload["pace"] === 0,
      script: this.answerTo(opened, form),
      random: randomBytes,
      lie: this.hooks,
    })
    return this.written(reply, signal)
  }

  private answerTo({ payload }: Unsealed, form: Form): Answer {
    const { finishReasons, payloads, problem: failure, refuse, usage } = this.script
    const { status = refuse === undefined ? "complete" : "failed" } = this.script
    const isComplete = status === "complete"
    const nothing = form === "stream" ? [{ deltas: [] }] : ["null"]
    const echo = chatPayloads(form, String(Object(payload["body"])["prompt"])).map((each) => omit(each, "usage"))
    const restart = payloads?.findLast((each) => isObject(each) && isObject(each["restart"]))
    const served = isObject(restart) ? Object(restart["restart"]).provider : (payload["provider"] ?? "provider1")
    const provider: string | null = refuse === undefined ? served : (refuse.provider ?? null)
    const script = chatScript(String(payload["request_id"]), payloads ?? (refuse === undefined ? echo : nothing))
    const said = failure ?? refuse?.problem ?? (isComplete ? undefined : problem(502, "broken"))
    return {
      ...script,
      status,
      ...(said === undefined ? {} : { problem: said }),
      provider,
      model: provider === null ? null : script.model,
      finish_reasons: finishReasons ?? (isComplete ? ["stop"] : []),
      usage: usage === undefined ? (isComplete ? { total_tokens: 3 } : null) : usage,
      receivedAt: this.now(),
      completedAt: this.now(),
    }
  }

  /** A body that gives one piece per read, breaks at {@link BREAK}, waits for ever at {@link HANG}, and heeds `signal`. */
  private written(reply: ProxyReply, signal: AbortSignal | undefined): Response {
    const { headers, status } = reply
    if (headers["content-type"] !== "text/event-stream")
      return new Response(new Uint8Array(bodyOf(reply)), { headers, status })
    const left = [...reply.body]
    const body = new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          const hangUp = () => {
            this.hungUp++
            controller.error(signal?.reason)
          }
          // The signal may have fired while the answer was made.
          if (signal?.aborted === true) hangUp()
          signal?.addEventListener("abort", hangUp)
        },
        pull: (controller) => {
          const next = left.shift()
          if (next === undefined) controller.close()
          else if (next === BREAK) controller.error(new TypeError("terminated"))
          else if (next === HANG) return new Promise(() => undefined)
          else controller.enqueue(new Uint8Array(Buffer.from(next)))
          return undefined
        },
        cancel: () => {
          this.hungUp++
        },
      },
      { highWaterMark: 0 },
    )
    return new Response(body, { headers, status })
  }
}
