/** Body in, body out: what a provider that speaks an API gets of a request, over a real socket. */
import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { Effect, Stream } from "effect"
import { type ApiName, apiOf } from "../../../../src/domain/upstream/apis.ts"
import { utf8 } from "../../../../src/domain/bytes/bytes.ts"
import { bytesFault, CLIENT_LIMITS } from "../../../../src/domain/json/iJson.ts"
import { Outline } from "../../../../src/domain/json/outline.ts"
import type { RawObject } from "../../../../src/domain/json/rawObject.ts"
import type { NativeApis, NativeCall } from "../../../../src/services/upstream/Provider.ts"
import { startNative } from "../../../support/nativeUpstream.ts"
import { objectText, oddObject } from "../../../support/oddJson.ts"
import { client, live } from "../providers/support/LiveServer.ts"

const MODEL = '"m\\u006f\\/1.0"'

/** A server that keeps what it was sent, and answers nothing. */
const listening = startNative(() => ({ status: 500, body: "" }))

const rawOf = (body: string): RawObject => {
  const outline = new Outline("body")
  const payload = utf8(`{"body":${body}}`)
  assert.isUndefined(bytesFault(payload, CLIENT_LIMITS, outline))
  const raw = outline.objectIn(payload)
  if (raw === undefined) throw new Error("no object")
  return raw
}

const nativeOf = Effect.fnUntraced(function* (api: ApiName, url: string) {
  const { vendor } = apiOf(api)
  const provider = yield* live(vendor, vendor === "openai" ? `${url}/v1` : `${url}/`)
  return provider.native as NativeApis
})

/** Every API in each of its forms. */
const FORMS: ReadonlyArray<readonly [ApiName, boolean]> = [
  ["chat.completions", false],
  ["chat.completions", true],
  ["responses", false],
  ["responses", true],
  ["embeddings", false],
  ["messages", false],
  ["messages", true],
  ["messages.count_tokens", false],
]
const PATHS: Readonly<Record<ApiName, string>> = {
  "chat.completions": "/v1/chat/completions",
  responses: "/v1/responses",
  embeddings: "/v1/embeddings",
  messages: "/v1/messages",
  "messages.count_tokens": "/v1/messages/count_tokens",
}

describe("the body of a request", () => {
  it.live.each(FORMS)("for %s, streamed or not, reaches the provider as it was sent", ([api, stream]) =>
    Effect.gen(function* () {
      const { requests: got, url } = yield* listening
      const native = yield* nativeOf(api, url)
      const send = (body: string, model: string) => {
        const call: NativeCall = { api, body: rawOf(body), headers: {}, model }
        const sent = stream ? Stream.runDrain(native.stream(call)) : native.complete(call)
        return Effect.runPromise(Effect.ignore(sent))
      }
      const counting = { stream: "true", stream_options: '{ "include_usage" :true,"x":1.0 }' }
      const fixed = { model: MODEL, ...(stream ? (api === "chat.completions" ? counting : { stream: "true" }) : {}) }
      yield* Effect.promise(() =>
        fc.assert(
          fc.asyncProperty(oddObject(fixed), async (members) => {
            const body = objectText(members)
            await send(body, "mo/1.0")
            assert.strictEqual(got.at(-1)?.body, body)
            await send(body, "other")
            const elsewhere = members.map((each) =>
              each.startsWith('"model"') ? each.replace(MODEL, '"other"') : each,
            )
            assert.strictEqual(got.at(-1)?.body, objectText(elsewhere))
            assert.strictEqual(got.at(-1)?.path, PATHS[api])
          }),
          { numRuns: 60 },
        ),
      )
    }).pipe(Effect.provide(client), Effect.scoped),
  )

  it.live("gets a model if it names none, and a chat's stream gets its usage", () =>
    Effect.gen(function* () {
      const { requests: got, url } = yield* listening
      const native = yield* nativeOf("chat.completions", url)
      const sent = Effect.fnUntraced(function* (body: string, stream: boolean) {
        const call = { api: "chat.completions", body: rawOf(body), headers: {}, model: "default" } as const
        yield* Effect.ignore(stream ? Stream.runDrain(native.stream(call)) : native.complete(call))
        return got.at(-1)?.body
      })
      const messages = '"messages":[{"role":"user", "content":1.0}]'
      assert.strictEqual(yield* sent(`{${messages}}`, false), `{"model":"default",${messages}}`)
      assert.strictEqual(
        yield* sent(`{"stream":true,"model":"default",${messages}}`, true),
        `{"stream_options":{"include_usage":true},"stream":true,"model":"default",${messages}}`,
      )
      assert.strictEqual(
        yield* sent(`{"model":"default","stream_options": {"include_usage":false,"a":[]} ,${messages}}`, true),
        `{"model":"default","stream_options": {"include_usage":true,"a":[]} ,${messages}}`,
      )
      const state = '"extra_content":{"anthropic":{},"sealgate":true}'
      const own = '"extra_content":{"google":{"x":1}}'
      assert.strictEqual(
        yield* sent(
          `{"model":"default","messages":[{"role":"assistant",${state},"tool_calls":[{"id":"c",${state}},{"id":"d",${own}}]}],"n":1.0}`,
          false,
        ),
        `{"model":"default","messages":[{"role":"assistant","tool_calls":[{"id":"c"},{"id":"d",${own}}]}],"n":1.0}`,
      )
    }).pipe(Effect.provide(client), Effect.scoped),
  )
})

describe("the headers of a request", () => {
  it.live("include the operator's key and those that came with the request", () =>
    Effect.gen(function* () {
      const { requests: got, url } = yield* listening
      const ask = Effect.fnUntraced(function* (api: ApiName, headers: Readonly<Record<string, string>>) {
        const native = yield* nativeOf(api, url)
        yield* Effect.ignore(native.complete({ api, body: rawOf("{}"), headers, model: "m" }))
        return got.at(-1)?.headers ?? {}
      })
      assert.deepInclude(yield* ask("messages", { "anthropic-beta": "a,b" }), {
        "x-api-key": "the-secret-key",
        "anthropic-version": "2023-06-01",
        "anthropic-beta": "a,b",
        "content-type": "application/json",
      })
      assert.deepInclude(yield* ask("messages", { "anthropic-version": "2099-01-01" }), {
        "anthropic-version": "2099-01-01",
      })
      assert.deepInclude(yield* ask("responses", { "openai-beta": "x=v1" }), {
        authorization: "Bearer the-secret-key",
        "openai-beta": "x=v1",
      })
    }).pipe(Effect.provide(client), Effect.scoped),
  )
})
