/** The classification of each vendor's errors. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Redacted, Stream } from "effect"
import { ConnectionFailed } from "../../../../src/services/upstream/HttpExchange.ts"
import { ProviderHttp } from "../../../../src/services/upstream/ProviderHttp.ts"
import { TestClock } from "effect/testing"
import type { ChatRequest } from "../../../../src/domain/chat/chat.ts"
import type { FailureKind } from "../../../../src/domain/upstream/failures.ts"
import type { ProviderFailure } from "../../../../src/services/upstream/Provider.ts"
import { makeHttpProvider } from "../../../../src/services/upstream/providers/http/HttpProvider.ts"
import { canned, events, json, MINIMAL, type Vendor, VENDOR_NAMES, VENDORS } from "./support/Canned.ts"
import { eventFixture } from "./support/fixtures.ts"

const request: ChatRequest = { messages: [{ role: "user", content: "hi" }] }

const detailOf = (failure: ProviderFailure): string | undefined =>
  failure.detail === undefined ? undefined : Redacted.value(failure.detail)

/** The failure of a whole and of a streamed call, which must be the same. */
const failureFrom = Effect.fnUntraced(function* (vendor: Vendor, response: () => Response) {
  const { provider } = yield* canned(vendor, response)
  const whole = yield* Effect.flip(provider.complete(request))
  const streamed = yield* Effect.flip(Stream.runDrain(provider.stream(request)))
  assert.deepStrictEqual({ ...streamed }, { ...whole })
  return whole
})

interface Row {
  readonly name: string
  readonly status: number
  readonly body: unknown
  readonly headers?: Readonly<Record<string, string>>
  readonly kind: FailureKind
  readonly retryAfterMs?: number
  readonly detail?: string
}

const openai = (type: string, code: string | number | null, message = "the message") => ({
  error: { message, type, param: null, code },
})
const anthropic = (type: string, message = "the message") => ({
  type: "error",
  error: { type, message },
  request_id: "req_1",
})
const gemini = (code: number, status: string, message = "the message", details: ReadonlyArray<object> = []) => ({
  error: { code, message, status, details },
})

/** A number, whose thousandfold is none. */
const SECONDS = `1${"0".repeat(306)}`

