/** `POST /v1/evidence` over HTTP, with a stand-in for each source. */
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { ConfigProvider, Duration, Effect, Redacted } from "effect"
import { decodeBase64Url, encodeBase64Url, utf8 } from "../../src/domain/bytes/bytes.ts"
import { bindingInput, leafInput } from "../../src/domain/protocol/evidence.ts"
import { parseStatement } from "../../src/domain/protocol/statement.ts"
import { sessionClaimsFrom } from "../../src/client/verification/claims.ts"
import { evidenceChecks } from "../../src/conformance/proxy/checks/evidence.ts"
import { runChecks } from "../../src/conformance/proxy/runChecks.ts"
import type { EvidenceProcess } from "../../src/layers/evidence/EvidenceMode.ts"
import { mustBeMeasured } from "../../src/layers/evidence/evidenceRefusals.ts"
import { proxyRules, proxySettings } from "../../src/layers/config/proxySettings.ts"
import { decodeSettings } from "../../src/layers/config/Setting.ts"
import { sha256 } from "../../src/services/sealing/sha256.ts"
import { MEASURED, startEvidenceProxy } from "../support/evidence/evidenceProxy.ts"
import {
  configfs,
  confidentialSpaceAnswers,
  dstackAnswers,
  quoteFor,
  socketServer,
  tokenFor,
} from "../support/evidence/standIns.ts"
import { readCddl } from "../support/grammar/cddl.ts"
import { startProxy, temporaryFolder } from "../support/proxy.ts"
import { INIT, jsonOf, post } from "../support/sealing.ts"

const bytesIn = (text: unknown): Buffer<ArrayBuffer> => Buffer.from(String(text), "base64url")

const NONCE = encodeBase64Url(sha256(utf8("a nonce")))

const evidenceOf = (url: string, nonce = NONCE) =>
  Effect.promise(async () => {
    const response = await post({ url }, "/v1/evidence", { nonce })
    return { status: response.status, body: await jsonOf(response) }
  })

/** The value that the report must contain if one client asked. */
const bindingOf = (kid: string, configuration: unknown) =>
  sha256(
    bindingInput(
      decodeBase64Url(kid) ?? new Uint8Array(0),
      sha256(bytesIn(configuration)),
      sha256(leafInput(decodeBase64Url(NONCE) ?? new Uint8Array(0))),
    ),
  )

const sessionClaims = (url: string) =>
  Effect.promise(async () => {
    const { attestation } = await jsonOf(await post({ url }, "/v1/init", INIT))
    // The statement is well-formed, and its claims an object.
    return sessionClaimsFrom(parseStatement(String(attestation))?.claims as Parameters<typeof sessionClaimsFrom>[0])
  })

