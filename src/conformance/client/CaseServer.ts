/** Serves the proxies of all cases at one address, each at its path, and records how the client behaved. */
import { randomBytes } from "node:crypto"
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { parseIJson } from "../../domain/json/iJson.ts"
import { isObject } from "../../domain/json/json.ts"
import type { Form } from "../../domain/protocol/transcript.ts"
import { answer, chatPayloads, chatScript, formOf, otherForm } from "../lyingProxy/answer.ts"
import { SUITE_NAMES, suiteNamed } from "../lyingProxy/hpke.ts"
import { identityFrom } from "../lyingProxy/Identity.ts"
import { BREAK, type ProxyReply } from "../lyingProxy/Lie.ts"
import { b64u } from "../lyingProxy/reference.ts"
import { jsonReply, problemReply } from "../lyingProxy/replies.ts"
import { type LyingSession, offerAnswer, offerClaims, open, type Unsealed } from "../lyingProxy/session.ts"
import { type Signers, state } from "../lyingProxy/statement.ts"
import { type Case, isOfAnswers, isOfOffers } from "./Case.ts"
import { Conduct } from "./Conduct.ts"
import { faultsOfInit, faultsOfRequest } from "./requestFaults.ts"

/** Observations of a client in one case. */
export interface Play {
  /** Requests to begin a session. */
  begun: number
  /** Sealed requests received. */
  sealed: number
  form?: Form
  /** Whether the case's lie was sent to the client. */
  lied: boolean
  /** Why the case does not apply to this client. */
  skipReason?: string
  /** Rules that the client broke. */
  readonly faults: Set<string>
}

const LIMITS = { lifetimeSeconds: 300, maxRequests: 256, maxRequestBytes: 65_536 }

class CasePlayer {
  readonly play: Play
  private readonly conduct = new Conduct()
  private readonly sessions = new Map<string, LyingSession>()
  private readonly subject: Case
  private readonly signers: Signers
  private readonly text: string

  constructor(subject: Case, signers: Signers, text: string) {
    this.subject = subject
    this.signers = signers
    this.text = text
    this.play = { begun: 0, sealed: 0, lied: false, faults: this.conduct.faults }
  }

  init(request: IncomingMessage, body: Buffer): ProxyReply {
    const { lie, suite: needed } = this.subject
    const { faults, suites } = faultsOfInit(request, body)
    for (const fault of faults) this.play.faults.add(fault)
    this.conduct.offer(suites)
    this.play.begun++
    const instead = lie.instead?.init
    if (instead !== undefined) {
      this.play.lied = true
      return instead
    }
    const known = suites.flatMap((id) => suiteNamed(id) ?? [])
    const other = SUITE_NAMES.find((each) => !known.includes(each))
    const suite = lie.otherSuite === undefined ? known.find((name) => needed === undefined || name === needed) : other
    if (suite === undefined && known.length > 0) {
      this.play.skipReason =
        needed === undefined ? "the client offers every suite" : `the client does not offer ${needed}`
    }
    const taken = suite ?? known[0]
    if (taken === undefined) return problemReply(400, "no-common-suite")
    const [id, privateKey] = [randomBytes(16), randomBytes(32)]
    const now = Math.floor(Date.now() / 1000)
    const claims = offerClaims({ suite: taken, privateKey, id, body: body.toString(), now, ...LIMITS })
    const active = this.play.skipReason === undefined ? lie : {}
    if (isOfOffers(active)) this.play.lied = true
    const { statement } = state(this.signers, "session", claims, active.session)
    this.sessions.set(b64u(id), { suite: taken, privateKey, attestation: statement })
    return jsonReply(offerAnswer(this.signers, statement, active))
  }

  async complete(request: IncomingMessage, bytes: Buffer): Promise<ProxyReply> {
    const { lie } = this.subject
    this.play.sealed++
    const instead = lie.instead?.completions
    if (instead !== undefined) this.play.lied = true
    const body = parseIJson(bytes)
    if (!isObject(body)) return problemReply(400, "malformed")
    const session = this.sessions.get(String(body["session_id"]))
    if (session === undefined) return instead ?? problemReply(410, "session-gone")
    const opened = await open(session, body)
    for (const fault of faultsOfRequest(opened)) this.play.faults.add(fault)
    if (request.headers.authorization !== undefined) this.conduct.blame("C19")
    this.conduct.seal(String(body["enc"]), bytes.toString(), String(opened.payload["request_id"]))
    const reply = instead ?? this.answer(opened)
    this.conduct.answer(reply)
    return reply
  }

