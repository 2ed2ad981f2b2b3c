/** Checks the vectors, and a running proxy and client, against the protocol's grammar. */
import { readFileSync } from "node:fs"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { SealedClient } from "../../src/client/index.ts"
import { iJsonText } from "../../src/domain/json/iJson.ts"
import { DEFAULT_PACE } from "../../src/domain/protocol/pace.ts"
import { routeOf } from "../../src/domain/protocol/routingTag.ts"
import { readAbnf } from "../support/grammar/abnf.ts"
import { readCddl } from "../support/grammar/cddl.ts"
import { negatives, published, unhex } from "../support/protocol/published.ts"
import { startProxy } from "../support/proxy.ts"
import { eventsOf, recording } from "../support/tamper.ts"

const grammar = (name: string): string => readFileSync(`docs/protocol/${name}`, "utf8")

const cddl = readCddl(grammar("sealed.cddl"))
const abnf = readAbnf(grammar("sealed.abnf"))

/** Rules that something was held to. */
const used = { cddl: new Set<string>(), abnf: new Set<string>() }

const isA = (rule: string, value: unknown): void => {
  used.cddl.add(rule)
  assert.isUndefined(cddl.fault(rule, value))
}
const reads = (rule: string, text: string): void => {
  used.abnf.add(rule)
  assert.isTrue(abnf.matches(rule, text), `${rule}: ${text.slice(0, 200)}`)
}
const parse = (text: string): unknown => JSON.parse(text)
/** One character for each byte. */
const octets = (bytes: Uint8Array): string => Buffer.from(bytes).toString("latin1")

const decoded = (part = ""): unknown => parse(Buffer.from(part, "base64url").toString())

const isStatement = (statement: string, kind: "session" | "receipt" | "proof"): void => {
  reads("statement", statement)
  isA("statement", statement)
  const [header, claims] = statement.split(".")
  isA("header", decoded(header))
  isA(`${kind}-claims`, decoded(claims))
}

const isEndRecord = (text: string): void => {
  reads("frame-payload", octets(Buffer.from(text)))
  const record = parse(text) as {
    readonly receipt: string
    readonly status: string
    readonly problem?: { readonly type: string; readonly code: string }
  }
  isA("end-record", record)
  assert.strictEqual(record.problem === undefined, record.status === "complete")
  isStatement(record.receipt, "receipt")
  if (record.problem === undefined) return
  isA("problem", record.problem)
  reads("problem-type", record.problem.type)
  reads("code", record.problem.code)
}

const isStream = (text: string): void => {
  reads("event-stream", text)
  const events = eventsOf(text).map(({ data, event }) => ({ event, data: parse(data) }))
  for (const { data, event } of events) isA(`${event}-event`, data)
  const last = events.at(-1)?.data as { readonly proof: string }
  isStatement(last.proof, "proof")
}

const isRequest = (body: string): void => {
  reads("json-object", body)
  isA("completion-request", parse(body))
}

