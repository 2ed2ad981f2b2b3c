/** The client, with the clock and the randomness of the published vectors, is given what must be refused. */
import { afterEach, assert, beforeEach, describe, it, vi } from "@effect/vitest"
import {
  AnswerIncomplete,
  KeyMissing,
  PinMismatch,
  SealedProblem,
  Tampered,
  Unreachable,
} from "../../src/client/errors.ts"
import { type Evidence, type Fetch, SealedClient, verifyEvidence } from "../../src/client/index.ts"
import { exchangeNamed, negatives, published, sessionOf, unhex } from "../support/protocol/published.ts"
import { refusal } from "../support/protocol/FakeProxy.ts"
import { ephemeralPrivateKey, fromB64u } from "../support/protocol/reference.ts"

type Outcome = "attack" | "answer" | "failure" | "refusal" | "break"
type Session = (typeof published.sessions)["X25519"]
type Offer = (typeof negatives.offers)[number]

const { other, pinned } = negatives.identities
const JSON_TYPE = { "content-type": "application/json" }

const outcomeOf = (error: unknown): Outcome => {
  if (error instanceof Tampered || error instanceof PinMismatch || error instanceof KeyMissing) return "attack"
  if (error instanceof AnswerIncomplete) return "failure"
  if (error instanceof Unreachable) return "break"
  if (!(error instanceof SealedProblem)) throw error
  if (error.sealed) return "failure"
  return error.problem.code === "unknown" ? "break" : "refusal"
}

/** Answers `fetch` by path and records the calls. */
const answering = (say: Readonly<Record<string, (call: number) => Response>>) => {
  const calls: Array<{ readonly path: string; readonly body: string }> = []
  const fetch: Fetch = async (url, init) => {
    const path = new URL(url).pathname
    calls.push({ path, body: typeof init.body === "string" ? init.body : "" })
    const answer = say[path]
    if (answer === undefined) throw new Error(`nobody should ask for ${path}`)
    return answer(calls.filter((call) => call.path === path).length)
  }
  const to = (path: string) => calls.filter((call) => call.path === path).map(({ body }) => body)
  return { fetch, to }
}

const bodyOf = ({ body, body_hex }: { readonly body?: string; readonly body_hex?: string }) =>
  body_hex === undefined ? (body ?? "") : unhex(body_hex)

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["Date"] })
})
afterEach(() => {
  vi.useRealTimers()
  vi.restoreAllMocks()
})

/** The nonce with which a published session was asked for. */
const nonceOf = ({ request_body }: Session): Buffer =>
  fromB64u((JSON.parse(request_body) as { readonly client_nonce: string }).client_nonce)

const fixRandom = (bytes: Uint8Array): void => {
  vi.spyOn(crypto, "getRandomValues").mockImplementation((array) => {
    new Uint8Array(array.buffer).set(bytes.subarray(0, array.byteLength))
    return array
  })
}

describe("offers", () => {
  const begin = async (offer: Offer) => {
    const session = published.sessions[offer.session as keyof typeof published.sessions]
    fixRandom(nonceOf(session))
    vi.setSystemTime(session.begun_at_ms)
    const { fetch, to } = answering({
      "/v1/init": () =>
        new Response(bodyOf(offer), { status: offer.status, headers: { "content-type": offer.content_type } }),
      "/v1/completions": () => new Response("", { status: 500 }),
    })
    const suites = session.name === "X25519" ? (["X25519"] as const) : undefined
    const client = new SealedClient({
      baseUrl: "http://proxy.test",
      pins: [pinned.kid],
      fetch,
      ...(suites === undefined ? {} : { suites }),
    })
    const error: unknown = await client.complete({ prompt: "Hello" }).catch((error: unknown) => error)
    assert.deepStrictEqual(to("/v1/init"), [session.request_body])
    return { error, sealed: to("/v1/completions").length > 0 }
  }

  it.each(negatives.offers.map((offer, index) => ({ ...offer, index })))(
    "$index $rules: $why: $expect",
    async (offer) => {
      const { error, sealed } = await begin(offer)
      assert.strictEqual(sealed, offer.expect === "answer", "whether anything was sealed")
      if (!sealed) assert.strictEqual(outcomeOf(error), offer.expect)
    },
  )
})

describe("answers", () => {
  it.each(negatives.answers.map((answer, index) => ({ ...answer, index })))(
    "$index $rules: $why: $expect",
    async (answer) => {
      const exchange = exchangeNamed(answer.exchange)
      const session = sessionOf(exchange)
      const { request } = exchange
      const payload = JSON.parse(request.payload) as {
        readonly request_id: string
        readonly restart?: boolean
        readonly pace?: number
        readonly body: { readonly prompt: string; readonly stream?: boolean }
      }
      const ikm = "ephemeral_ikm" in request ? unhex(request.ephemeral_ikm) : unhex("")
      const ephemeral = await ephemeralPrivateKey(ikm)
      fixRandom(nonceOf(session))
      vi.setSystemTime(session.begun_at_ms)
      const offer = JSON.stringify({ attestation: session.attestation, keys: [pinned, other] })
      const { fetch, to } = answering({
        "/v1/init": (call) => {
          fixRandom(ephemeral)
          return call === 1 ? new Response(offer, { headers: JSON_TYPE }) : new Response("", { status: 500 })
        },
        "/v1/completions": (call) =>
          call === 1
            ? refusal(429, "rate-limited")
            : new Response(bodyOf(answer), { status: answer.status, headers: { "content-type": answer.content_type } }),
      })
      const { credential } = request
      const client = new SealedClient({
        baseUrl: "http://proxy.test",
        pins: [pinned.kid, other.kid],
        suites: ["X25519"],
        credential,
        fetch,
      })
      const { pace, request_id, restart } = payload
      const options = {
        requestId: request_id,
        ...(restart === undefined ? {} : { restart }),
        ...(pace === undefined ? {} : { pace }),
      }
      const { stream: _, ...ask } = payload.body
      // Begins the session at its published time. The clock can be moved only between two requests.
      assert.strictEqual(await client.complete(ask).then(() => "answer", outcomeOf), "refusal")
      // The client adds half a second to the time that a session states.
      vi.setSystemTime(exchange.received_at_ms - 500)
      const outcome = await (
        exchange.form === "stream"
          ? client.stream(ask, options).then((stream) => stream.text())
          : client.complete(ask, options)
      ).then((): Outcome => "answer", outcomeOf)
      const [, ...sent] = to("/v1/completions")
      assert.deepStrictEqual(JSON.parse(sent[0] ?? ""), request.body, "the request is the published one")
      // Sealing again begins with a request for a session, which is refused here.
      const again = to("/v1/init").length > 1 ? "seal-anew" : sent.length > 1 ? "same-bytes" : "nothing"
      assert.strictEqual(again, answer.next ?? "nothing")
      if (again === "same-bytes") assert.strictEqual(sent[1], sent[0])
      if (again !== "seal-anew") assert.strictEqual(outcome, answer.expect)
    },
  )
})

describe("evidence", () => {
  it.each(negatives.evidence.map((shown, index) => ({ ...shown, index })))(
    "$index $rules: $why: $expect",
    async ({ evidence, expect, pins }) => {
      // The file is our own, and what it shows is in the shape that the client gives it.
      const found = await verifyEvidence(evidence as Evidence, { pins, keys: { keys: [pinned, other] } }).then(
        (): Outcome => "answer",
        outcomeOf,
      )
      assert.strictEqual(found, expect)
    },
  )
})