  private answer(opened: Unsealed): ProxyReply {
    const { form: needed, lie, restart } = this.subject
    const asked = formOf(opened.payload)
    this.play.form = asked
    if (needed !== undefined && needed !== asked) this.play.skipReason = `the client asks for the form ${asked}`
    if (restart !== undefined && restart !== (opened.payload["restart"] !== false)) {
      this.play.skipReason = restart ? "the client forbids restarts" : "the client allows restarts"
    }
    const isFor = this.play.skipReason === undefined
    if (isFor && isOfAnswers(lie)) this.play.lied = true
    const form = isFor && lie.otherForm === true ? otherForm(asked) : asked
    return answer({
      signers: this.signers,
      opened,
      form,
      unpaced: opened.payload["pace"] === 0,
      script: chatScript(String(opened.payload["request_id"]), chatPayloads(form, this.text)),
      random: randomBytes,
      ...(isFor ? { lie } : {}),
    })
  }
}

const readBody = async (request: IncomingMessage): Promise<Buffer> => {
  const pieces: Array<Uint8Array> = []
  for await (const piece of request) pieces.push(piece as Uint8Array)
  return Buffer.concat(pieces)
}

/** Pauses between two pieces, and before a connection breaks: a reset discards data that was not read yet. */
const PIECE_MS = 2
const BREAK_MS = 300
const pause = (ms: number) => new Promise<void>((resolve) => void setTimeout(resolve, ms))

/** Writes piece by piece, so that the reader receives them separately. */
const send = async (response: ServerResponse, { body, headers, status }: ProxyReply): Promise<void> => {
  response.writeHead(status, headers)
  for (const piece of body) {
    if (piece === BREAK) {
      await pause(BREAK_MS)
      response.destroy()
      return
    }
    response.write(piece)
    if (body.length > 1) await pause(PIECE_MS)
  }
  response.end()
}

export interface ServedCases {
  /** `http://127.0.0.1:PORT`; the proxy of a case is at `/<name>` below it. */
  readonly url: string
  readonly pin: string
  /** The text of every honest answer. A client that believes the answer shows it. */
  readonly text: string
  readonly play: (name: string) => Play | undefined
}

export interface CaseServer extends ServedCases {
  readonly close: () => Promise<void>
}

export type ExtraEndpoints = (server: ServedCases, method: string, path: string, body: Buffer) => ProxyReply | undefined

const SEED_BYTES = 32
const NOT_FOUND: ProxyReply = { ...problemReply(404, "not-found") }

/** Serves `cases` on `port` of the loopback interface. `extraEndpoints` answers all other paths. */
export const serveCases = async (
  cases: ReadonlyArray<Case>,
  port: number,
  extraEndpoints: ExtraEndpoints = () => undefined,
): Promise<CaseServer> => {
  const identity = () => identityFrom(randomBytes(SEED_BYTES))
  const signers = { pinned: identity(), stranger: identity() }
  const text = `Otters sleep afloat (${randomBytes(8).toString("hex")})`
  const players = new Map(cases.map((each) => [each.name, new CasePlayer(each, signers, text)]))

  const reply = async (served: ServedCases, request: IncomingMessage): Promise<ProxyReply> => {
    const { method = "GET", url = "/" } = request
    const body = await readBody(request)
    const [, name = "", path = ""] = /^\/([\w-]+)\/v1\/(\w+)$/.exec(url) ?? []
    const player = players.get(name)
    const way = `${method} ${path}`
    if (player !== undefined && way === "GET keys") return jsonReply({ keys: [signers.pinned.jwk] })
    if (player !== undefined && way === "POST init") return player.init(request, body)
    if (player === undefined || way !== "POST completions")
      return extraEndpoints(served, method, url, body) ?? NOT_FOUND
    try {
      return await player.complete(request, body)
    } catch (error) {
      player.play.faults.add(`its sealed request is not as it must be: ${error instanceof Error ? error.message : ""}`)
      return problemReply(400, "unopenable")
    }
  }
  const server = createServer()
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject)
    server.listen(port, "127.0.0.1", resolve)
  })
  const served: ServedCases = {
    // `address()` is a string only for pipes.
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    pin: signers.pinned.kid,
    text,
    play: (name) => players.get(name)?.play,
  }
  server.on("request", (request, response) => {
    reply(served, request)
      .then((reply) => send(response, reply))
      .catch(() => response.destroy())
  })
  return {
    ...served,
    close: () => {
      server.closeAllConnections()
      return new Promise((resolve) => void server.close(() => resolve()))
    },
  }
}