describe("the vectors", () => {
  it("have identities and sessions that match the grammar", () => {
    isA("key-set", { keys: [published.identity.jwk] })
    reads("thumbprinted", published.identity.thumbprint_input)
    reads("kid", published.identity.kid)
    for (const session of Object.values(published.sessions)) {
      isA("init-request", parse(session.request_body))
      isA("init-answer", { attestation: session.attestation, keys: [published.identity.jwk] })
      isStatement(session.attestation, "session")
    }
    for (const { bytes } of published.labels) reads("label", octets(unhex(bytes)))
    for (const { text } of published.base64url.accepted) {
      reads("b64u", text)
      isA("b64u", text)
    }
    for (const { text, why } of published.base64url.refused) {
      assert.isFalse(abnf.matches("b64u", text), why)
      assert.isDefined(cddl.fault("b64u", text), why)
    }
  })

  it.each(published.exchanges)(
    "have an exchange $name that matches the grammar",
    ({ form, name, request, response }) => {
      isRequest(JSON.stringify(request.body))
      reads("route-hint", routeOf(request.body.session_id))
      if (name !== "unreadable") {
        isA("payload", parse(request.payload))
        isA("pace", (parse(request.payload) as { readonly pace?: number }).pace ?? DEFAULT_PACE)
        reads("request-id", (parse(request.payload) as { readonly request_id: string }).request_id)
      }
      reads("sealed-block", octets(unhex(request.block)))
      for (const key of [response.key, response.commit_key, response.credential_key])
        reads("hkdf-key", octets(unhex(key)))
      for (const frame of response.frames) {
        reads("frame-block", octets(unhex(frame.block)))
        reads("nonce", octets(unhex(frame.nonce)))
        if (frame.final) isEndRecord(frame.payload)
        else {
          reads("frame-payload", octets(Buffer.from(frame.payload)))
          isA(form === "stream" ? "data-frame" : "answer", parse(frame.payload))
        }
      }
      if (response.event_stream === undefined) isA("sealed-answer", response.body)
      else isStream(response.event_stream.map(({ data, event }) => `event: ${event}\ndata: ${data}\n\n`).join(""))
    },
  )

  it("have evidence that matches the grammar", () => {
    const [stream, complete] = negatives.evidence
    isA("recording", stream?.evidence["recording"])
    for (const shown of [stream, complete]) isA("revealed-exchange", shown?.evidence["exchange"])
  })

  it.each(["P1", "P2", "P7"])("that break %s in a body do not match the grammar", (rule) => {
    const broken = negatives.requests.filter(({ code, rules }) => rules.includes(rule) && code === "malformed")
    assert.isNotEmpty(broken)
    for (const { body, body_hex, path, why } of broken) {
      const bytes = body_hex === undefined ? new TextEncoder().encode(body) : unhex(body_hex)
      const text = iJsonText(bytes)
      // The grammar does not cover I-JSON, and cannot express a list of distinct suites.
      if (typeof text !== "string" || why === "a suite twice") continue
      assert.isDefined(cddl.fault(path === "/v1/init" ? "init-request" : "completion-request", parse(text)), why)
    }
  })

  it("fail the grammar if a claim is null or missing", () => {
    const claims = published.sessions.X25519.claims
    for (const name of Object.keys(claims)) {
      assert.isDefined(cddl.fault("session-claims", { ...claims, [name]: null }), name)
      const { [name]: _, ...without } = claims
      assert.isDefined(cddl.fault("session-claims", without), name)
    }
  })
})

it.live("a running proxy and client send what the grammar allows", () =>
  Effect.gen(function* () {
    const proxy = yield* startProxy()
    yield* Effect.promise(async () => {
      const { answers, record, requests } = recording()
      const frames: Array<unknown> = []
      const client = new SealedClient({ baseUrl: proxy.url, pins: [proxy.kid], fetch: record, pace: 20 })
      const onFrame = ({ payload }: { readonly payload: unknown }) => void frames.push(payload)
      const { evidence } = await client.complete({ prompt: "Hello there" }, { onFrame })
      isA("answer", frames[0])
      isA("revealed-exchange", evidence)
      isA("payload", parse(evidence.request))
      const stream = await client.stream({ prompt: "Hello there" }, { onFrame, restart: false })
      await stream.text()
      for (const frame of frames.slice(2, -1)) isA("data-frame", frame)
      const streamed = (await stream.end).evidence
      isA("payload", parse(streamed.request))
      // A failure, and a refusal outside the seal.
      const failure = await client
        .complete({ prompt: "Hello" }, { provider: "nobody" })
        .catch((error: unknown) => error)
      isA("problem", Reflect.get(Object(failure), "problem"))
      const refused = await fetch(`${proxy.url}/v1/completions`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: "{}",
      })
      isA("refusal", await refused.json())
      const nonce = { nonce: Buffer.alloc(32, 1).toString("base64url") }
      isA("evidence-request", nonce)
      const path = { index: 0, size: 1, hashes: [] }
      isA("evidence-answer", { format: "tdx", kid: proxy.kid, configuration: "e30", report: "", path })

      for (const [index, { body, path }] of requests.entries()) {
        const answer = answers[index] ?? ""
        if (path === "/v1/keys") isA("key-set", parse(answer))
        else if (path === "/v1/init") {
          isA("init-request", parse(body))
          isA("init-answer", parse(answer))
          isStatement((parse(answer) as { readonly attestation: string }).attestation, "session")
        } else {
          isRequest(body)
          if (answer.startsWith("event:")) isStream(answer)
          else {
            reads("complete-body", answer)
            isA("sealed-answer", parse(answer))
          }
        }
      }
      assert.deepStrictEqual(
        requests.map(({ path }) => path),
        ["/v1/init", "/v1/completions", "/v1/completions", "/v1/completions"],
      )
    })
  }),
)

it("every rule of the grammar was used", () => {
  assert.sameMembers(
    cddl.roots.filter((rule) => !used.cddl.has(rule)),
    [],
  )
  assert.sameMembers(
    abnf.roots.filter((rule) => !used.abnf.has(rule)),
    [],
  )
})
