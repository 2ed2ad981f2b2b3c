/** JSON that two readers could read differently is tampering, wherever in an answer it stands. */
import { assert, beforeEach, describe, it } from "@effect/vitest"
import { SealedClient, SealedProblem, Tampered } from "../../src/client/index.ts"
import { proveExchange, verifyReceipt } from "../../src/client/verification/verify.ts"
import { FakeProxy, type Hooks, refusal } from "../support/protocol/FakeProxy.ts"
import * as reference from "../support/protocol/reference.ts"

let proxy: FakeProxy
beforeEach(() => {
  proxy = new FakeProxy()
})

const HELLO = { prompt: "Hello there" }
const connect = (fetch = proxy.fetch) =>
  new SealedClient({ baseUrl: "https://proxy.test", pins: [proxy.identity.kid], fetch })

const failure = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => assert.fail("it succeeded"),
    (error: unknown) => error,
  )
const complete = () => connect().complete(HELLO)
const stream = async () => (await connect().stream(HELLO)).text()

const isTampered = async (promise: Promise<unknown>, told: RegExp) => {
  const error = await failure(promise)
  assert.instanceOf(error, Tampered)
  assert.match(error.message, told)
}

/** The same JSON object, spoilt in one way, and what is said of it. */
const SPOILT: ReadonlyArray<readonly [name: string, spoil: (json: string) => string | Buffer, told: RegExp]> = [
  ["a member twice", (json) => json.replace(/"([^"]+)":/, (member) => `${member}1,${member}`), /two members/],
  ["an unknown member twice", (json) => json.replace(/}$/, ',"x":1,"\\u0078":2}'), /two members "x"/],
  ["half of a surrogate pair", (json) => json.replace(/}$/, ',"x":"\\udc4b"}'), /surrogate/],
]
/** As bytes on the wire. */
const SPOILT_BYTES: typeof SPOILT = [
  ...SPOILT,
  ["a byte order mark", (json) => Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), reference.text(json)]), /order mark/],
  [
    "bytes that are not UTF-8",
    (json) =>
      Buffer.concat([reference.text(json.slice(0, -1)), reference.text(',"x":"'), Buffer.from([0xff, 0x22, 0x7d])]),
    /UTF-8/,
  ],
]

describe.each(SPOILT_BYTES)("%s", (_, spoil, told) => {
  const spoiling = (path: string) => async (url: string, init: RequestInit) => {
    const response = await proxy.fetch(url, init)
    if (!url.endsWith(path)) return response
    const body = spoil(await response.text())
    return new Response(typeof body === "string" ? body : new Uint8Array(body), response)
  }

  it.each(["/v1/init", "/v1/completions"])("is refused in the body of %s", async (path) => {
    await isTampered(connect(spoiling(path)).complete(HELLO), told)
  })

  it("in a refusal makes the problem unknown", async () => {
    proxy.hooks = { respond: (path) => (path === "/v1/completions" ? refusal(422, "unsupported") : undefined) }
    const error = await failure(connect(spoiling("/v1/completions")).complete(HELLO))
    assert.instanceOf(error, SealedProblem)
    assert.deepInclude(error, { sealed: false })
    assert.strictEqual(error.problem.code, "unknown")
  })
})

describe.each(SPOILT)("%s", (_, spoil, told) => {
  const spoilt = (value: unknown): string => String(spoil(JSON.stringify(value)))

  it("is refused in a frame that authenticates", async () => {
    proxy.script = { payloads: [spoilt({ id: "c" })] }
    await isTampered(complete(), told)
    proxy.script = { payloads: [spoilt({ deltas: [{ choices: [] }] })] }
    await isTampered(stream(), told)
  })

  it("is refused in an end record", async () => {
    proxy.hooks = { record: spoilt }
    await isTampered(complete(), told)
    await isTampered(stream(), told)
  })

  it.each([0, 1, -1])("is refused in the data of event %d of a stream", async (at) => {
    proxy.hooks = {
      events: (events) =>
        events.map((event) =>
          event === events.at(at) ? `event: ${event.event}\ndata: ${spoilt(event.data)}\n\n` : event,
        ),
    }
    await isTampered(stream(), told)
  })

  it("is refused in the signed claims of a receipt or a proof", async () => {
    const resign = (kind: string) => (statement: string) => {
      const claims = JSON.parse(reference.fromB64u(statement.split(".")[1] ?? "").toString())
      const header = { alg: "Ed25519", typ: `sealgate-${kind}+jwt`, kid: proxy.identity.kid }
      return reference.signParts(
        proxy.identity.seed,
        reference.text(JSON.stringify(header)),
        reference.text(spoilt(claims)),
      ).statement
    }
    const hooks: ReadonlyArray<Hooks> = [{ receipt: resign("receipt") }, { proof: resign("proof") }]
    for (const each of hooks) {
      proxy.hooks = each
      await isTampered(stream(), /well-formed/)
    }
  })

  it("is refused in a revealed request or answer", async () => {
    const { evidence } = await complete()
    const trust = { pins: [proxy.identity.kid], keys: proxy.jwks }
    const claims = await verifyReceipt(evidence.receipt, trust)
    const commitKey = reference.fromB64u(evidence.commit_key)
    const credential = reference.fromB64u(evidence.credential_commitment)
    for (const member of ["request", "responses"] as const) {
      const request = member === "request" ? spoilt(JSON.parse(evidence.request)) : evidence.request
      const [answer = ""] = evidence.responses
      const responses = [member === "responses" ? spoilt(JSON.parse(answer)) : answer]
      // Committed to as it is: whoever signs may be in it.
      const { statement: receipt } = reference.statement(proxy.identity, "receipt", {
        ...claims,
        request_commitment: reference.b64u(
          reference.hmac(commitKey, reference.label("request"), credential, reference.text(request)),
        ),
        response_commitment: reference.b64u(reference.responseCommitment(commitKey, responses.map(reference.text))),
      })
      await isTampered(proveExchange({ ...evidence, receipt, request, responses }, trust), told)
    }
  })
})

it("an event that is not UTF-8 is tampering", async () => {
  const spoiling = async (url: string, init: RequestInit) => {
    const response = await proxy.fetch(url, init)
    if (!url.endsWith("/v1/completions")) return response
    const text = (await response.text()).replace('{"seq":0', '{"x":"?","seq":0')
    return new Response(new Uint8Array(Buffer.from(text).map((byte) => (byte === 0x3f ? 0xff : byte))), response)
  }
  await isTampered(
    connect(spoiling)
      .stream(HELLO)
      .then((stream) => stream.text()),
    /UTF-8/,
  )
})

it("unknown members that are I-JSON are accepted", async () => {
  const known = (json: string) => json.replace(/}$/, ',"x":{"a":["\\ud83d\\udc4b","\\uffff"],"b":{"a":1}}}')
  proxy.hooks = { record: (record) => known(JSON.stringify(record)) }
  const noting = async (url: string, init: RequestInit) => {
    const response = await proxy.fetch(url, init)
    return new Response(known(await response.text()), response)
  }
  const { completion } = await connect(noting).complete(HELLO)
  assert.strictEqual(completion.choices[0]?.message.content, "Hello there")
})
