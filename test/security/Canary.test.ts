/** Marked content goes through every way a request can end; no mark may come out anywhere but under the seal. */
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Effect, type Layer, Redacted, Stream } from "effect"
import { utf8 } from "../../src/domain/bytes/bytes.ts"
import type { ChatInput } from "../../src/domain/chat/chat.ts"
import { FLOOR, pad } from "../../src/domain/protocol/padding.ts"
import { joinContent } from "../../src/domain/protocol/sealedContent.ts"
import { UpstreamError } from "../../src/domain/upstream/upstream.ts"
import type { Provider } from "../../src/services/upstream/Provider.ts"
import { Upstream } from "../../src/services/upstream/Upstream.ts"
import { overhear, spellingsOf } from "../support/canary.ts"
import { layerEchoWith } from "../support/echo.ts"
import { fault, FakeUpstream } from "../support/FakeUpstream.ts"
import { runProxy } from "../support/processes.ts"
import { type RunningProxy, startProxy } from "../support/proxy.ts"
import { beginSession, payloadOf, post, seal, sealBlock } from "../support/sealing.ts"

const MARKS = {
  prompt: "canary-prompt-4711",
  system: "canary-system-4712",
  arguments: "canary-arguments-4713",
  answer: "canary-answer-4714",
  member: "canary-member-4715",
  providerKey: "canary-provider-key-4716",
}

const assertSilent = (heard: string, where: string) => {
  for (const [name, mark] of Object.entries(MARKS)) {
    for (const spelling of spellingsOf(mark)) {
      const at = heard.indexOf(spelling)
      assert.isBelow(at, 0, `${name} in ${where}: …${heard.slice(Math.max(0, at - 300), at + 100)}…`)
    }
  }
  assert.notInclude(heard, "BEGIN PRIVATE KEY", where)
}

const conversation = (stream: boolean): ChatInput & { readonly stream: boolean } => ({
  stream,
  messages: [
    { role: "system", content: MARKS.system },
    { role: "user", content: `Call look_up with {"query":"${MARKS.arguments}"} for ${MARKS.prompt}` },
  ],
  tools: [{ type: "function", function: { name: "look_up", parameters: { type: "object" } } }],
})

/** Payloads that are malformed inside the seal, each with marks where the decoder will complain. */
const malformed = (issuedAt: number): ReadonlyArray<string> => [
  MARKS.prompt,
  `{"${MARKS.member}`,
  JSON.stringify(MARKS.prompt),
  JSON.stringify({ request_id: MARKS.member, issued_at: MARKS.member, completion: MARKS.prompt }),
  JSON.stringify({ request_id: crypto.randomUUID(), issued_at: issuedAt, completion: { messages: MARKS.prompt } }),
  JSON.stringify({
    request_id: crypto.randomUUID(),
    issued_at: issuedAt,
    completion: { messages: [{ role: MARKS.member, content: { [MARKS.member]: MARKS.prompt } }], stream: MARKS.member },
  }),
  JSON.stringify({ request_id: crypto.randomUUID(), issued_at: 1, completion: { prompt: MARKS.prompt } }),
  JSON.stringify({
    request_id: crypto.randomUUID(),
    issued_at: issuedAt,
    provider: MARKS.member,
    completion: { prompt: MARKS.prompt },
  }),
]

