/** A client for checks: begins sessions, seals any payload, valid or not, and opens the answers. */
import { randomUUID } from "node:crypto"
import { type Bytes, encodeBase64Url, utf8 } from "../../domain/bytes/bytes.ts"
import { isObject, type JsonObject, parseJson } from "../../domain/json/json.ts"
import { parseIJson } from "../../domain/json/iJson.ts"
import { floorOf, paceOf } from "../../domain/protocol/pace.ts"
import { FLOOR, pad } from "../../domain/protocol/padding.ts"
import { joinContent } from "../../domain/protocol/sealedContent.ts"
import { SUITES, type SuiteName } from "../../domain/protocol/suites.ts"
import { MEDIA_TYPE, requestAad, requestInfo, requestTranscript } from "../../domain/protocol/transcript.ts"
import { hpkeSeal } from "../../client/crypto/hpke.ts"
import { sha256 } from "../../client/crypto/primitives.ts"
import { readClocks } from "../../client/sealed/clocks.ts"
import type { SentRequest } from "../../client/sealed/sealRequest.ts"
import { type ClientSession, type SessionRequest, sessionRequest, verifySession } from "../../client/sealed/session.ts"
import { keysByThumbprint, type TrustedKeys } from "../../client/verification/trust.ts"
import { must, Skipped, skip } from "./outcome.ts"
import { believing, openAnswer, type OpenedAnswer, openRecord } from "./OpenedAnswer.ts"
import { sealSpelled } from "./spelledEnc.ts"
import { type Received, Wire } from "./Wire.ts"

export interface ProxyAddress {
  readonly url: URL
  readonly pins: ReadonlyArray<string>
  /** Value of `Authorization`; empty if there is none. */
  readonly credential: string
  readonly ca?: string | undefined
}

interface BegunSession {
  readonly session: ClientSession
  readonly attestation: string
}

interface Sealing {
  readonly payload: JsonObject | Uint8Array | string
  readonly credential?: string
  /** Block in place of the padded credential and payload. */
  readonly block?: Bytes
  readonly wrong?: { readonly publicKey?: Bytes; readonly info?: Bytes; readonly aad?: Bytes }
}

export interface Sealed {
  readonly sent: SentRequest
  readonly body: string
}

/** Requests that a session reserves for later checks. */
const SPARE = 8

/** Asks for an unknown API, so that no provider is called. */
export const UNSERVED = { api: "conformance.none" }

export const PROMPT = "Count from one to thirty in words, and say nothing else."

export class Probe {
  readonly wire: Wire
  readonly credential: string
  /** Whether the server is on this machine's loopback. */
  readonly isLocal: boolean
  private readonly pins: ReadonlyArray<string>
  private keys: Promise<TrustedKeys> | undefined
  private readonly shared = new Map<string, Promise<BegunSession>>()

  constructor({ ca, credential, pins, url }: ProxyAddress) {
    this.wire = new Wire(url, ca)
    this.credential = credential
    this.pins = pins
    this.isLocal = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(url.hostname)
  }

  trusted(): Promise<TrustedKeys> {
    this.keys ??= this.wire.send("v1/keys", {}).then(async ({ body, status }) => {
      must(status === 200, `GET /v1/keys is answered with ${status}`)
      return this.pinnedOf(parseIJson(body))
    })
    return this.keys
  }

  private async pinnedOf(set: unknown): Promise<TrustedKeys> {
    const all = await believing(keysByThumbprint(set))
    return new Map([...all].filter(([kid]) => this.pins.includes(kid)))
  }

  init(body: string | Uint8Array, headers?: Readonly<Record<string, string>>): Promise<Received> {
    return this.wire.post("v1/init", body, headers)
  }

  async begin(suites?: ReadonlyArray<SuiteName>): Promise<BegunSession> {
    return this.verify(sessionRequest(suites))
  }

  async verify(request: SessionRequest): Promise<BegunSession> {
    const received = await this.init(request.body)
    if (received.status === 400) skip("the server has none of the suites that this check offers")
    must(received.status === 200, `POST /v1/init is answered with ${received.status}`)
    const answer = parseIJson(received.body)
    must(isObject(answer) && typeof answer["attestation"] === "string", "the answer to init has no attestation")
    const attestation = answer["attestation"]
    const session = await believing(verifySession(attestation, await this.pinnedOf(answer), request, Date.now()))
    return { session, attestation }
  }

