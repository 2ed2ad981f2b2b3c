/** Messages about JSON that two readers could read differently. The conformance kit's catalogue has it in every place. */
import { assert, beforeEach, it } from "@effect/vitest"
import { SealedClient, Tampered } from "../../src/client/index.ts"
import { proveExchange, verifyReceipt } from "../../src/client/verification/verify.ts"
import { failureOf } from "../support/promises.ts"
import { FakeProxy } from "../support/protocol/FakeProxy.ts"
import { b64u, fromB64u, hmac, label, responseCommitment, statement, text } from "../support/protocol/reference.ts"

let proxy: FakeProxy
beforeEach(() => {
  proxy = new FakeProxy()
})

const complete = () =>
  new SealedClient({ baseUrl: "https://proxy.test", pins: [proxy.identity.kid], fetch: proxy.fetch }).complete({
    prompt: "Hello there",
  })

const isTampered = async (promise: Promise<unknown>, message: RegExp) => {
  const error = await failureOf(promise)
  assert.instanceOf(error, Tampered)
  assert.match(error.message, message)
}

type Spoil = readonly [name: string, spoil: (json: string) => string | Buffer, message: RegExp]

const SPOILT: ReadonlyArray<Spoil> = [
  ["a member twice", (json) => json.replace(/"([^"]+)":/, (member) => `${member}1,${member}`), /two members/],
  ["an unknown member twice", (json) => json.replace(/}$/, ',"x":1,"\\u0078":2}'), /two members "x"/],
  ["half of a surrogate pair", (json) => json.replace(/}$/, ',"x":"\\udc4b"}'), /surrogate/],
  ["a byte order mark", (json) => `\ufeff${json}`, /order mark/],
]
const NO_UTF_8: Spoil = [
  "bytes that are not UTF-8",
  (json) => Buffer.from(json.replace(/}$/, ',"x":"\xff"}'), "latin1"),
  /UTF-8/,
]

it.each([...SPOILT, NO_UTF_8])("%s is named in an end record and in a body", async (_, spoil, message) => {
  proxy.hooks = { record: (record) => spoil(JSON.stringify(record)) }
  await isTampered(complete(), message)
  proxy.hooks = { reply: (reply) => ({ ...reply, body: [spoil('{"frames":[]}')] }) }
  await isTampered(complete(), message)
})

it.each(SPOILT)("%s is named in a revealed request or answer", async (_, spoil, message) => {
  const { evidence } = await complete()
  const trust = { pins: [proxy.identity.kid], keys: proxy.jwks }
  const claims = await verifyReceipt(evidence.receipt, trust)
  const commitKey = fromB64u(evidence.commit_key)
  const credential = fromB64u(evidence.credential_commitment)
  for (const member of ["request", "responses"] as const) {
    const request = member === "request" ? String(spoil(evidence.request)) : evidence.request
    const [answer = ""] = evidence.responses
    const responses = [member === "responses" ? String(spoil(answer)) : answer]
    // Committed to as it is: the signer may take part.
    const { statement: receipt } = statement(proxy.identity, "receipt", {
      ...claims,
      request_commitment: b64u(hmac(commitKey, label("request"), credential, text(request))),
      response_commitment: b64u(responseCommitment(commitKey, responses.map(text))),
    })
    await isTampered(proveExchange({ ...evidence, receipt, request, responses }, trust), message)
  }
})