/** Does everything that a client can do. Returns everything readable on the path, and all ciphertexts. */
const exercise = async (proxy: Pick<RunningProxy, "url" | "operatorUrl" | "client">) => {
  const session = await beginSession(proxy)
  const sealed = [
    await seal(session, conversation(false)),
    await seal(session, conversation(true)),
    await seal(session, { prompt: MARKS.prompt, user: MARKS.member }),
    await seal(session, { prompt: MARKS.prompt, system: MARKS.system, stream: true }),
  ].map(({ body }) => body)
  for (const payload of malformed(Date.now() + session.clockOffset)) {
    sealed.push(await sealBlock(session, pad(joinContent("", utf8(payload)), FLOOR)))
  }
  // Valid UTF-8 up to its last byte.
  sealed.push(await sealBlock(session, pad(joinContent("", Uint8Array.of(...utf8(MARKS.prompt), 0xff)), FLOOR)))
  // Opens, but its block is not one.
  sealed.push(await sealBlock(session, utf8(payloadOf(session, conversation(false)))))

  const readable: Array<string> = []
  for (const body of sealed) {
    const response = await post(proxy, "/v1/completions", body)
    // A connection that breaks after the headers ends a stream whose provider died.
    const text = await response.text().catch(() => "")
    readable.push(`${response.status} ${JSON.stringify([...response.headers])} ${text}`)
  }
  // Marks where a careless sender puts them: outside the seal, in paths, headers and bodies that do not decode.
  const careless: ReadonlyArray<readonly [path: string, init: RequestInit]> = [
    [`/v1/completions?q=${MARKS.prompt}`, { method: "POST", body: MARKS.prompt }],
    ["/v1/completions", { method: "POST", headers: { "content-type": "application/json" }, body: `{"${MARKS.member}` }],
    [`/nowhere?${MARKS.member}=1#x`, { headers: { authorization: `Bearer ${MARKS.providerKey}` } }],
    [
      "/v1/init",
      { method: "POST", headers: { "x-note": MARKS.prompt, "content-type": "application/json" }, body: "{" },
    ],
    ["/v1/completions", { method: "PUT", body: MARKS.prompt }],
  ]
  for (const [path, init] of careless) await (await fetch(proxy.url + path, init)).text()
  for (const member of [MARKS.member, 17, null]) {
    const body = { ...sealed[0], session_id: member, enc: member, [MARKS.member]: MARKS.prompt }
    await (await post(proxy, "/v1/completions", body)).text()
  }
  for (const path of ["/ready", "/health", "/openapi.json", "/v1/keys", "/v1/models"]) {
    readable.push(await (await fetch(proxy.url + path)).text())
  }
  for (const path of ["/ready", "/metrics"]) readable.push(await (await fetch(proxy.operatorUrl + path)).text())
  return { readable: readable.join("\n"), ciphertexts: sealed.flatMap(({ ciphertext, enc }) => [enc, ciphertext]) }
}

const detail = Redacted.make(`The provider says: ${MARKS.prompt} is not ${MARKS.answer}`)
const defect = () =>
  new Error(`cannot serve:\n    at ${MARKS.prompt} (file:1:1)`, { cause: new TypeError(MARKS.arguments) })
const delta = {
  _tag: "Delta" as const,
  provider: "echo" as const,
  chunk: {
    id: "1",
    object: "chat.completion.chunk" as const,
    created: 1,
    model: "m",
    choices: [{ index: 0, delta: { content: MARKS.answer }, finish_reason: null }],
  },
}

const upstream = (parts: Pick<Upstream["Service"], "request" | "requestStreamTo">) => layerEchoWith(() => parts)

const failure = new UpstreamError({ code: "upstream-protocol", provider: "echo", detail })

const dying: Provider = {
  id: "provider1",
  apiName: "openai",
  defaultModel: "m",
  complete: () => Effect.die(defect()),
  stream: () => Stream.concat(Stream.succeed(delta.chunk), Stream.die(defect())),
}

