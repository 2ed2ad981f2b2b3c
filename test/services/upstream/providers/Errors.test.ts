/** The classification of each vendor's errors. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Redacted, Stream } from "effect"
import { ConnectionFailed } from "../../../../src/services/upstream/HttpExchange.ts"
import { ProviderHttp } from "../../../../src/services/upstream/ProviderHttp.ts"
import { TestClock } from "effect/testing"
import type { FailureKind } from "../../../../src/domain/upstream/failures.ts"
import type { ProviderFailure } from "../../../../src/services/upstream/Provider.ts"
import { makeHttpProvider } from "../../../../src/services/upstream/providers/http/HttpProvider.ts"
import { canned, events, json, MINIMAL, type Vendor, VENDOR_NAMES, VENDORS } from "./support/Canned.ts"
import { eventFixture } from "./support/fixtures.ts"
import { REQUEST } from "./support/raw.ts"

const detailOf = (failure: ProviderFailure): string | undefined =>
  failure.detail === undefined ? undefined : Redacted.value(failure.detail)

/** The failure of a whole and of a streamed call, which must be the same. */
const failureFrom = Effect.fnUntraced(function* (vendor: Vendor, response: () => Response) {
  const { provider } = yield* canned(vendor, response)
  const whole = yield* Effect.flip(provider.complete(REQUEST))
  const streamed = yield* Effect.flip(Stream.runDrain(provider.stream(REQUEST)))
  assert.deepStrictEqual({ ...streamed }, { ...whole })
  return whole
})

/** An error response, and its expected failure. */
type Row = readonly [
  name: string,
  status: number,
  body: unknown,
  kind: FailureKind,
  more?: {
    readonly headers?: Readonly<Record<string, string>>
    readonly retryAfterMs?: number
    readonly detail?: string
  },
]

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

