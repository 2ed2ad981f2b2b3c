/** Responses are interpreted by content, not by the request or their content type. Over real sockets. */
import { assert, describe, layer } from "@effect/vitest"
import { Effect } from "effect"
import type { IncomingHttpHeaders } from "node:http"
import { brotliCompressSync, constants, deflateSync, gzipSync, zstdCompressSync } from "node:zlib"
import type { FailureKind } from "../../../../src/domain/upstream/failures.ts"
import { MINIMAL, type Vendor, VENDOR_NAMES } from "./support/Canned.ts"
import { eventFixture, jsonFixture } from "./support/fixtures.ts"
import { client, live, serve } from "./support/LiveServer.ts"
import { answered, failureOf, gistOf, MODES, REQUEST } from "./support/raw.ts"

const JSON_TYPE = { "content-type": "application/json" }
const EVENT_TYPE = { "content-type": "text/event-stream" }

/** More levels than clients accept. */
const DEEP = "[".repeat(1100) + "]".repeat(1100)

const wholeOf = (vendor: Vendor): string => JSON.stringify(MINIMAL[vendor])
const streamOf = (vendor: Vendor): string => eventFixture(`${vendor}-stream`).join("")

layer(client, { excludeTestServices: true })((it) => {
  for (const vendor of VENDOR_NAMES) {
    describe(vendor, () => {
      for (const name of ["complete", "tools"]) {
        it.effect(`a whole answer in place of a stream loses nothing: ${name}`, () =>
          Effect.gen(function* () {
            const raw = { headers: JSON_TYPE, body: JSON.stringify(jsonFixture(`${vendor}-${name}`)) }
            const { created: _, ...streamed } = yield* answered(vendor, raw, "stream")
            const { created: __, ...whole } = yield* answered(vendor, raw, "complete")
            assert.deepStrictEqual(streamed, whole)
            assert.isAbove(streamed.usage?.total_tokens ?? 0, 0)
          }),
        )
      }

      it.effect("a stream in place of a whole answer is assembled", () =>
        Effect.gen(function* () {
          const raw = { headers: EVENT_TYPE, body: streamOf(vendor) }
          const { created: _, ...whole } = yield* answered(vendor, raw, "complete")
          const { created: __, ...streamed } = yield* answered(vendor, raw, "stream")
          assert.deepStrictEqual(whole, streamed)
        }),
      )

      it.effect("a truncated stream in place of a whole answer fails", () =>
        Effect.gen(function* () {
          const raw = { headers: EVENT_TYPE, body: eventFixture(`${vendor}-stream`).slice(0, 2) }
          assert.strictEqual((yield* Effect.flip(answered(vendor, raw, "complete"))).kind, "truncated")
        }),
      )

      it.effect.each([
        "text/event-stream; charset=utf-8",
        "TEXT/EVENT-STREAM",
        "application/json",
        "application/json; charset=utf-8",
        "application/vnd.api+json",
        "text/plain; charset=utf-8",
        "application/octet-stream",
        undefined,
      ])("%s: both forms are known by their beginning", (type) =>
        Effect.gen(function* () {
          const headers = type === undefined ? {} : { "content-type": type }
          for (const mode of MODES) {
            const whole = yield* answered(vendor, { headers, body: wholeOf(vendor) }, mode)
            assert.strictEqual(gistOf(whole), "ok stop")
            const streamed = yield* answered(vendor, { headers, body: streamOf(vendor) }, mode)
            assert.strictEqual(streamed.choices[0]?.finish_reason, "stop")
            assert.isNotNull(streamed.usage)
          }
        }),
      )

      it.effect("white space before an answer, sent to keep the connection open, is skipped", () =>
        Effect.gen(function* () {
          for (const mode of MODES) {
            const whole = { headers: JSON_TYPE, body: ["\ufeff", " ", "\n\r\n", `\t${wholeOf(vendor)}`, "\n "] }
            assert.strictEqual(gistOf(yield* answered(vendor, whole, mode)), "ok stop")
            for (const begin of [
              ["\ufeff\n", "\n"],
              [" ", "\r\n"],
              [":", " wait\n\n"],
              ["e", "vent: ping\ndata:\n\n"],
            ]) {
              const streamed = { headers: {}, body: [...begin, streamOf(vendor)] }
              assert.strictEqual((yield* answered(vendor, streamed, mode)).choices[0]?.finish_reason, "stop")
            }
          }
        }),
      )

      it.effect("a body that is neither JSON nor events fails", () =>
        Effect.gen(function* () {
          for (const mode of MODES) {
            for (const [body, type, said] of [
              ["<html></html>", "text/html", "an answer of type text/html"],
              [wholeOf(vendor), "text/html; charset=utf-8", "an answer of type text/html; charset=utf-8"],
              ["datum", "text/plain", "an answer of type text/plain that is neither a JSON object nor an event stream"],
              [
                "",
                "application/json",
                "an answer of type application/json that is neither a JSON object nor an event stream",
              ],
              ["  ", undefined, "an answer without a type that is neither a JSON object nor an event stream"],
              [
                "null",
                "application/json",
                "an answer of type application/json that is neither a JSON object nor an event stream",
              ],
              [wholeOf(vendor).slice(0, -1), "application/json", "the answer is not JSON"],
              [wholeOf(vendor) + wholeOf(vendor), "application/json", "the answer is not JSON"],
              [wholeOf(vendor).replace("{", `{"x":${DEEP},`), "application/json", "the answer is not JSON"],
            ] as const) {
              const headers = type === undefined ? {} : { "content-type": type }
              const found = yield* Effect.flip(answered(vendor, { headers, body }, mode))
              assert.strictEqual(failureOf(found), `garbage: ${said}`)
            }
            for (const [body, type, reason, lasting] of [
              ["<html></html>", "text/html; x=quoted", "an answer of type text/html", true],
              ["datum", "quoted", "an answer that is neither a JSON object nor an event stream", undefined],
              ["{", "application/json", "the answer is not JSON", undefined],
            ] as const) {
              const found = yield* Effect.flip(answered(vendor, { headers: { "content-type": type }, body }, mode))
              assert.deepStrictEqual([found.reason, found.lasting], [reason, lasting])
            }
            const silent = { headers: EVENT_TYPE, body: " " }
            assert.strictEqual((yield* Effect.flip(answered(vendor, silent, mode))).kind, "truncated")
          }
        }),
      )
    })
  }

  describe("an error with status 200", () => {
    // Errors.test.ts has the names of errors.
    const rows: ReadonlyArray<readonly [name: string, body: object, kind: FailureKind]> = [
      ["rate limit in words", { error: "Rate limit reached" }, "rate-limited"],
      ["rate limit of Gemini", [{ error: { code: 429, status: "RESOURCE_EXHAUSTED", message: "no" } }], "rate-limited"],
      ["rate limit, its status outside", { status: 429, error: "Too Many Requests" }, "rate-limited"],
      ["rate limit, its status outside an object", { status: 429, error: { message: "no" } }, "rate-limited"],
      ["rate limit, its status outside plain words", { status: 429, error: "no" }, "rate-limited"],
      ["model, its name alone", { error: "model_not_found" }, "unknown-model"],
      ["rate limit, without an envelope", { code: 429, message: "Too Many Requests" }, "rate-limited"],
      ["content filter in words", { error: { message: "see our content management policy" } }, "content-filtered"],
      ["key in words", { error: { message: "Incorrect API key provided" } }, "unauthorized"],
      ["model in words", { error: { message: "The model `m` does not exist" } }, "unknown-model"],
      [
        "model of Anthropic",
        { type: "error", error: { type: "not_found_error", message: "model: m" } },
        "unknown-model",
      ],
      ["context", { error: { message: "maximum context length is 5" } }, "context-too-long"],
      ["request", { object: "error", message: "no", type: "BadRequestError" }, "invalid-request"],
      ["overloaded, its status in digits", { error: { message: "no", code: "503" } }, "unavailable"],
      ["request, of Groq", { error: { message: "no", status_code: 400 } }, "invalid-request"],
      ["request, of Hugging Face", { error: { message: "no", http_status_code: 422 } }, "invalid-request"],
      ["path, of LM Studio", { error: "Unexpected endpoint or method. (POST /chat/completions)" }, "misconfigured"],
      ["of no known kind", { error: { message: "no" } }, "unavailable"],
      ["without a word", { type: "error" }, "unavailable"],
    ]
    for (const vendor of VENDOR_NAMES) {
      it.effect.each(rows)(`${vendor}: %s`, ([, body, kind]) =>
        Effect.gen(function* () {
          for (const mode of MODES) {
            for (const headers of [JSON_TYPE, EVENT_TYPE]) {
              const raw = { headers, body: JSON.stringify(body) }
              assert.strictEqual((yield* Effect.flip(answered(vendor, raw, mode))).kind, kind)
            }
            const inside = [...eventFixture(`${vendor}-stream`).slice(0, 2), `data: ${JSON.stringify(body)}\n\n`]
            const raw = { headers: EVENT_TYPE, body: inside }
            assert.strictEqual((yield* Effect.flip(answered(vendor, raw, mode))).kind, kind)
          }
        }),
      )

      it.effect(`${vendor}: Retry-After sets the delay and makes the failure rate-limited`, () =>
        Effect.gen(function* () {
          const body = JSON.stringify({ error: { code: 503, message: "no" } })
          for (const mode of MODES) {
            const raw = { headers: { ...JSON_TYPE, "retry-after": "7" }, body }
            const { kind, retryAfterMs } = yield* Effect.flip(answered(vendor, raw, mode))
            assert.deepStrictEqual([kind, retryAfterMs], ["rate-limited", 7000])
          }
        }),
      )

      it.effect(`${vendor}: members that report no error are none`, () =>
        Effect.gen(function* () {
          for (const extra of [
            { error: null },
            { error: {} },
            { error: [] },
            { error: "" },
            { message: "ok", code: 200 },
          ]) {
            const raw = { headers: JSON_TYPE, body: JSON.stringify({ ...Object(MINIMAL[vendor]), ...extra }) }
            for (const mode of MODES) assert.strictEqual(gistOf(yield* answered(vendor, raw, mode)), "ok stop")
          }
        }),
      )
    }
  })

  describe("content codings", () => {
    const codings: ReadonlyArray<readonly [name: string, encode: (text: string) => Uint8Array]> = [
      ["gzip", gzipSync],
      ["X-GZip", gzipSync],
      ["deflate", deflateSync],
      ["br", (text) => brotliCompressSync(text, { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } })],
      ["zstd", zstdCompressSync],
      ["identity", Buffer.from],
      ["identity, gzip", gzipSync],
    ]

    it.effect("are not requested", () =>
      Effect.gen(function* () {
        const asked: Array<IncomingHttpHeaders> = []
        const server = yield* serve((request, response) => {
          asked.push(request.headers)
          response.writeHead(500).end()
        })
        for (const vendor of VENDOR_NAMES) {
          yield* Effect.flip((yield* live(vendor, server.url)).complete(REQUEST))
          yield* Effect.flip(answered(vendor, { body: "" }))
        }
        assert.deepStrictEqual(new Set(asked.map((headers) => headers["accept-encoding"])), new Set(["identity"]))
      }),
    )

    for (const vendor of VENDOR_NAMES) {
      it.effect.each(codings)(`${vendor}: %s is decoded although it was not requested`, ([name, encode]) =>
        Effect.gen(function* () {
          const coded = { "content-encoding": name }
          for (const mode of MODES) {
            const whole = { headers: { ...JSON_TYPE, ...coded }, body: encode(wholeOf(vendor)) }
            assert.strictEqual(gistOf(yield* answered(vendor, whole, mode)), "ok stop")
            const bytes = encode(streamOf(vendor))
            const size = Math.ceil(bytes.length / 10)
            const pieces = Array.from({ length: 10 }, (_, at) => bytes.subarray(at * size, (at + 1) * size))
            const streamed = yield* answered(vendor, { headers: { ...EVENT_TYPE, ...coded }, body: pieces }, mode)
            assert.strictEqual(streamed.choices[0]?.finish_reason, "stop")
            assert.isNotNull(streamed.usage)
          }
        }),
      )
    }

    it.effect.each(codings)("%s: a stream that is cut is truncated", ([name, encode]) =>
      Effect.gen(function* () {
        const bytes = encode(eventFixture("openai-stream").slice(0, 3).join(""))
        for (const length of [bytes.length, Math.floor(bytes.length / 2), 1]) {
          const raw = { headers: { ...EVENT_TYPE, "content-encoding": name }, body: bytes.subarray(0, length) }
          assert.strictEqual((yield* Effect.flip(answered("openai", raw))).kind, "truncated")
        }
      }),
    )

    it.effect.each(codings)("%s: endless decompressed output is read no further than the limit", ([name, encode]) =>
      Effect.gen(function* () {
        const limits = { responseBytes: 100_000 }
        for (const [type, begin] of [
          [JSON_TYPE, "["],
          [EVENT_TYPE, ":"],
          [EVENT_TYPE, ""],
        ] as const) {
          const body = encode(begin + " ".repeat(4_000_000))
          for (const mode of MODES) {
            const raw = { headers: { ...type, "content-encoding": name }, body, limits }
            const found = yield* Effect.flip(answered("openai", raw, mode))
            assert.strictEqual(failureOf(found), "garbage: an answer of more than 100000 bytes")
          }
        }
      }),
    )

    it.effect("an error body is decoded up to the limit for error bodies", () =>
      Effect.gen(function* () {
        const headers = { ...JSON_TYPE, "content-encoding": "gzip" }
        const body = JSON.stringify({ error: { message: "maximum context length is 5" } })
        for (const mode of MODES) {
          const told = yield* Effect.flip(answered("openai", { status: 400, headers, body: gzipSync(body) }, mode))
          assert.strictEqual(failureOf(told), "context-too-long: maximum context length is 5")
          const bomb = gzipSync(`${" ".repeat(4_000_000)}${body}`)
          const cut = yield* Effect.flip(answered("openai", { status: 400, headers, body: bomb }, mode))
          assert.strictEqual(cut.kind, "invalid-request")
          const broken = yield* Effect.flip(answered("openai", { status: 429, headers, body: "plain" }, mode))
          assert.strictEqual(broken.kind, "rate-limited")
        }
      }),
    )

    it.effect.each([
      ["gzip", "garbage: an answer that is not in the coding gzip, which it names"],
      ["br", "garbage: an answer that is not in the coding br, which it names"],
      ["zstd", "garbage: an answer that is not in the coding zstd, which it names"],
      ["compress", "garbage: an answer in the coding compress, which was not asked for"],
      ["gzip, br", "garbage: an answer in the coding gzip, br, which was not asked for"],
    ])("%s: an undecodable body is reported", ([name, said]) =>
      Effect.gen(function* () {
        for (const mode of MODES) {
          const raw = { headers: { ...JSON_TYPE, "content-encoding": name }, body: wholeOf("openai") }
          assert.strictEqual(failureOf(yield* Effect.flip(answered("openai", raw, mode))), said)
        }
      }),
    )
  })

  describe("a redirect is not followed", () => {
    it.effect.each(VENDOR_NAMES)("%s: with any redirect status", (vendor) =>
      Effect.gen(function* () {
        for (const status of [300, 301, 302, 303, 304, 305, 307, 308, 399]) {
          for (const mode of MODES) {
            const raw = { status, headers: { location: "https://elsewhere.example/v1" }, body: "" }
            const found = yield* Effect.flip(answered(vendor, raw, mode))
            assert.strictEqual(failureOf(found), `redirected: a redirect (status ${status}) to elsewhere.example`)
          }
        }
      }),
    )

    it.effect.each([
      ["https://user:secret@elsewhere.example:8443/private?key=1#part", "elsewhere.example:8443"],
      ["//b%C3%BCcher.example/x", "xn--bcher-kva.example"],
      ["/login?next=%2Fsecret", "another address of the same host"],
      ["mailto:someone@example.com", "no address"],
      ["http://[", "no address"],
      [undefined, "no address"],
    ])("to %s: only the host is reported", ([location, where]) =>
      Effect.gen(function* () {
        const headers = location === undefined ? {} : { location }
        const found = yield* Effect.flip(answered("openai", { status: 307, headers, body: "" }))
        assert.strictEqual(failureOf(found), `redirected: a redirect (status 307) to ${where}`)
      }),
    )
  })
})