describe("evidence mode", () => {
  it.live("answers 404 no-evidence without it, and offers sessions without a configuration", () =>
    Effect.gen(function* () {
      const { url } = yield* startProxy()
      const { body, status } = yield* evidenceOf(url)
      assert.deepStrictEqual([status, body["code"]], [404, "no-evidence"])
      assert.isUndefined((yield* sessionClaims(url)).configuration)
    }),
  )

  it.live("binds dstack's quote to key, configuration and nonce, and keeps its identity over restarts", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      yield* socketServer(join(folder, "dstack.sock"), dstackAnswers)
      const { kid, url } = yield* startEvidenceProxy(folder, { attest: "dstack" })
      const { body, status } = yield* evidenceOf(url)
      assert.deepStrictEqual([status, body["format"], body["kid"]], [200, "dstack", kid])
      const report = Buffer.from(String(body["report"]), "base64url")
      const binding = bindingOf(kid, body["configuration"])
      assert.deepStrictEqual(report.subarray(568), Buffer.concat([binding, Buffer.alloc(32)]))
      const collateral = JSON.parse(Buffer.from(String(body["collateral"]), "base64url").toString()) as unknown
      assert.deepStrictEqual(collateral, { event_log: "[]", app_compose: "{}" })
      const { configuration } = yield* sessionClaims(url)
      assert.strictEqual(configuration, encodeBase64Url(sha256(bytesIn(body["configuration"]))))
      assert.strictEqual((yield* startEvidenceProxy(folder, { attest: "dstack" })).kid, kid)
    }),
  )

  it.live("binds Confidential Space's token by exactly one nonce", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      yield* socketServer(join(folder, "tee.sock"), confidentialSpaceAnswers)
      const { kid, url } = yield* startEvidenceProxy(folder, { attest: "confidential-space" })
      const { body } = yield* evidenceOf(url)
      const token = Buffer.from(String(body["report"]), "base64url").toString()
      assert.strictEqual(token, tokenFor(encodeBase64Url(bindingOf(kid, body["configuration"]))))
      assert.notStrictEqual((yield* startEvidenceProxy(folder, { attest: "confidential-space" })).kid, kid)
    }),
  )

  for (const [what, answers] of [
    [
      "a quote for other data",
      { ...dstackAnswers, "/GetQuote": () => ({ quote: quoteFor("22".repeat(64)), event_log: "" }) },
    ],
    ["an answer of another shape", { ...dstackAnswers, "/GetQuote": () => ({ quote: 1 }) }],
    ["no JSON", { ...dstackAnswers, "/GetQuote": () => "oops" }],
    ["no app-compose", { ...dstackAnswers, "/Info": () => ({ tcb_info: "{}" }) }],
  ] as const) {
    it.live(`answers 503 when dstack gives ${what}`, () =>
      Effect.gen(function* () {
        const folder = yield* temporaryFolder
        yield* socketServer(join(folder, "dstack.sock"), answers)
        const { url } = yield* startEvidenceProxy(folder, { attest: "dstack" })
        const { body, status } = yield* evidenceOf(url)
        assert.deepStrictEqual([status, body["code"]], [503, "evidence-unavailable"])
        assert.isUndefined(body["report"])
      }),
    )
  }

  it.live("answers 503 when Confidential Space gives two nonces or another one, or its socket is dead", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const { url } = yield* startEvidenceProxy(folder, { attest: "confidential-space" })
      assert.strictEqual((yield* evidenceOf(url)).status, 503)
      let nonces: unknown = "another"
      yield* socketServer(join(folder, "tee.sock"), {
        "/v1/token": ({ nonces: [asked] = [] }) => tokenFor(nonces === 2 ? [asked, asked] : "another"),
      })
      assert.strictEqual((yield* evidenceOf(url)).status, 503)
      nonces = 2
      assert.strictEqual((yield* evidenceOf(url)).status, 503)
    }),
  )

  for (const [provider, format, at] of [
    ["tdx_guest", "tdx", 568],
    ["sev_guest", "sev-snp", 80],
  ] as const) {
    it.live(`binds the report of ${provider}, and passes the kit's checks of evidence`, () =>
      Effect.gen(function* () {
        const files = configfs(provider, at)
        const { kid, url } = yield* startEvidenceProxy(yield* temporaryFolder, { attest: "tsm" }, files)
        const { body } = yield* evidenceOf(url)
        assert.strictEqual(body["format"], format)
        const report = Buffer.from(String(body["report"]), "base64url")
        assert.deepStrictEqual(report.subarray(at, at + 32), Buffer.from(bindingOf(kid, body["configuration"])))
        assert.strictEqual(files.entries.size, 0)
        const { results } = yield* runChecks({ url: new URL(url), pins: [kid], credential: "" }, evidenceChecks, {
          limit: Duration.seconds(20),
        })
        assert.deepStrictEqual(
          results.map(({ outcome }) => outcome),
          ["pass", "pass", "pass", "pass"],
        )
      }),
    )
  }

  for (const [what, files] of [
    ["the entry of another process, whose generation jumped", configfs("tdx_guest", 568, 1)],
    ["a report for other data", configfs("tdx_guest", 500)],
    ["the report of an unknown provider", configfs("cca_guest", 568)],
  ] as const) {
    it.live(`answers 503 when the kernel gives ${what}`, () =>
      Effect.gen(function* () {
        const { url } = yield* startEvidenceProxy(yield* temporaryFolder, { attest: "tsm" }, files)
        assert.strictEqual((yield* evidenceOf(url)).status, 503)
        assert.strictEqual(files.entries.size, 0)
      }),
    )
  }

  it.live("answers as the grammar says", () =>
    Effect.gen(function* () {
      const { url } = yield* startEvidenceProxy(yield* temporaryFolder, { attest: "tsm" }, configfs("tdx_guest", 568))
      const cddl = readCddl(readFileSync("docs/protocol/sealed.cddl", "utf8"))
      assert.isUndefined(cddl.fault("evidence-request", { nonce: NONCE }))
      assert.isUndefined(cddl.fault("evidence-answer", (yield* evidenceOf(url)).body))
    }),
  )

  it.live("refuses a nonce of another length than 32 bytes", () =>
    Effect.gen(function* () {
      const { url } = yield* startProxy()
      for (const nonce of ["", "AAAA", `${NONCE}AAAA`, `${NONCE}=`]) {
        assert.strictEqual((yield* evidenceOf(url, nonce)).status, 400, nonce)
      }
    }),
  )

  it.live("binds providers, their addresses, telemetry and Node's flags, and no secrets, in the configuration", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      yield* socketServer(join(folder, "dstack.sock"), dstackAnswers)
      const settings = {
        attest: "dstack",
        provider1ApiKey: Redacted.make("sk-canary"),
        provider1BaseUrl: new URL("https://user:canary@llm.example/v1?key=canary"),
        httpsProxy: Redacted.make("http://me:canary@proxy.example:3128"),
        otlpEndpoint: new URL("https://otel.example"),
      } as const
      const { url } = yield* startEvidenceProxy(folder, settings)
      const text = bytesIn((yield* evidenceOf(url)).body["configuration"]).toString()
      assert.notInclude(text, "canary")
      const configuration = JSON.parse(text) as Record<string, unknown>
      assert.deepInclude(configuration, { telemetry: ["https://otel.example/"], asks_for_credentials: false })
      assert.include(text, '"base_url":"https://llm.example/v1"')
      assert.include(text, '"https":"http://proxy.example:3128/"')
      assert.include(text, '"flags":["--disable-sigusr1"]')
      assert.match(String(configuration["software_digest"]), /^[\w-]{43}$/)
      const other = yield* startEvidenceProxy(folder, {
        ...settings,
        provider1BaseUrl: new URL("https://evil.example/v1"),
      })
      assert.notStrictEqual((yield* sessionClaims(other.url)).configuration, (yield* sessionClaims(url)).configuration)
    }),
  )
})

