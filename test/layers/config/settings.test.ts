/** Decodes settings from the environment, and reports mistakes. */
import { readdirSync } from "node:fs"
import { assert, describe, it } from "@effect/vitest"
import { ConfigProvider, Duration, Effect, Option, Redacted, Schema } from "effect"
import { IpNetwork } from "effect/net"
import { encodeBase64Url } from "../../../src/domain/bytes/bytes.ts"
import { RoutingSettings } from "../../../src/domain/routing/routing.ts"
import { routingTagBytes } from "../../../src/domain/protocol/routingTag.ts"
import { proxySettings } from "../../../src/layers/config/proxySettings.ts"
import type { ConfigurationMistakes } from "../../../src/domain/problems/configuration.ts"
import { decodeSettings } from "../../../src/layers/config/Setting.ts"
import { upstreamSettings } from "../../../src/layers/config/upstreamSettings.ts"
import { Gateway } from "../../../src/layers/Gateway.ts"
import { SealedProxy } from "../../../src/layers/Proxy.ts"
import { policyOf } from "../../../src/layers/Providers.ts"
import { defaultSettings } from "../../../src/services/routing/DefaultSettings.ts"
import { defaultUpstreamSettings } from "../../../src/services/upstream/UpstreamSettings.ts"
import { run } from "../../support/processes.ts"

type Environment = Readonly<Record<string, string>>

const inEnvironment = (env: Environment) =>
  Effect.provideService(ConfigProvider.ConfigProvider, ConfigProvider.fromEnvRecord(env))

const decode = (env: Environment) => inEnvironment(env)(decodeSettings(proxySettings))

const SECRET = "sk-very-secret"
const TOKEN_SECRET = "a secret of at least thirty-two bytes"