const ROWS: Readonly<Record<Vendor, ReadonlyArray<Row>>> = {
  openai: [
    { name: "rate limit", status: 429, body: openai("requests", "rate_limit_exceeded"), kind: "rate-limited" },
    { name: "no such path, in FastAPI's words", status: 404, body: { detail: "Not Found" }, kind: "misconfigured" },
    { name: "no such path, in Go's words", status: 404, body: { error: "404 page not found" }, kind: "misconfigured" },
    {
      name: "rate limit in seconds",
      status: 429,
      headers: { "retry-after": "20" },
      body: openai("tokens", "rate_limit_exceeded"),
      kind: "rate-limited",
      retryAfterMs: 20_000,
    },
    {
      name: "rate limit in milliseconds, which are more exact",
      status: 429,
      headers: { "retry-after-ms": "1234", "retry-after": "2" },
      body: openai("tokens", "rate_limit_exceeded"),
      kind: "rate-limited",
      retryAfterMs: 1234,
    },
    ...[
      { "retry-after": "86401" },
      { "retry-after-ms": "9".repeat(30) },
      { "retry-after": "Wed, 31 Dec 2031 23:59:59 GMT" },
    ].map((headers): Row => ({
      name: `rate limit for longer than a day in ${Object.entries(headers).join()}`,
      status: 429,
      headers,
      body: openai("tokens", "rate_limit_exceeded"),
      kind: "rate-limited",
      retryAfterMs: 86_400_000,
    })),
    {
      name: "rate limit until a date",
      status: 429,
      headers: { "retry-after": "Thu, 01 Jan 1970 00:01:30 GMT" },
      body: openai("tokens", "rate_limit_exceeded"),
      kind: "rate-limited",
      retryAfterMs: 90_000,
    },
    {
      name: "rate limit until a date that has passed",
      status: 429,
      headers: { "retry-after": "Wed, 31 Dec 1969 23:59:59 GMT" },
      body: openai("tokens", "rate_limit_exceeded"),
      kind: "rate-limited",
      retryAfterMs: 0,
    },
    {
      name: "rate limit with a useless Retry-After",
      status: 429,
      headers: { "retry-after": "soon 2031" },
      body: openai("tokens", "rate_limit_exceeded"),
      kind: "rate-limited",
    },
    ...[{ "retry-after": "9".repeat(400) }, { "retry-after-ms": "9".repeat(400) }, { "retry-after": SECONDS }].map(
      (headers): Row => ({
        name: `rate limit for longer than a number can say in ${Object.keys(headers).join()}`,
        status: 429,
        headers,
        body: openai("tokens", "rate_limit_exceeded"),
        kind: "rate-limited",
      }),
    ),
    { name: "quota", status: 429, body: openai("insufficient_quota", "insufficient_quota"), kind: "unauthorized" },
    { name: "quota, by type", status: 429, body: openai("insufficient_quota", null), kind: "unauthorized" },
    { name: "balance", status: 400, body: openai("error", null, "Insufficient Balance"), kind: "unauthorized" },
    { name: "bad key", status: 401, body: openai("invalid_request_error", "invalid_api_key"), kind: "unauthorized" },
    {
      name: "bad key, reported as a bad request",
      status: 400,
      body: { code: "Client specified an invalid argument", error: "Incorrect API key provided: sk***" },
      kind: "unauthorized",
    },
    { name: "no balance", status: 402, body: openai("unknown_error", null), kind: "unauthorized" },
    { name: "region", status: 403, body: openai("request_forbidden", "unsupported_country"), kind: "unauthorized" },
    {
      name: "flagged by a gateway",
      status: 403,
      body: openai("forbidden", 403, "the model requires moderation and your input was flagged"),
      kind: "content-filtered",
    },
    {
      name: "unknown model",
      status: 404,
      body: openai("invalid_request_error", "model_not_found"),
      kind: "unknown-model",
    },
    ...[400, 403, 422].map((status): Row => ({
      name: "unknown model",
      status,
      body: openai("invalid_request_error", "model_not_found"),
      kind: "unknown-model",
    })),
    { name: "unknown model, by type", status: 400, body: openai("invalid_model", "1500"), kind: "unknown-model" },
    {
      name: "a model that is no more",
      status: 400,
      body: openai("invalid_request_error", "model_decommissioned"),
      kind: "unknown-model",
    },
    ...["Model Not Exist", "The model `m` does not exist", "m is not a valid model ID", "Invalid model: m"].map(
      (message): Row => ({
        name: `unknown model, in words: ${message}`,
        status: 400,
        body: openai("invalid_request_error", null, message),
        kind: "unknown-model",
      }),
    ),
    {
      name: "words of a model far into a message, which may quote a prompt",
      status: 400,
      body: openai("invalid_request_error", null, `${"x".repeat(2000)} unknown model: model not found`),
      kind: "invalid-request",
    },
    {
      name: "a tool that does not exist, for a model that does",
      status: 400,
      body: openai("invalid_request_error", null, `the model may call tools\n${"x".repeat(300)} f does not exist`),
      kind: "invalid-request",
    },
    {
      name: "bad parameter",
      status: 400,
      body: openai("invalid_request_error", null, "temperature must be at most 2"),
      kind: "invalid-request",
      detail: "temperature must be at most 2",
    },
    {
      name: "unprocessable",
      status: 422,
      body: { detail: [{ msg: "bad" }] },
      kind: "invalid-request",
      detail: '[{"msg":"bad"}]',
    },
    {
      name: "context, by code",
      status: 400,
      body: openai("invalid_request_error", "context_length_exceeded"),
      kind: "context-too-long",
    },
    {
      name: "context, in words",
      status: 400,
      body: {
        object: "error",
        message: "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens.",
        type: "BadRequestError",
        param: null,
        code: 400,
      },
      kind: "context-too-long",
    },
    {
      name: "context, of a local server",
      status: 400,
      body: { error: { code: 400, message: "too big", type: "exceed_context_size_error" } },
      kind: "context-too-long",
    },
    {
      name: "too many tokens asked for is not the context",
      status: 400,
      body: openai(
        "invalid_request_error",
        null,
        "max_tokens is too large: this model supports at most 4096 completion tokens",
      ),
      kind: "invalid-request",
    },
    {
      name: "content filter",
      status: 400,
      body: {
        error: {
          message: "The response was filtered",
          type: null,
          code: "content_filter",
          innererror: { code: "ResponsibleAIPolicyViolation" },
        },
      },
      kind: "content-filtered",
    },
    {
      name: "policy",
      status: 400,
      body: openai("invalid_request_error", "content_policy_violation"),
      kind: "content-filtered",
    },
    { name: "server error", status: 500, body: openai("server_error", null), kind: "unavailable" },
    { name: "overloaded", status: 503, body: openai("service_unavailable", null), kind: "unavailable" },
    {
      name: "overloaded, with a time",
      status: 503,
      headers: { "retry-after": "1.5" },
      body: openai("service_unavailable", null),
      kind: "rate-limited",
      retryAfterMs: 1500,
    },
    { name: "request timeout", status: 408, body: openai("timeout", null), kind: "unavailable" },
    { name: "too large a body", status: 413, body: "", kind: "context-too-long" },
    {
      name: "a plain text",
      status: 400,
      body: "Failed to parse the body",
      kind: "invalid-request",
      detail: "Failed to parse the body",
    },
    {
      name: "a bare string",
      status: 404,
      body: { error: "model not found" },
      kind: "unknown-model",
      detail: "model not found",
    },
    {
      name: "a gateway's page",
      status: 502,
      headers: { "content-type": "text/html" },
      body: "<html>Bad Gateway</html>",
      kind: "unavailable",
    },
    {
      name: "a page in place of the API",
      status: 404,
      headers: { "content-type": "text/html" },
      body: "<html>?</html>",
      kind: "garbage",
    },
  ],
  anthropic: [
    {
      name: "rate limit",
      status: 429,
      headers: { "retry-after": "7" },
      body: anthropic("rate_limit_error"),
      kind: "rate-limited",
      retryAfterMs: 7000,
    },
    { name: "overloaded", status: 529, body: anthropic("overloaded_error", "Overloaded"), kind: "unavailable" },
    {
      name: "overloaded, with a time",
      status: 529,
      headers: { "retry-after": "3" },
      body: anthropic("overloaded_error"),
      kind: "rate-limited",
      retryAfterMs: 3000,
    },
    {
      name: "bad key",
      status: 401,
      body: anthropic("authentication_error", "invalid x-api-key"),
      kind: "unauthorized",
    },
    { name: "no permission", status: 403, body: anthropic("permission_error"), kind: "unauthorized" },
    { name: "billing", status: 402, body: anthropic("billing_error"), kind: "unauthorized" },
    {
      name: "balance",
      status: 400,
      body: anthropic("invalid_request_error", "Your credit balance is too low to access the Anthropic API."),
      kind: "unauthorized",
    },
    {
      name: "unknown model",
      status: 404,
      body: anthropic("not_found_error", "model: claude-0"),
      kind: "unknown-model",
      detail: "model: claude-0",
    },
    {
      name: "bad request",
      status: 400,
      body: anthropic("invalid_request_error", "messages: roles must alternate"),
      kind: "invalid-request",
      detail: "messages: roles must alternate",
    },
    {
      name: "context",
      status: 400,
      body: anthropic("invalid_request_error", "prompt is too long: 208310 tokens > 199999 maximum"),
      kind: "context-too-long",
    },
    {
      name: "context, with the answer",
      status: 400,
      body: anthropic(
        "invalid_request_error",
        "input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000",
      ),
      kind: "context-too-long",
    },
    { name: "too large a body", status: 413, body: anthropic("request_too_large"), kind: "context-too-long" },
    {
      name: "filtered",
      status: 400,
      body: anthropic("invalid_request_error", "Output blocked by content filtering policy"),
      kind: "content-filtered",
    },
    { name: "internal", status: 500, body: anthropic("api_error", "Internal server error"), kind: "unavailable" },
    { name: "timeout", status: 504, body: anthropic("timeout_error"), kind: "unavailable" },
  ],
  gemini: [
    {
      name: "rate limit, its time in the body",
      status: 429,
      body: gemini(429, "RESOURCE_EXHAUSTED", "quota", [
        { "@type": "type.googleapis.com/google.rpc.QuotaFailure", violations: [] },
        { "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: "34.5s" },
      ]),
      kind: "rate-limited",
      retryAfterMs: 34_500,
    },
    {
      name: "rate limit, its time in the header and in the body",
      status: 429,
      headers: { "retry-after": "7" },
      body: gemini(429, "RESOURCE_EXHAUSTED", "quota", [
        { "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: "34.5s" },
      ]),
      kind: "rate-limited",
      retryAfterMs: 7000,
    },
    ...["9".repeat(400), SECONDS].map((seconds): Row => ({
      name: `rate limit, its time in the body beyond all numbers (${seconds.length} digits)`,
      status: 429,
      body: gemini(429, "RESOURCE_EXHAUSTED", "quota", [
        { "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: `${seconds}s` },
      ]),
      kind: "rate-limited",
    })),
    { name: "rate limit", status: 429, body: gemini(429, "RESOURCE_EXHAUSTED"), kind: "rate-limited" },
    {
      name: "bad key",
      status: 400,
      body: gemini(400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key.", [
        { "@type": "type.googleapis.com/google.rpc.ErrorInfo", reason: "API_KEY_INVALID", domain: "googleapis.com" },
      ]),
      kind: "unauthorized",
    },
    { name: "no permission", status: 403, body: gemini(403, "PERMISSION_DENIED"), kind: "unauthorized" },
    {
      name: "place",
      status: 400,
      body: gemini(400, "FAILED_PRECONDITION", "User location is not supported"),
      kind: "unauthorized",
    },
    {
      name: "bad request",
      status: 400,
      body: gemini(400, "INVALID_ARGUMENT", "bad schema"),
      kind: "invalid-request",
      detail: "bad schema",
    },
    { name: "unknown model", status: 404, body: gemini(404, "NOT_FOUND"), kind: "unknown-model" },
    {
      name: "context",
      status: 400,
      body: gemini(
        400,
        "INVALID_ARGUMENT",
        "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
      ),
      kind: "context-too-long",
    },
    { name: "internal", status: 500, body: gemini(500, "INTERNAL"), kind: "unavailable" },
    {
      name: "overloaded",
      status: 503,
      body: gemini(503, "UNAVAILABLE", "The model is overloaded."),
      kind: "unavailable",
    },
    { name: "deadline", status: 504, body: gemini(504, "DEADLINE_EXCEEDED"), kind: "unavailable" },
    {
      name: "in an array, as a stream's",
      status: 429,
      body: [gemini(429, "RESOURCE_EXHAUSTED")],
      kind: "rate-limited",
    },
  ],
}

for (const vendor of VENDOR_NAMES) {
  describe(`${vendor}: error responses`, () => {
    for (const row of ROWS[vendor]) {
      it.effect(`${row.status} ${row.name}: ${row.kind}`, () =>
        Effect.gen(function* () {
          yield* TestClock.setTime(0)
          const failure = yield* failureFrom(vendor, () =>
            json(row.body, { status: row.status, headers: row.headers ?? {} }),
          )
          assert.strictEqual(failure.kind, row.kind)
          assert.strictEqual(failure.retryAfterMs, row.retryAfterMs)
          if (row.detail !== undefined) assert.strictEqual(detailOf(failure), row.detail)
          assert.strictEqual(failure.message, row.kind, "the message says no more than the kind")
        }),
      )
    }
  })
}

describe("no response", () => {
  const rows: ReadonlyArray<readonly [code: string | undefined, kind: FailureKind, detail: string]> = [
    ["ECONNREFUSED", "unreachable", "no answer (ECONNREFUSED)"],
    ["ENOTFOUND", "unreachable", "no answer (ENOTFOUND)"],
    ["EAI_AGAIN", "unreachable", "no answer (EAI_AGAIN)"],
    ["CERT_HAS_EXPIRED", "unreachable", "no answer (CERT_HAS_EXPIRED)"],
    ["UND_ERR_CONNECT_TIMEOUT", "connect-timeout", "no answer (UND_ERR_CONNECT_TIMEOUT)"],
    ["ETIMEDOUT", "connect-timeout", "no answer (ETIMEDOUT)"],
    ["ECONNRESET", "unavailable", "no answer (ECONNRESET)"],
    ["UND_ERR_SOCKET", "unavailable", "no answer (UND_ERR_SOCKET)"],
    ["HPE_INVALID_CONSTANT", "unavailable", "no answer (HPE_INVALID_CONSTANT)"],
    [undefined, "unavailable", "no answer"],
  ]
  for (const [code, kind, detail] of rows) {
    it.effect(`${code}: ${kind}`, () =>
      Effect.gen(function* () {
        const http = ProviderHttp.of({ post: () => Effect.fail(new ConnectionFailed({ code })) })
        for (const vendor of VENDOR_NAMES) {
          const { format, id, baseUrl, model } = VENDORS[vendor]
          const provider = yield* makeHttpProvider(format, {
            id,
            apiKey: Redacted.make("k"),
            baseUrl,
            defaultModel: model,
          }).pipe(Effect.provideService(ProviderHttp, http))
          for (const call of [provider.complete(request), Stream.runDrain(provider.stream(request))]) {
            const failure = yield* Effect.flip(call)
            assert.strictEqual(failure.kind, kind)
            assert.strictEqual(detailOf(failure), detail, "callers learn nothing of where it is")
            assert.strictEqual(failure.lasting === true, code === "ENOTFOUND" || code === "CERT_HAS_EXPIRED")
            assert.isString(failure.reason)
          }
        }
      }),
    )
  }

  for (const vendor of VENDOR_NAMES) {
    it.effect(`${vendor}: an answer that breaks off`, () =>
      Effect.gen(function* () {
        const cause = Object.assign(new Error("read 10.0.0.1"), { code: "ECONNRESET" })
        const broken = () => new ReadableStream({ pull: (controller) => controller.error(cause) })
        const { provider } = yield* canned(vendor, () => new Response(broken()))
        const failure = yield* Effect.flip(provider.complete(request))
        assert.strictEqual(failure.kind, "truncated")
        assert.strictEqual(detailOf(failure), "the answer broke off (ECONNRESET)")
      }),
    )
  }
})

describe("what a provider said", () => {
  for (const vendor of VENDOR_NAMES) {
    it.effect(`${vendor}: it is passed on at a length that is bounded, and without any piece of the key`, () =>
      Effect.gen(function* () {
        // The limit stands within the key, and within what stands for it.
        for (const before of [1985, 1988, 1997]) {
          const said = `${"x".repeat(before)}the-secret-key and more ${"y".repeat(2000)}`
          const failure = yield* failureFrom(vendor, () => json({ error: { message: said } }, { status: 400 }))
          const detail = detailOf(failure) ?? ""
          assert.match(detail, /^x+\[k/)
          assert.lengthOf(detail, 2000)
        }
      }),
    )
  }
})

describe("answers that are none", () => {
  for (const vendor of VENDOR_NAMES) {
    const garbled: Readonly<Record<string, () => Response>> = {
      "no JSON": () => json("{not json"),
      "another type": () => new Response("<html></html>", { headers: { "content-type": "text/html" } }),
      "another shape": () => json({ hello: "world" }),
      nothing: () => json(""),
    }
    for (const [name, response] of Object.entries(garbled)) {
      it.effect(`${vendor}: ${name} in place of an answer`, () =>
        Effect.gen(function* () {
          const { provider } = yield* canned(vendor, response)
          assert.strictEqual((yield* Effect.flip(provider.complete(request))).kind, "garbage")
        }),
      )
    }

    for (const data of ["{broken", "[]", '"text"', '{"choices":7,"candidates":7,"type":"message_start"}']) {
      it.effect(`${vendor}: the event ${data} after good ones`, () =>
        Effect.gen(function* () {
          const good = eventFixture(`${vendor}-stream`).slice(0, 2)
          const { provider } = yield* canned(vendor, () => events([...good, `data: ${data}\n\n`]))
          const chunks: Array<unknown> = []
          const failure = yield* provider.stream(request).pipe(
            Stream.runForEach((chunk) => Effect.sync(() => chunks.push(chunk))),
            Effect.flip,
          )
          assert.strictEqual(failure.kind, "garbage")
          assert.isAbove(chunks.length, 0, "what came before it was delivered")
        }),
      )
    }
  }
})

describe("errors inside a stream", () => {
  const rows: ReadonlyArray<{
    readonly vendor: Vendor
    readonly event: string
    readonly kind: FailureKind
    readonly detail: string
  }> = [
    {
      vendor: "openai",
      event: `data: ${JSON.stringify(openai("server_error", null, "the server had an error"))}\n\n`,
      kind: "unavailable",
      detail: "the server had an error",
    },
    {
      vendor: "openai",
      event: `data: ${JSON.stringify(openai("rate_limit_exceeded", null, "slow down"))}\n\n`,
      kind: "rate-limited",
      detail: "slow down",
    },
    {
      vendor: "openai",
      event: `event: error\ndata: {"message":"upstream died","code":502}\n\n`,
      kind: "unavailable",
      detail: "upstream died",
    },
    {
      vendor: "openai",
      event: `data: ${JSON.stringify({ id: "c", choices: [{ index: 0, delta: {}, finish_reason: "error", error: { code: 400, message: "maximum context length" } }] })}\n\n`,
      kind: "context-too-long",
      detail: "maximum context length",
    },
    ...["content_filter", "content_policy_violation"].map((code) => ({
      vendor: "openai" as const,
      event: `data: ${JSON.stringify({ error: { code, message: `${code} it is` } })}\n\n`,
      kind: "content-filtered" as const,
      detail: `${code} it is`,
    })),
    {
      vendor: "openai",
      event: `data: ${JSON.stringify(openai("server_error", "content_filter", "an error of the server, they say"))}\n\n`,
      kind: "content-filtered",
      detail: "an error of the server, they say",
    },
    {
      vendor: "openai",
      event: `data: ${JSON.stringify({ error: { code: "context_length_exceeded", message: "too long" } })}\n\n`,
      kind: "context-too-long",
      detail: "too long",
    },
    {
      vendor: "anthropic",
      event: `event: error\ndata: ${JSON.stringify(anthropic("overloaded_error", "Overloaded"))}\n\n`,
      kind: "unavailable",
      detail: "Overloaded",
    },
    {
      vendor: "anthropic",
      event: `event: error\ndata: ${JSON.stringify(anthropic("rate_limit_error", "slow down"))}\n\n`,
      kind: "rate-limited",
      detail: "slow down",
    },
    {
      vendor: "anthropic",
      event: `event: error\ndata: ${JSON.stringify(anthropic("invalid_request_error", "prompt is too long: 3 > 2"))}\n\n`,
      kind: "context-too-long",
      detail: "prompt is too long: 3 > 2",
    },
    {
      vendor: "gemini",
      event: `data: ${JSON.stringify(gemini(503, "UNAVAILABLE", "The model is overloaded."))}\r\n\r\n`,
      kind: "unavailable",
      detail: "The model is overloaded.",
    },
    {
      vendor: "gemini",
      event: `data: ${JSON.stringify(gemini(429, "RESOURCE_EXHAUSTED", "quota"))}\r\n\r\n`,
      kind: "rate-limited",
      detail: "quota",
    },
  ]
  for (const { vendor, event, kind, detail } of rows) {
    it.effect(`${vendor}: ${detail} is ${kind}`, () =>
      Effect.gen(function* () {
        for (const before of [[], eventFixture(`${vendor}-stream`).slice(0, 2)]) {
          const { provider } = yield* canned(vendor, () => events([...before, event]))
          const failure = yield* Effect.flip(Stream.runDrain(provider.stream(request)))
          assert.strictEqual(failure.kind, kind)
          assert.strictEqual(detailOf(failure), detail)
        }
      }),
    )
  }

  const names: ReadonlyArray<readonly [kind: FailureKind, names: ReadonlyArray<string>]> = [
    ["invalid-request", ["invalid_request_error", "BadRequestError", "INVALID_ARGUMENT", "OUT_OF_RANGE"]],
    ["unauthorized", ["authentication_error", "AuthenticationError", "invalid_api_key", "UNAUTHENTICATED"]],
    ["unauthorized", ["permission_error", "PermissionDeniedError", "PERMISSION_DENIED", "FAILED_PRECONDITION"]],
    ["unauthorized", ["billing_error", "billing_not_active", "billing_hard_limit_reached", "insufficient_quota"]],
    ["unauthorized", ["exceeded_current_quota_error"]],
    ["unknown-model", ["not_found_error", "NotFoundError", "NOT_FOUND"]],
    ["unknown-model", ["model_not_found", "model_decommissioned", "invalid_model"]],
    ["context-too-long", ["request_too_large", "context_length_exceeded", "exceed_context_size_error"]],
    ["content-filtered", ["content_filter", "content_policy_violation", "invalid_prompt", "moderation_blocked"]],
    ["content-filtered", ["ResponsibleAIPolicyViolation"]],
    ["rate-limited", ["rate_limit_error", "RateLimitError", "rate_limit_exceeded", "too_many_requests"]],
    ["rate-limited", ["RESOURCE_EXHAUSTED"]],
    ["unavailable", ["api_error", "timeout_error", "overloaded_error", "server_error", "InternalServerError"]],
    ["unavailable", ["ABORTED", "CANCELLED", "INTERNAL", "UNAVAILABLE", "DEADLINE_EXCEEDED"]],
  ]
  for (const [kind, known] of names) {
    it.effect.each(known)(`%s is ${kind}, whatever member has it, whatever the message says`, (name) =>
      Effect.gen(function* () {
        const said = kind === "unavailable" ? "too many requests, says the usage policy" : "the message"
        for (const error of [
          { type: name, message: said },
          { code: name, message: said, type: "error" },
          { status: name, message: said },
          { message: said, details: [{ reason: name }] },
        ]) {
          const { provider } = yield* canned("openai", () => json({ error }))
          assert.strictEqual((yield* Effect.flip(provider.complete(request))).kind, kind)
        }
      }),
    )
  }

  it.effect("a status in a body takes precedence over a name, a code over a type", () =>
    Effect.gen(function* () {
      for (const [error, kind] of [
        [{ code: 400, type: "server_error", message: "no" }, "invalid-request"],
        [{ code: "rate_limit_exceeded", type: "invalid_request_error", message: "no" }, "rate-limited"],
      ] as const) {
        const { provider } = yield* canned("openai", () => json({ error }))
        assert.strictEqual((yield* Effect.flip(provider.complete(request))).kind, kind)
      }
    }),
  )

  it.effect("openai: an error with status 200", () =>
    Effect.gen(function* () {
      const bodies: ReadonlyArray<readonly [body: unknown, kind: FailureKind]> = [
        [openai("upstream_error", 429, "try later"), "rate-limited"],
        [{ error: { code: "content_filter", message: "no" } }, "content-filtered"],
        [{ error: { code: "context_length_exceeded", message: "no" } }, "context-too-long"],
        [{ error: { code: "unheard_of", message: "no" } }, "unavailable"],
      ]
      for (const [body, kind] of bodies) {
        const { provider } = yield* canned("openai", () => json(body))
        assert.strictEqual((yield* Effect.flip(provider.complete(request))).kind, kind)
      }
    }),
  )
})

describe("limits", () => {
  for (const vendor of VENDOR_NAMES) {
    const recorded = eventFixture(`${vendor}-stream`)
    const endless = () => events(Array.from({ length: 10_000 }, () => recorded[1] ?? ""))
    const first = recorded[0] ?? ""

    it.effect(`${vendor}: each of them ends a stream as garbage`, () =>
      Effect.gen(function* () {
        const limited: ReadonlyArray<readonly [limits: object, response: () => Response, detail: string]> = [
          [
            { events: 50 },
            () => events([first, ...Array.from({ length: 10_000 }, () => recorded[1] ?? "")]),
            "50 events",
          ],
          [
            { responseBytes: 5000 },
            () => events([first, ...Array.from({ length: 10_000 }, () => ": wait\n\n")]),
            "5000 bytes",
          ],
          [
            { eventChars: 2000 },
            () => events([first, "data: ", ...Array.from({ length: 10_000 }, () => "x".repeat(100))]),
            "2000 characters",
          ],
        ]
        for (const [limits, response, detail] of limited) {
          const { provider } = yield* canned(vendor, response, { limits })
          const failure = yield* Effect.flip(Stream.runDrain(provider.stream(request)))
          assert.strictEqual(failure.kind, "garbage")
          assert.include(detailOf(failure), detail)
        }
      }),
    )

    it.effect(`${vendor}: a whole answer is read up to its limit`, () =>
      Effect.gen(function* () {
        const size = JSON.stringify(MINIMAL[vendor]).length
        const within = yield* canned(vendor, () => json(MINIMAL[vendor]), { limits: { responseBytes: size } })
        yield* within.provider.complete(request)
        const beyond = yield* canned(vendor, () => json(MINIMAL[vendor]), { limits: { responseBytes: size - 1 } })
        assert.strictEqual((yield* Effect.flip(beyond.provider.complete(request))).kind, "garbage")
      }),
    )

    it.effect(`${vendor}: an endless error body is left unread`, () =>
      Effect.gen(function* () {
        const { provider } = yield* canned(vendor, () => new Response(endless().body, { status: 500 }), {
          limits: { errorBytes: 1000 },
        })
        const failure = yield* Effect.flip(provider.complete(request))
        assert.strictEqual(failure.kind, "unavailable")
      }),
    )
  }
})