describe("evidence mode refuses to start", () => {
  const reasons = (
    mode: "tsm" | "confidential-space",
    facts: typeof EvidenceProcess.Service,
    env: Record<string, string> = {},
  ) =>
    Effect.flip(mustBeMeasured(mode, facts)).pipe(
      Effect.provideService(ConfigProvider.ConfigProvider, ConfigProvider.fromEnvRecord(env)),
      Effect.map((error) => error.message),
    )

  for (const [what, facts, expected] of [
    ...[
      "NODE_OPTIONS",
      "NODE_TLS_REJECT_UNAUTHORIZED",
      "NODE_USE_SYSTEM_CA",
      "SSL_CERT_FILE",
      "OPENSSL_CONF",
      "LD_PRELOAD",
    ].map((name) => [`with ${name}`, { ...MEASURED, env: { [name]: "x" } }, new RegExp(`${name}: is set`)] as const),
    ["with an inspector", { ...MEASURED, execArgv: ["--disable-sigusr1", "--inspect=0"] }, /inspector can read/],
    [
      "with Node's --env-file",
      { ...MEASURED, execArgv: ["--disable-sigusr1", "--env-file=x"] },
      /outside the measured image/,
    ],
    ["when SIGUSR1 could open an inspector", { env: {}, execArgv: [] }, /--disable-sigusr1/],
  ] as const) {
    it.effect(what, () => Effect.map(reasons("tsm", facts), (message) => assert.match(message, expected)))
  }

  it.effect(
    "except with variables of Node's images and Kubernetes, and with an extra authority that the evidence shows",
    () => {
      const env = {
        NODE_VERSION: "26.0.0",
        NODE_ENV: "production",
        NODE_EXTRA_CA_CERTS: "/ca.pem",
        NODE_OPTIONS: "",
        NODE_NAME: "node-1",
        NODE_EXPORTER_SERVICE_HOST: "10.0.0.1",
        NODE_EXPORTER_SERVICE_PORT_METRICS: "9100",
        NODE_EXPORTER_PORT_9100_TCP: "tcp://10.0.0.1:9100",
      }
      return mustBeMeasured("tsm", { ...MEASURED, env }).pipe(
        Effect.provideService(ConfigProvider.ConfigProvider, ConfigProvider.fromEnvRecord({})),
      )
    },
  )

  it.effect("with a secret in the environment of Confidential Space", () => {
    const env = {
      PROVIDER1_API_KEY: "sk-canary",
      // Read only with PROVIDER_FROM_ENV, but published all the same.
      OPENAI_API_KEY: "sk-canary",
      PROVIDER2_BASE_URL: "https://me:canary@llm.example/v1",
      OPENAI_BASE_URL: "https://llm.example/v1?key=canary",
      JWT_SECRET: "canary".repeat(8),
      OPERATOR_TOKEN: "canary".repeat(8),
      REDIS_URL: "redis://:canary@redis.example:6379",
      https_proxy: "http://me:canary@proxy.example:3128",
      OTEL_EXPORTER_OTLP_HEADERS: "authorization=canary",
    }
    return Effect.map(reasons("confidential-space", { ...MEASURED, env }), (message) => {
      for (const name of Object.keys(env)) assert.include(message, `${name}: would be readable`)
      assert.notInclude(message, "canary")
    })
  })

  it.effect("except for settings there that are no secrets", () => {
    const env = { PROVIDER1_BASE_URL: "https://llm.example/v1", OPENAI_MODEL: "gpt", LOG_LEVEL: "debug", PORT: "3001" }
    return mustBeMeasured("confidential-space", { ...MEASURED, env }).pipe(
      Effect.provideService(ConfigProvider.ConfigProvider, ConfigProvider.fromEnvRecord({})),
    )
  })

  it.effect("with a file of providers, which may change", () =>
    Effect.map(reasons("tsm", MEASURED, { PROVIDERS_FILE: "/providers.json" }), (message) =>
      assert.match(message, /PROVIDERS_FILE: can change while the proxy runs/),
    ),
  )

  it.effect("with an identity key from outside", () =>
    decodeSettings(proxySettings, { rules: proxyRules }).pipe(
      Effect.provideService(
        ConfigProvider.ConfigProvider,
        ConfigProvider.fromEnvRecord({ ATTEST: "tsm", ATTESTATION_KEY_FILE: "/keys/mine.pem" }),
      ),
      Effect.flip,
      Effect.map((error) => assert.match(error.message, /ATTESTATION_KEY_FILE: is set together with ATTEST/)),
    ),
  )
})