const SLOW_DOWN = openai("tokens", "rate_limit_exceeded")
const retryInfo = (retryDelay: string) =>
  gemini(429, "RESOURCE_EXHAUSTED", "quota", [
    { "@type": "type.googleapis.com/google.rpc.QuotaFailure", violations: [] },
    { "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay },
  ])
const [INVALID, MODEL] = ["invalid_request_error", "model_not_found"]
const SUSPENDED = "Account ours is suspended, possibly due to reaching the monthly spending limit."
const NO_CREDITS = "Your team 0a1b-2c has either used all available credits or reached its monthly spending limit."
const UNVERIFIED = "Your organization must be verified to stream this model. Please go to the settings."
const AGAINST_GUIDELINES = "Content violates usage guidelines. Team: 0a1b, Failed check: SAFETY_CHECK_TYPE_BIO"
const USAGE_LIMIT = "You have reached your specified API usage limits. You will regain access on 2026-12-01."
const WORKSPACE_LIMIT = USAGE_LIMIT.replace("API", "workspace API")
const SPENDING_CAP = "Your project has exceeded its monthly spending cap. Please go to AI Studio."
const TOO_LONG = [
  "Invalid request: Your request exceeded model token limit: 262144 (requested: 270000)",
  "<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 129024]",
  "Prompt exceeds max length",
  "Input is too long for requested model.",
  "prompt token count of 135355 exceeds the limit of 128000",
  "Input tokens exceed the configured limit of 272000 tokens.",
  "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 8740 `inputs` tokens and 500 `max_new_tokens`",
  "Input validation error: `inputs` must have less than 1024 tokens. Given: 1234",
  "max_tokens must be at least 1, got -186.",
]
/** OpenAI's words for a request that exceeds a limit per minute alone, or only with others. */
const perMinute = (requested: number) =>
  `Request too large for gpt-4o in organization org-1 on tokens per min (TPM): Limit 30000, Requested ${requested}. The input or output tokens must be reduced.`
/** Errors as OpenRouter passes them on. */
const RAW = [
  '{"message":"input length and `max_tokens` exceed context limit: 149674 + 64000 > 204658"}',
  { message: "Prompt exceeds max length" },
]
/** Codes and messages that only concern the abilities of a model or its server. */
const UNABLE: ReadonlyArray<readonly [code: string | null, message: string]> = [
  ["unsupported_value", "'temperature' does not support 0.2 with this model. Only the default (1) value is supported."],
  ["unsupported_parameter", "Unsupported parameter: 'top_p'."],
  ["OperationNotSupported", "The operation does not work with the model."],
  [null, "registry.ollama.ai/library/gemma:2b does not support tools"],
  [null, '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set'],
  [null, "Function calling is not enabled for models/gemma-3-27b-it"],
  [null, "adaptive thinking is not supported on this model"],
  ["invalid_encrypted_content", "The encrypted content for item rs_1 could not be verified."],
  [null, "messages.1.content.0: Invalid `signature` in `thinking` block"],
]
/** OpenRouter's words, if it has the model at no server that has an ability. */
const NO_ENDPOINT = [
  "No endpoints found that support tool use. To learn more about provider routing, visit: https://openrouter.ai/docs",
  "No endpoints found that can handle the requested parameters.",
]
/** Messages about members that the routing leaves out or renames. */
const ADAPTABLE = [
  "'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
  "'response_format' of type 'json_schema' is not supported with this model.",
]
const PAGE = { headers: { "content-type": "text/html" } }
const DAY_MS = 86_400_000

/** A number, whose thousandfold is none. */
const SECONDS = `1${"0".repeat(306)}`

/** The headers of a rate limit, and the pause that they ask for. */
const PAUSES: ReadonlyArray<readonly [headers: Readonly<Record<string, string>>, ms?: number]> = [
  [{ "retry-after": "20" }, 20_000],
  [{ "retry-after-ms": "1234", "retry-after": "2" }, 1234],
  [{ "retry-after": "86401" }, DAY_MS],
  [{ "retry-after-ms": "9".repeat(30) }, DAY_MS],
  [{ "retry-after": "Wed, 31 Dec 2031 23:59:59 GMT" }, DAY_MS],
  [{ "retry-after": "Thu, 01 Jan 1970 00:01:30 GMT" }, 90_000],
  [{ "retry-after": "Wed, 31 Dec 1969 23:59:59 GMT" }, 0],
  [{ "retry-after": "soon 2031" }],
  [{ "retry-after": "9".repeat(400) }],
  [{ "retry-after-ms": "9".repeat(400) }],
  [{ "retry-after": SECONDS }],
]

const ROWS: Readonly<Record<Vendor, ReadonlyArray<Row>>> = {
  openai: [
    ["rate limit", 429, openai("requests", "rate_limit_exceeded"), "rate-limited"],
    ...PAUSES.map(([headers, retryAfterMs]): Row => {
      const name = JSON.stringify(headers).slice(0, 60)
      return [
        name,
        429,
        SLOW_DOWN,
        "rate-limited",
        retryAfterMs === undefined ? { headers } : { headers, retryAfterMs },
      ]
    }),
    ["no such path, in FastAPI's words", 404, { detail: "Not Found" }, "misconfigured"],
    ["no such path, in Go's words", 404, { error: "404 page not found" }, "misconfigured"],
    ["no such path, in Azure's words", 404, { error: { code: "404", message: "Resource not found" } }, "misconfigured"],
    ["quota", 429, openai("insufficient_quota", "insufficient_quota"), "unauthorized"],
    ["overdue payment", 400, openai("Arrearage", "Arrearage", "Access denied"), "unauthorized"],
    ["more than a limit per minute", 429, openai("tokens", "rate_limit_exceeded", perMinute(45411)), "too-large"],
    ["the rest of a limit per minute", 429, openai("tokens", "rate_limit_exceeded", perMinute(546)), "rate-limited"],
    ["quota, by type", 429, openai("insufficient_quota", null), "unauthorized"],
    ["balance", 400, openai("error", null, "Insufficient Balance"), "unauthorized"],
    ["a suspended account", 412, { error: SUSPENDED }, "unauthorized"],
    ["a restricted organization", 400, openai(INVALID, "organization_restricted"), "unauthorized"],
    ["no credits", 429, { code: "Some resource has been exhausted", error: NO_CREDITS }, "unauthorized"],
    ["an organization that is not verified", 400, openai(INVALID, "unsupported_value", UNVERIFIED), "unauthorized"],
    ["content against the guidelines", 403, { code: "x", error: AGAINST_GUIDELINES }, "content-filtered"],
    ["bad key", 401, openai(INVALID, "invalid_api_key"), "unauthorized"],
    ["bad key as a bad request", 400, { code: "x", error: "Incorrect API key provided: sk***" }, "unauthorized"],
    ...["incorrect api key", "insufficient balance", NO_CREDITS].map((value): Row => {
      const message = `Invalid value: '${value}'. Supported values are: 'low' and 'high'.`
      return [`a quoted value: ${value}`, 400, openai(INVALID, "invalid_value", message), "invalid-request"]
    }),
    ["no balance", 402, openai("unknown_error", null), "unauthorized"],
    ["region", 403, openai("request_forbidden", "unsupported_country"), "unauthorized"],
    ["flagged", 403, openai("x", 403, "the model requires moderation and your input was flagged"), "content-filtered"],
    ...[400, 403, 404, 422].map((status): Row => ["unknown model", status, openai(INVALID, MODEL), "unknown-model"]),
    ["unknown model, by type", 400, openai("invalid_model", "1500"), "unknown-model"],
    ["a model that is no more", 400, openai(INVALID, "model_decommissioned"), "unknown-model"],
    ["a model that is gone", 410, { status: 410, title: "Gone", detail: "The model 'm' is gone" }, "unknown-model"],
    ["a model without an endpoint", 400, openai(INVALID, "model_not_available"), "unknown-model"],
    ["a model with terms", 400, openai(INVALID, "model_terms_required"), "unknown-model"],
    ...NO_ENDPOINT.map((message): Row => [message, 404, openai("x", 404, message), "incapable", { detail: message }]),
    ["an unknown model of OpenRouter", 404, openai("x", 404, "No endpoints found for m."), "unknown-model"],
    ...[
      "The provided model identifier is invalid.",
      "Model Not Exist",
      "The model `m` does not exist",
      "m is not a valid model ID",
      "Invalid model: m",
    ].map((message): Row => [`unknown model: ${message}`, 400, openai(INVALID, null, message), "unknown-model"]),
    [
      "words of a model far into a message, which may quote a prompt",
      400,
      openai(INVALID, null, `${"x".repeat(2000)} unknown model: model not found`),
      "invalid-request",
    ],
    [
      "a tool that does not exist, for a model that does",
      400,
      openai(INVALID, null, `the model may call tools\n${"x".repeat(300)} f does not exist`),
      "invalid-request",
    ],
    ["bad parameter", 400, openai(INVALID, null, "at most 2"), "invalid-request", { detail: "at most 2" }],
    ...UNABLE.map(([code, message]): Row => [
      `an inability: ${message}`,
      400,
      openai(INVALID, code, message),
      "incapable",
      { detail: message },
    ]),
    ...ADAPTABLE.map((message): Row => [
      `a member that can be adapted: ${message}`,
      400,
      openai(INVALID, "unsupported_parameter", message),
      "invalid-request",
    ]),
    ...["tool_use_failed", "json_validate_failed"].map((code): Row => [
      `output of the model that its server rejects: ${code}`,
      400,
      openai(INVALID, code, "Failed to call a function. Please adjust your prompt."),
      "broken",
    ]),
    ["unprocessable", 422, { detail: [{ msg: "bad" }] }, "invalid-request", { detail: '[{"msg":"bad"}]' }],
    ["context, by code", 400, openai(INVALID, "context_length_exceeded"), "context-too-long"],
    [
      "context, in words",
      400,
      { object: "error", message: "This model's maximum context length is 4096 tokens.", code: 400 },
      "context-too-long",
    ],
    ...TOO_LONG.map((message): Row => [
      `context: ${message}`,
      400,
      openai(INVALID, null, message),
      "context-too-long",
      { detail: message },
    ]),
    ["context, by Copilot's code", 400, openai("x", "model_max_prompt_tokens_exceeded"), "context-too-long"],
    ["a file that is too large", 400, openai(INVALID, null, "The file exceeds the limit of 20 MB."), "invalid-request"],
    ...RAW.map((raw): Row => [
      `context, behind a gateway: ${JSON.stringify(raw)}`,
      400,
      { error: { message: "Provider returned error", code: 400, metadata: { raw, provider_name: "Other" } } },
      "context-too-long",
      { detail: "Provider returned error" },
    ]),
    [
      "another error behind a gateway",
      400,
      { error: { message: "Provider returned error", code: 400, metadata: { raw: "no" } } },
      "invalid-request",
    ],
    ["context, of a local server", 400, openai("exceed_context_size_error", 400), "context-too-long"],
    [
      "too many tokens asked for is not the context",
      400,
      openai(INVALID, null, "max_tokens is too large: this model supports at most 4096 completion tokens"),
      "invalid-request",
    ],
    [
      "content filter",
      400,
      { error: { message: "x", code: "content_filter", innererror: { code: "ResponsibleAIPolicyViolation" } } },
      "content-filtered",
    ],
    ["policy", 400, openai(INVALID, "content_policy_violation"), "content-filtered"],
    ["server error", 500, openai("server_error", null), "unavailable"],
    ["overloaded", 503, openai("service_unavailable", null), "unavailable"],
    [
      "overloaded, with a time",
      503,
      openai("service_unavailable", null),
      "rate-limited",
      { headers: { "retry-after": "1.5" }, retryAfterMs: 1500 },
    ],
    ["request timeout", 408, openai("timeout", null), "unavailable"],
    [
      "a broken model server",
      424,
      { error: "Request failed during generation", error_type: "generation" },
      "unavailable",
    ],
    [
      "a caller's MCP server",
      424,
      {
        error: {
          message: "Error retrieving tool list",
          type: "external_connector_error",
          param: "tools",
          code: "http_error",
        },
      },
      "invalid-request",
    ],
    ["an output limit of -1", 400, openai(INVALID, null, "max_tokens must be at least 1, got -1."), "invalid-request"],
    [
      "a response in two ways",
      400,
      openai(INVALID, null, "Mutually exclusive parameters: ['conversation', 'previous_response_id']"),
      "invalid-request",
    ],
    ["too large a body", 413, "", "too-large"],
    ["a plain text", 400, "Failed to parse", "invalid-request", { detail: "Failed to parse" }],
    ["a bare string", 404, { error: "model not found" }, "unknown-model", { detail: "model not found" }],
    ["a gateway's page", 502, "<html>Bad Gateway</html>", "unavailable", PAGE],
    ["a page in place of the API", 404, "<html>?</html>", "garbage", PAGE],
  ],
  anthropic: [
    [
      "rate limit",
      429,
      anthropic("rate_limit_error"),
      "rate-limited",
      { headers: { "retry-after": "7" }, retryAfterMs: 7000 },
    ],
    ["overloaded", 529, anthropic("overloaded_error", "Overloaded"), "unavailable"],
    [
      "overloaded, with a time",
      529,
      anthropic("overloaded_error"),
      "rate-limited",
      { headers: { "retry-after": "3" }, retryAfterMs: 3000 },
    ],
    ["bad key", 401, anthropic("authentication_error", "invalid x-api-key"), "unauthorized"],
    ["no permission", 403, anthropic("permission_error"), "unauthorized"],
    ["billing", 402, anthropic("billing_error"), "unauthorized"],
    ["balance", 400, anthropic(INVALID, "Your credit balance is too low to access the API."), "unauthorized"],
    ["usage limits", 400, anthropic(INVALID, USAGE_LIMIT), "unauthorized"],
    ["usage limits of a workspace", 400, anthropic(INVALID, WORKSPACE_LIMIT), "unauthorized"],
    [
      "an organization that is no more",
      400,
      anthropic(INVALID, "This organization has been disabled."),
      "unauthorized",
    ],
    ["unknown model", 404, anthropic("not_found_error", "model: m"), "unknown-model", { detail: "model: m" }],
    ["bad request", 400, anthropic(INVALID, "roles must alternate"), "invalid-request"],
    ["context", 400, anthropic(INVALID, "prompt is too long: 208310 tokens > 199999 maximum"), "context-too-long"],
    [
      "context, with the answer",
      400,
      anthropic(INVALID, "input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000"),
      "context-too-long",
    ],
    ["too large a body", 413, anthropic("request_too_large"), "too-large"],
    ["filtered", 400, anthropic(INVALID, "Output blocked by content filtering policy"), "content-filtered"],
    ["internal", 500, anthropic("api_error", "Internal server error"), "unavailable"],
    ["timeout", 504, anthropic("timeout_error"), "unavailable"],
  ],
  gemini: [
    ["rate limit", 429, gemini(429, "RESOURCE_EXHAUSTED"), "rate-limited"],
    ["rate limit, its time in the body", 429, retryInfo("34.5s"), "rate-limited", { retryAfterMs: 34_500 }],
    [
      "rate limit, its time in the header and in the body",
      429,
      retryInfo("34.5s"),
      "rate-limited",
      { headers: { "retry-after": "7" }, retryAfterMs: 7000 },
    ],
    ["rate limit, its time beyond all numbers", 429, retryInfo(`${"9".repeat(400)}s`), "rate-limited"],
    ["rate limit, its thousandfold time beyond all numbers", 429, retryInfo(`${SECONDS}s`), "rate-limited"],
    ["no credits", 429, gemini(429, "RESOURCE_EXHAUSTED", "Your prepayment credits are depleted."), "unauthorized"],
    ["spending cap", 429, gemini(429, "RESOURCE_EXHAUSTED", SPENDING_CAP), "unauthorized"],
    ["rate limit in an array, as a stream's", 429, [gemini(429, "RESOURCE_EXHAUSTED")], "rate-limited"],
    [
      "bad key",
      400,
      gemini(400, "INVALID_ARGUMENT", "API key not valid.", [
        { "@type": "type.googleapis.com/google.rpc.ErrorInfo", reason: "API_KEY_INVALID", domain: "googleapis.com" },
      ]),
      "unauthorized",
    ],
    ["no permission", 403, gemini(403, "PERMISSION_DENIED"), "unauthorized"],
    ["place", 400, gemini(400, "FAILED_PRECONDITION", "User location is not supported"), "unauthorized"],
    ["bad request", 400, gemini(400, "INVALID_ARGUMENT", "bad"), "invalid-request", { detail: "bad" }],
    ["unknown model", 404, gemini(404, "NOT_FOUND"), "unknown-model"],
    [
      "context",
      400,
      gemini(400, "INVALID_ARGUMENT", "The input token count (2) exceeds the maximum number of tokens allowed (1)."),
      "context-too-long",
    ],
    ["internal", 500, gemini(500, "INTERNAL"), "unavailable"],
    ["overloaded", 503, gemini(503, "UNAVAILABLE", "The model is overloaded."), "unavailable"],
    ["deadline", 504, gemini(504, "DEADLINE_EXCEEDED"), "unavailable"],
  ],
}

for (const vendor of VENDOR_NAMES) {
  describe(`${vendor}: error responses`, () => {
    it.effect.each(ROWS[vendor])(
      "%s, status %d",
      ([, status, body, kind, { detail, headers = {}, retryAfterMs } = {}]) =>
        Effect.gen(function* () {
          yield* TestClock.setTime(0)
          const failure = yield* failureFrom(vendor, () => json(body, { status, headers }))
          assert.strictEqual(failure.kind, kind)
          assert.strictEqual(failure.retryAfterMs, retryAfterMs)
          if (detail !== undefined) assert.strictEqual(detailOf(failure), detail)
          assert.strictEqual(failure.message, kind, "the message says no more than the kind")
        }),
    )
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
          for (const call of [provider.complete(REQUEST), Stream.runDrain(provider.stream(REQUEST))]) {
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
        const failure = yield* Effect.flip(provider.complete(REQUEST))
        assert.strictEqual(failure.kind, "truncated")
        assert.strictEqual(detailOf(failure), "the answer broke off (ECONNRESET)")
      }),
    )
  }
})