describe("settings", () => {
  it.effect("have their documented defaults, also if variables are empty or blank", () =>
    Effect.gen(function* () {
      const defaults = yield* decode({})
      assert.strictEqual(defaults.maxRequestBytes, 12 * 1_048_576)
      assert.strictEqual(Duration.toSeconds(defaults.firstTokenTimeout), 60)
      const gateway = yield* inEnvironment({ JWT_SECRET: TOKEN_SECRET })(Gateway.settings())
      assert.strictEqual(gateway.maxRequestBytes, 1_048_576)
      assert.strictEqual(Duration.toSeconds(gateway.firstTokenTimeout), 120)
      assert.deepStrictEqual(policyOf(defaults), defaultUpstreamSettings)
      assert.deepInclude(defaults, { provider1ApiKey: undefined, tlsCertFile: undefined, trustedProxies: [] })
      const empty = Object.values(proxySettings).flatMap(({ aliases, variable }) =>
        [variable, ...aliases].map((name, index): [string, string] => [name, index % 2 === 0 ? "" : "  "]),
      )
      assert.deepStrictEqual(yield* decode(Object.fromEntries(empty)), defaults)
    }),
  )

  it.effect("accept the usual forms of durations, sizes, networks and words", () =>
    Effect.gen(function* () {
      for (const [text, millis] of [
        ["300", 300_000],
        ["300s", 300_000],
        ["0.5s", 500],
        ["1.005s", 1005],
        ["500ms", 500],
        ["5m", 300_000],
        ["5min", 300_000],
        ["5 minutes", 300_000],
        ["1h", 3_600_000],
        [" 7s ", 7_000],
      ] as const) {
        assert.strictEqual(Duration.toMillis((yield* decode({ SESSION_TTL: text })).sessionTtl), millis, text)
      }
      for (const [text, bytes] of [
        ["1048576", 1_048_576],
        ["64 KiB", 65_536],
        ["2MB", 2_000_000],
        ["1mib", 1_048_576],
      ] as const) {
        assert.strictEqual((yield* decode({ MAX_REQUEST_BYTES: text })).maxRequestBytes, bytes, text)
      }
      const { logLevel, tlsMinVersion, trustedProxies } = yield* decode({
        LOG_LEVEL: "DEBUG",
        TLS_MIN_VERSION: "tlsv1.3",
        TRUSTED_PROXIES: "10.0.0.0/8, 192.0.2.7,2001:db8::/32 , ::1,::ffff:10.0.0.1,::ffff:10.1.0.0/112",
      })
      assert.strictEqual(logLevel, "debug")
      assert.strictEqual(tlsMinVersion, "TLSv1.3")
      assert.deepStrictEqual(
        trustedProxies.map((network) => IpNetwork.format(network)),
        ["10.0.0.0/8", "192.0.2.7/32", "2001:db8::/32", "::1/128", "10.0.0.1/32", "10.1.0.0/16"],
      )
    }),
  )

  it.effect("are accepted up to their bounds", () =>
    Effect.gen(function* () {
      const takes = (variable: string, text: string) =>
        Effect.map(Effect.option(decode({ [variable]: text })), Option.isSome)
      const most = String(Number.MAX_SAFE_INTEGER)
      const beyond = "9007199254740992"
      const bounds: ReadonlyArray<
        readonly [variable: string, taken: ReadonlyArray<string>, not: ReadonlyArray<string>]
      > = [
        // Zero is no valid size: it would refuse every body, answer and reader.
        [
          "MAX_REQUEST_BYTES",
          ["1", "1B", "1kb", most],
          ["0", "0MiB", "00", "-1", "0.5MiB", "1TiB", "1e3", "MiB", beyond],
        ],
        ["MAX_BODY_MEMORY", ["1", most], ["0", "0 kB", beyond, `${most}kB`]],
        ["MAX_ANSWER_MEMORY", ["1", most], ["0", "0 kB", beyond]],
        ["WRITE_MIN_RATE", ["1", most], ["0", beyond]],
        ["MAX_CONNECTIONS", ["1", "1000000"], ["0", "1000001"]],
        ["MAX_CONNECTIONS_PER_CLIENT", ["1", "1000000"], ["0", "1000001"]],
        ["MAX_CONCURRENT_PER_CLIENT", ["0", "1000000"], ["1000001", "-1", "+1"]],
        ["RATE_LIMIT_READ", ["0", "1000000000"], ["1000000001", "0.5"]],
        ["RATE_LIMIT_PROBES", ["0", "1000000000"], ["1000000001"]],
        ["SESSION_MAX_REQUESTS", ["1", "65536"], ["0", "65537"]],
        ["SESSION_MAX_LIVE", ["1", "1000000"], ["0", "1000001"]],
        ["PORT", ["0", "65535"], ["65536"]],
        ["WRITE_TIMEOUT", ["1ms", "24d"], ["0", "0ms", "2073600001ms"]],
        // The libraries throw for the others: nothing would be shared, and no provider called.
        [
          "REDIS_URL",
          ["redis://localhost", "redis://localhost/", "REDISS://user:p%23s@[::1]:6380/15"],
          [
            "redis:6379",
            "redis://localhost/cache",
            "redis://localhost/0/1",
            "redis://:100%@localhost",
            "redis://%zz@a",
          ],
        ],
        [
          "HTTPS_PROXY",
          ["proxy:3128", "http://proxy:3128/", "https://user:p%23s@proxy"],
          ["http://user:100%@proxy", "http://%zz@proxy", "http://proxy/path", "http://proxy?a", "http://proxy#a"],
        ],
        // A value that no header can carry would fail each call, as if the provider could not be reached.
        ["PROVIDER1_API_KEY", ["sk-1", " sk-1\n"], ["sk\n1", "sk 1", "clé", "sk\u0000"]],
      ]
      for (const [variable, taken, not] of bounds) {
        for (const text of taken) assert.isTrue(yield* takes(variable, text), `${variable}=${text}`)
        for (const text of not) assert.isFalse(yield* takes(variable, text), `${variable}=${text}`)
      }
    }),
  )

  it.effect("accept hosts and origins in their usual forms only", () =>
    Effect.gen(function* () {
      const defaults = yield* decode({})
      assert.deepStrictEqual([defaults.allowedHosts, defaults.allowedOrigins], [undefined, []])
      const { allowedHosts, allowedOrigins } = yield* decode({
        ALLOWED_HOSTS: "sealgate.example.com, my_host,10.0.0.7,[2001:db8::1],::1 ,*",
        ALLOWED_ORIGINS:
          "https://app.example.com/, HTTP://Localhost:5173,https://a.example:443,chrome-extension://abc/",
      })
      assert.deepStrictEqual(allowedHosts, ["sealgate.example.com", "my_host", "10.0.0.7", "2001:db8::1", "::1", "*"])
      assert.deepStrictEqual(allowedOrigins, [
        "https://app.example.com",
        "http://localhost:5173",
        "https://a.example",
        "chrome-extension://abc",
      ])
      for (const text of ["a.example:443", "[::1]:80", "http://a.example", "a/b", "a b", "*.example.com", "[a]", "é"]) {
        const { message } = yield* Effect.flip(decode({ ALLOWED_HOSTS: `localhost,${text}` }))
        assert.include(message, "ALLOWED_HOSTS: expected host names or addresses without ports", text)
      }
      for (const text of [
        "*",
        "null",
        "app.example.com",
        "https://a.example/b",
        "https://u@a.example",
        "https://a?b",
      ]) {
        const { message } = yield* Effect.flip(decode({ ALLOWED_ORIGINS: text }))
        assert.include(message, "ALLOWED_ORIGINS: expected origins of web pages", text)
      }
    }),
  )

  it.effect("read vendors' names only with PROVIDER_FROM_ENV, and prefer their own names", () =>
    Effect.gen(function* () {
      const keyOf = (env: Readonly<Record<string, string>>) =>
        Effect.map(decode(env), ({ provider1ApiKey }) =>
          provider1ApiKey === undefined ? undefined : Redacted.value(provider1ApiKey),
        )
      // A shell has them set for other programs.
      assert.strictEqual(yield* keyOf({ OPENAI_API_KEY: "theirs" }), undefined)
      const asked = { OPENAI_API_KEY: "theirs", PROVIDER_FROM_ENV: "1" }
      assert.strictEqual(yield* keyOf(asked), "theirs")
      assert.strictEqual(yield* keyOf({ ...asked, PROVIDER1_API_KEY: "ours" }), "ours")
      assert.strictEqual(yield* keyOf({ ...asked, PROVIDER1_API_KEY: "" }), "theirs")
      const { provider3ApiKey, provider4ApiKey } = yield* decode({
        ANTHROPIC_API_KEY: "3",
        GOOGLE_API_KEY: "4",
        PROVIDER_FROM_ENV: "on",
      })
      assert.isDefined(provider3ApiKey)
      assert.isDefined(provider4ApiKey)
    }),
  )

  it.effect("accept only unambiguous routing tags", () =>
    Effect.gen(function* () {
      assert.strictEqual((yield* decode({})).routingTag, undefined)
      for (const tag of ["pxy1", "0000", "zzzz"]) {
        assert.strictEqual((yield* decode({ ROUTING_TAG: tag })).routingTag, tag)
        assert.strictEqual(encodeBase64Url(routingTagBytes(tag)), tag)
      }
      for (const tag of ["pxy", "pxy12", "PXY1", "px-1", "px_1", "px 1", "p\nx1", "pxÿ1", "*.*;"]) {
        yield* Effect.flip(decode({ ROUTING_TAG: tag }))
        assert.throws(() => routingTagBytes(tag))
      }
    }),
  )

  it.effect("do not show their secrets", () =>
    Effect.gen(function* () {
      const settings = yield* decode({ PROVIDER1_API_KEY: SECRET, REDIS_URL: `redis://:${SECRET}@localhost` })
      assert.notInclude(JSON.stringify(settings), SECRET)
      assert.notInclude(String(settings.provider1ApiKey), SECRET)
    }),
  )

  it.effect("report all mistakes at once, with what was expected but without the values", () =>
    Effect.gen(function* () {
      const wrong = {
        PORT: "70000",
        SESSION_TTL: "soon",
        SESSION_MAX_REQUESTS: "0",
        MAX_REQUEST_BYTES: "-1",
        RATE_LIMIT_INIT: "1e3",
        TRUSTED_PROXIES: "10.0.0.0/33",
        PROVIDER1_BASE_URL: `ftp://user:${SECRET}@example.com`,
        REDIS_URL: `http://:${SECRET}@example.com`,
        PROVIDER_ORDER: "1,1",
        LOG_LEVEL: "chatty",
        TLS_MIN_VERSION: "1.1",
        SHUTDOWN_GRACE: "0",
        ROUTING_TAG: "Pxy1",
      }
      const mistakes = yield* Effect.flip(decode(wrong))
      assert.sameMembers(
        mistakes.mistakes.map(({ variable }) => variable),
        Object.keys(wrong),
      )
      assert.include(mistakes.message, "13 mistakes")
      for (const { problem } of mistakes.mistakes) assert.match(problem, /^expected /)
      for (const value of [...Object.values(wrong), SECRET].filter((text) => text.length > 3)) {
        assert.notInclude(mistakes.message, value)
      }
      const one = yield* Effect.flip(decode({ PORT: "x" }))
      assert.strictEqual(
        one.message,
        "The configuration has a mistake:\n  PORT: expected a whole number from 0 to 65535",
      )
    }),
  )

  it.effect("refuse base URLs with query or fragment, to which no endpoint can be appended", () =>
    Effect.gen(function* () {
      const expected = [{ variable: "PROVIDER1_BASE_URL", problem: "expected a URL without query and fragment" }]
      for (const end of ["?account=b&x=", "?", "#", "/?#x"]) {
        const env = {
          JWT_SECRET: TOKEN_SECRET,
          PROVIDER1_API_KEY: SECRET,
          PROVIDER1_BASE_URL: `https://relay.example/v1${end}`,
        }
        assert.deepStrictEqual((yield* Effect.flip(decode(env))).mistakes, expected)
        assert.deepStrictEqual((yield* Effect.flip(inEnvironment(env)(Gateway.settings()))).mistakes, expected)
      }
    }),
  )

  it.effect("refuse a sample's placeholder", () =>
    Effect.gen(function* () {
      const placeholders = {
        JWT_SECRET: "replace-me-with-at-least-32-random-bytes",
        PROVIDER1_API_KEY: "Replace-Me",
      }
      const { mistakes } = yield* Effect.flip(inEnvironment(placeholders)(Gateway.settings()))
      assert.deepStrictEqual(mistakes.map(({ variable }) => variable).sort(), Object.keys(placeholders))
      for (const { problem } of mistakes) assert.include(problem, "is still a placeholder")
    }),
  )

  it.effect("limit waits to the range of timers, but not retention", () =>
    Effect.gen(function* () {
      const graceOf = (text: string) =>
        Effect.map(decode({ SHUTDOWN_GRACE: text }), ({ shutdownGrace }) => Duration.toMillis(shutdownGrace))
      assert.strictEqual(yield* graceOf("1ms"), 1)
      assert.strictEqual(yield* graceOf("24d"), 2_073_600_000)
      for (const text of ["0.5ms", "1.5ms", "100 micros", "2147483648ms", "30d", "Infinity"]) {
        const { mistakes } = yield* Effect.flip(graceOf(text))
        assert.deepStrictEqual(
          mistakes.map(({ problem }) => problem),
          ["expected a duration of whole milliseconds from 1ms to 24d, such as 300, 300s or 5 minutes"],
          text,
        )
      }
      const retention = inEnvironment({ JWT_SECRET: TOKEN_SECRET, JOB_RETENTION: "365d" })(Gateway.settings())
      assert.strictEqual(Duration.toDays((yield* retention).jobRetention), 365)
    }),
  )

  it.effect("always give a routing configuration that the API can show", () =>
    Effect.gen(function* () {
      const texts = ["0", "1", "5", "10", "1000", "1000000", "1ms", "0.5ms", "10min", "1h", "61min", "24d", "30d"]
      const taken: Record<string, Array<string>> = {}
      const settings = upstreamSettings({ firstTokenTimeout: "60s", traceHeaders: "off" })
      for (const { variable } of Object.values(settings).filter(({ variable }) => variable.startsWith("UPSTREAM_"))) {
        for (const text of texts) {
          const decoded = yield* Effect.option(inEnvironment({ [variable]: text })(decodeSettings(settings)))
          if (Option.isNone(decoded)) continue
          ;(taken[variable] ??= []).push(text)
          const routing = defaultSettings(
            [{ provider: "provider1", offers: [{ name: "m" }] }],
            policyOf(decoded.value),
            0,
          )
          yield* Effect.orDie(Schema.encodeEffect(RoutingSettings)(routing))
        }
      }
      const { UPSTREAM_CIRCUIT_FAILURES, UPSTREAM_RETRIES, UPSTREAM_TOTAL_TIMEOUT } = taken
      assert.deepStrictEqual(UPSTREAM_RETRIES, ["0", "1", "5"])
      assert.deepStrictEqual(UPSTREAM_CIRCUIT_FAILURES, ["1", "5", "10", "1000"])
      assert.deepStrictEqual(UPSTREAM_TOTAL_TIMEOUT, ["1", "5", "10", "1000", "1ms", "10min", "1h"])
    }),
  )

  it.effect("are also checked in combination, in the same report", () =>
    Effect.gen(function* () {
      const blamed = <E extends { readonly mistakes: ReadonlyArray<{ readonly variable: string }> }>(
        settings: Effect.Effect<unknown, E>,
        env: Environment,
      ) => Effect.map(Effect.flip(inEnvironment(env)(settings)), (error) => error.mistakes.map((each) => each.variable))
      const gateway = (env: Environment) => blamed(Gateway.settings(), env)
      assert.deepStrictEqual(yield* gateway({ PORT: "abc", TLS_CERT_FILE: "/x" }), [
        "PORT",
        "TLS_KEY_FILE",
        "JWT_SECRET",
      ])
      // The driver reports these as a database that does not answer.
      for (const url of ["postgres://u:100%@h/d", "postgres://%zz@h/d", "postgresql://h/100%"]) {
        assert.deepStrictEqual(yield* gateway({ DATABASE_URL: url, JWT_SECRET: TOKEN_SECRET }), ["DATABASE_URL"], url)
      }
      // A setting that cannot be decoded is reported for that alone.
      assert.deepStrictEqual(yield* gateway({ JWT_SECRET: "short" }), ["JWT_SECRET"])
      const two = { JWT_JWKS_FILE: "/x", JWT_JWKS_URL: "http://keys.example.com", TLS_CLIENT_CA_FILE: "/x" }
      assert.deepStrictEqual(yield* gateway(two), ["TLS_CERT_FILE", "TLS_KEY_FILE", "JWT_JWKS_FILE", "JWT_JWKS_URL"])
      const sizes = (maxBodyMemory: string) => ({ MAX_REQUEST_BYTES: "1000", MAX_BODY_MEMORY: maxBodyMemory })
      assert.deepStrictEqual(yield* blamed(SealedProxy.settings(), sizes("999")), ["MAX_BODY_MEMORY"])
      assert.deepStrictEqual(yield* gateway(sizes("999")), ["MAX_BODY_MEMORY", "JWT_SECRET"])
      assert.strictEqual((yield* inEnvironment(sizes("1000"))(SealedProxy.settings())).maxBodyMemory, 1000)
      const proxy = yield* blamed(SealedProxy.settings(), { SESSION_TTL: "soon", TLS_KEY_FILE: "/x" })
      assert.deepStrictEqual(proxy, ["SESSION_TTL", "TLS_CERT_FILE"])

      // Without a way to check tokens, these proxies would serve everybody.
      for (const half of [
        { JWT_PREVIOUS_SECRET: TOKEN_SECRET },
        { JWT_ISSUER: "https://id.example.com", JWT_JWKS_URL: "" },
        { JWT_AUDIENCE: "proxy" },
      ]) {
        assert.deepStrictEqual(yield* blamed(SealedProxy.settings(), half), ["JWT_SECRET"])
        yield* inEnvironment({ ...half, JWT_JWKS_URL: "https://id.example.com/keys" })(SealedProxy.settings())
      }

      // Given settings replace those of the environment.
      const given = { dev: true, port: 1234 }
      const settings = yield* inEnvironment({ PORT: "abc" })(Gateway.settings(given))
      assert.deepInclude(settings, given)
    }),
  )

  it.effect("report every time limit that exceeds the total", () =>
    Effect.gen(function* () {
      const env = { UPSTREAM_TOTAL_TIMEOUT: "50s", PROVIDER3_FIRST_TOKEN_TIMEOUT: "51s", UPSTREAM_IDLE_TIMEOUT: "50s" }
      const secret = { JWT_SECRET: TOKEN_SECRET }
      const problems = <E extends ConfigurationMistakes>(settings: Effect.Effect<unknown, E>, more: Environment = {}) =>
        Effect.map(Effect.flip(inEnvironment({ ...env, ...more })(settings)), ({ mistakes }) =>
          mistakes.map(({ problem, variable }) => `${variable} ${problem.replace(/,.*/, "")}`),
        )
      assert.deepStrictEqual(yield* problems(SealedProxy.settings()), [
        "UPSTREAM_ANSWER_TIMEOUT is 2m",
        "UPSTREAM_FIRST_TOKEN_TIMEOUT is 1m",
        "PROVIDER3_FIRST_TOKEN_TIMEOUT is 51s",
      ])
      assert.deepStrictEqual(yield* problems(Gateway.settings(), secret), [
        "UPSTREAM_ANSWER_TIMEOUT is 2m",
        "UPSTREAM_FIRST_TOKEN_TIMEOUT is 2m",
        "PROVIDER3_FIRST_TOKEN_TIMEOUT is 51s",
      ])
    }),
  )

  it.live("stop the command with all mistakes before it creates anything", () =>
    Effect.gen(function* () {
      const gateway = yield* run(["gateway"], { env: { PORT: "abc", TLS_CERT_FILE: "/x" } })
      assert.strictEqual(yield* Effect.promise(() => gateway.exit), 2)
      assert.deepStrictEqual(gateway.stdout, [])
      assert.deepStrictEqual(
        gateway.stderr.map((line) => /^ {2}(\w+): /.exec(line)?.[1]).filter((variable) => variable !== undefined),
        ["PORT", "TLS_KEY_FILE", "JWT_SECRET"],
      )
      assert.deepStrictEqual(readdirSync(gateway.folder), [])
      const dev = yield* run(["gateway", "--dev"], { env: { PORT: "0" } })
      yield* Effect.promise(() => dev.line((line) => (line.includes("listening on") ? true : undefined)))
    }),
  )
})