  async session(suite?: SuiteName): Promise<ClientSession> {
    const name = suite ?? ""
    const known = await this.shared.get(name)?.catch(() => undefined)
    if (known === undefined || known.session.requestsLeft <= SPARE || isLate(known.session)) {
      this.shared.set(name, this.begin(suite === undefined ? undefined : [suite]))
    }
    const { session } = (await this.shared.get(name)) ?? (await this.begin())
    session.requestsLeft--
    return session
  }

  /** Returns a valid payload, issued now, with the members of `more`. */
  payload(session: ClientSession, more: JsonObject = {}): JsonObject {
    return {
      request_id: randomUUID(),
      issued_at: Date.now() + session.clockOffset,
      pace: 0,
      api: "chat.completions",
      body: { messages: [{ role: "user", content: PROMPT }] },
      ...more,
    }
  }

  async seal(
    session: ClientSession,
    { block, credential = this.credential, payload, wrong = {} }: Sealing,
  ): Promise<Sealed> {
    const bytes =
      payload instanceof Uint8Array
        ? new Uint8Array(payload)
        : utf8(typeof payload === "string" ? payload : JSON.stringify(payload))
    const { ciphertext, enc, secret } = await hpkeSeal(
      session.suite,
      wrong.publicKey ?? session.publicKey,
      wrong.info ?? requestInfo(session.attestationHash),
      wrong.aad ?? requestAad(session.idBytes),
      block ?? pad(joinContent(credential, bytes), FLOOR),
    )
    const body = { session_id: session.id, enc: encodeBase64Url(enc), ciphertext: encodeBase64Url(ciphertext) }
    const requestHash = await sha256(requestTranscript(session.attestationHash, enc, await sha256(ciphertext)))
    const requestId = isObject(payload) ? String(payload["request_id"]) : ""
    return {
      sent: {
        session,
        requestId,
        body,
        payload: bytes,
        credential,
        enc,
        secret,
        requestHash,
        sealedAt: readClocks(),
      },
      body: JSON.stringify(body),
    }
  }

  async spelled(session: ClientSession, { credential = this.credential, payload }: Sealing): Promise<string> {
    const block = pad(joinContent(credential, utf8(JSON.stringify(payload))), FLOOR)
    const [info, aad] = [requestInfo(session.attestationHash), requestAad(session.idBytes)]
    const { ciphertext, enc } = sealSpelled(session.suite.name, session.publicKey, info, aad, block)
    return JSON.stringify({
      session_id: session.id,
      enc: encodeBase64Url(enc),
      ciphertext: encodeBase64Url(ciphertext),
    })
  }

  post(body: string | Uint8Array, headers?: Readonly<Record<string, string>>): Promise<Received> {
    return this.wire.post("v1/completions", body, headers)
  }

  async open(received: Received, { sent }: Sealed): Promise<OpenedAnswer> {
    return openAnswer(received, sent, await this.trusted(), floorIn(received, sent))
  }

  /** Seals any payload, sends it, and opens only the end record. For payloads whose answer a client could not verify. */
  async record(sealing: Sealing, session: ClientSession): Promise<JsonObject> {
    const { body, sent } = await this.seal(session, sealing)
    const received = await this.post(body)
    return openRecord(received, sent, floorIn(received, sent))
  }

  /** Seals and sends a request, and opens its answer. */
  async ask(sealing: Sealing, session?: ClientSession): Promise<OpenedAnswer> {
    const sealed = await this.seal(session ?? (await this.session()), sealing)
    return this.open(await this.post(sealed.body), sealed)
  }

  /** Sends a valid payload with the members of `more`. */
  async asking(more: JsonObject): Promise<OpenedAnswer> {
    const session = await this.session()
    return this.ask({ payload: this.payload(session, more) }, session)
  }

  /** Like `asking`, but skips the check unless a provider answered. */
  async served(more: JsonObject = {}, suite?: SuiteName): Promise<OpenedAnswer> {
    const session = await this.session(suite)
    const answer = await this.ask({ payload: this.payload(session, more) }, session)
    const { problem, status } = answer.end
    if (status !== "complete") throw new Skipped(`no provider answered: ${problem?.code ?? status}`)
    return answer
  }
}

const isLate = ({ clockOffset, usableUntil }: ClientSession): boolean => Date.now() + clockOffset > usableUntil

/** The smallest block of an answer; for streams it depends on the requested pace. */
const floorIn = ({ headers }: Received, { payload }: SentRequest): number => {
  if (!(headers["content-type"] ?? "").startsWith(MEDIA_TYPE.stream)) return FLOOR
  const asked = parseJson(Buffer.from(payload).toString("utf8"))
  return floorOf(paceOf(isObject(asked) ? asked["pace"] : undefined))
}

export const SUITE_NAMES = SUITES.map(({ name }) => name)