describe("a provider's error message", () => {
  for (const vendor of VENDOR_NAMES) {
    it.effect(`of ${vendor} is passed on with a bounded length, and without any part of the key`, () =>
      Effect.gen(function* () {
        // The limit falls within the key, and within its replacement.
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

describe("a garbled event", () => {
  it.effect.each(VENDOR_NAMES)("of %s ends a stream after the pieces before it", (vendor) =>
    Effect.gen(function* () {
      for (const data of ["{broken", "[]", '"text"', '{"choices":7,"candidates":7,"type":"message_start"}']) {
        const good = eventFixture(`${vendor}-stream`).slice(0, 2)
        const { provider } = yield* canned(vendor, () => events([...good, `data: ${data}\n\n`]))
        const chunks: Array<unknown> = []
        const failure = yield* provider.stream(REQUEST).pipe(
          Stream.runForEach((chunk) => Effect.sync(() => chunks.push(chunk))),
          Effect.flip,
        )
        assert.strictEqual(failure.kind, "garbage")
        assert.isAbove(chunks.length, 0)
      }
    }),
  )
})

describe("errors inside a stream", () => {
  const rows: ReadonlyArray<readonly [Vendor, detail: string, event: string, FailureKind]> = [
    ["openai", "upstream died", 'event: error\ndata: {"message":"upstream died","code":502}\n\n', "unavailable"],
    [
      "openai",
      "maximum context length",
      'data: {"choices":[{"delta":{},"finish_reason":"error","error":{"code":400,"message":"maximum context length"}}]}\n\n',
      "context-too-long",
    ],
    [
      "openai",
      "an error of the server, they say",
      `data: ${JSON.stringify(openai("server_error", "content_filter", "an error of the server, they say"))}\n\n`,
      "content-filtered",
    ],
    [
      "anthropic",
      "prompt is too long: 3 > 2",
      `event: error\ndata: ${JSON.stringify(anthropic(INVALID, "prompt is too long: 3 > 2"))}\n\n`,
      "context-too-long",
    ],
    ["gemini", "quota", `data: ${JSON.stringify(gemini(429, "RESOURCE_EXHAUSTED", "quota"))}\r\n\r\n`, "rate-limited"],
  ]
  it.effect.each(rows)("are recognized from %s: %s", ([vendor, detail, event, kind]) =>
    Effect.gen(function* () {
      for (const before of [[], eventFixture(`${vendor}-stream`).slice(0, 2)]) {
        const { provider } = yield* canned(vendor, () => events([...before, event]))
        const failure = yield* Effect.flip(Stream.runDrain(provider.stream(REQUEST)))
        assert.strictEqual(failure.kind, kind)
        assert.strictEqual(detailOf(failure), detail)
      }
    }),
  )

  const names: ReadonlyArray<readonly [kind: FailureKind, names: ReadonlyArray<string>]> = [
    ["invalid-request", ["invalid_request_error", "BadRequestError", "INVALID_ARGUMENT", "OUT_OF_RANGE"]],
    ["unauthorized", ["authentication_error", "AuthenticationError", "invalid_api_key", "UNAUTHENTICATED"]],
    ["unauthorized", ["permission_error", "PermissionDeniedError", "PERMISSION_DENIED", "FAILED_PRECONDITION"]],
    ["unauthorized", ["billing_error", "billing_not_active", "billing_hard_limit_reached", "insufficient_quota"]],
    ["unauthorized", ["exceeded_current_quota_error"]],
    ["unknown-model", ["not_found_error", "NotFoundError", "NOT_FOUND"]],
    ["unknown-model", ["model_not_found", "model_decommissioned", "invalid_model"]],
    ["too-large", ["request_too_large"]],
    ["context-too-long", ["context_length_exceeded", "exceed_context_size_error"]],
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
          assert.strictEqual((yield* Effect.flip(provider.complete(REQUEST))).kind, kind)
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
        assert.strictEqual((yield* Effect.flip(provider.complete(REQUEST))).kind, kind)
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
          const failure = yield* Effect.flip(Stream.runDrain(provider.stream(REQUEST)))
          assert.strictEqual(failure.kind, "garbage")
          assert.include(detailOf(failure), detail)
        }
      }),
    )

    it.effect(`${vendor}: a whole answer is read up to its limit`, () =>
      Effect.gen(function* () {
        const size = JSON.stringify(MINIMAL[vendor]).length
        const within = yield* canned(vendor, () => json(MINIMAL[vendor]), { limits: { responseBytes: size } })
        yield* within.provider.complete(REQUEST)
        const beyond = yield* canned(vendor, () => json(MINIMAL[vendor]), { limits: { responseBytes: size - 1 } })
        assert.strictEqual((yield* Effect.flip(beyond.provider.complete(REQUEST))).kind, "garbage")
      }),
    )

    it.effect(`${vendor}: an endless error body is left unread`, () =>
      Effect.gen(function* () {
        const { provider } = yield* canned(vendor, () => new Response(endless().body, { status: 500 }), {
          limits: { errorBytes: 1000 },
        })
        const failure = yield* Effect.flip(provider.complete(REQUEST))
        assert.strictEqual(failure.kind, "unavailable")
      }),
    )
  }
})