const UPSTREAMS: Readonly<Record<string, Layer.Layer<Upstream>>> = {
  "an answer": Upstream.layerEcho,
  "a failure that quotes the prompt": upstream({
    request: () => Effect.fail(failure),
    requestStreamTo: () => Effect.fail(failure),
  }),
  "a failure after output began": upstream({
    request: () => Effect.fail(failure),
    requestStreamTo: (_, emit) => Effect.andThen(emit([delta]), Effect.fail(failure)),
  }),
  "a defect that quotes the prompt": upstream({
    request: () => Effect.die(defect()),
    requestStreamTo: () => Effect.die(defect()),
  }),
  "a defect after output began": upstream({
    request: () => Effect.die(MARKS.prompt),
    requestStreamTo: (_, emit) => Effect.andThen(emit([delta]), Effect.die(defect())),
  }),
  "a defect thrown by code": upstream({
    request: () =>
      Effect.sync(() => {
        throw defect()
      }),
    requestStreamTo: () => {
      throw defect()
    },
  }),
  "a provider that dies": Upstream.layer({ providers: [dying] }),
}

describe("logs at every level, spans, metrics and what the path can read", () => {
  for (const [name, layer] of Object.entries(UPSTREAMS)) {
    it.live(`contain nothing of a request that ends in ${name}`, () =>
      Effect.gen(function* () {
        const heard = overhear()
        const proxy = yield* startProxy({ upstream: layer, services: heard.services })
        const { ciphertexts, readable } = yield* Effect.promise(() => exercise(proxy))
        assert.isAbove(heard.lines.length, 20)
        assert.isAbove(heard.spans.length, 20)
        assertSilent(readable, "what the path can read")
        const said = heard.text()
        assertSilent(said, "logs and spans")
        for (const ciphertext of ciphertexts) assert.notInclude(said, ciphertext.slice(0, 40))
        // Yet the operator learns that something is wrong, and where.
        if (/defect|dies/.test(name)) assert.match(said, /failed[^]*Canary\.test\.ts/)
      }),
    )
  }
})

describe("the output and the files of the real process", () => {
  for (const [level, format] of [
    ["trace", "json"],
    ["trace", "pretty"],
  ] as const) {
    it.live(`contain no secret at LOG_LEVEL=${level} in ${format}, even if providers quote requests`, () =>
      Effect.gen(function* () {
        const fake = yield* FakeUpstream.make()
        fake.script(
          { text: MARKS.answer },
          { toolCalls: [{ name: "look_up", arguments: { query: MARKS.arguments } }] },
          fault.invalidRequest({ message: `${MARKS.prompt} is not valid, with key ${MARKS.providerKey}` }),
          { text: [MARKS.answer, MARKS.answer], delivery: { breaks: { after: 1, how: "error" } } },
          fault.status(400, { body: `<html>${MARKS.prompt} ${MARKS.providerKey}</html>` }),
          fault.raw(`HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n{"${MARKS.answer}`),
        )
        fake.always({ text: MARKS.answer })
        const proxy = yield* runProxy({
          env: {
            LOG_LEVEL: level,
            LOG_FORMAT: format,
            PROVIDER1_API_KEY: MARKS.providerKey,
            PROVIDER1_BASE_URL: fake.openAi,
            UPSTREAM_RETRY_BASE: "1ms",
            UPSTREAM_CIRCUIT_FAILURES: "1000",
          },
        })
        const { ciphertexts, readable } = yield* Effect.promise(() => exercise(proxy))
        proxy.kill("SIGTERM")
        assert.strictEqual(yield* Effect.promise(() => proxy.exit), 0)
        assertSilent(readable, "what the path can read")
        const printed = [...proxy.stdout, ...proxy.stderr].join("\n")
        assertSilent(printed, "output")
        for (const ciphertext of ciphertexts) assert.notInclude(printed, ciphertext.slice(0, 40))
        const files = readdirSync(proxy.folder, { recursive: true, encoding: "utf8" })
        assert.sameMembers(files, [".sealgate", join(".sealgate", "attestation.pem")])
        const pem = readFileSync(join(proxy.folder, ".sealgate", "attestation.pem"), "utf8")
        for (const line of pem.split("\n").filter((line) => line !== "")) assert.notInclude(printed, line)
        assert.isAtLeast(fake.requests.length, 5)
      }),
    )
  }
})
