/** How the environment becomes settings, and what is said when it cannot. */
import { readdirSync } from "node:fs"
import { assert, describe, it } from "@effect/vitest"
import { ConfigProvider, Duration, Effect, Option, Redacted, Schema } from "effect"
import { IpNetwork } from "effect/net"
import { encodeBase64Url } from "../../../src/domain/bytes.ts"
import { RoutingSettings } from "../../../src/domain/routing.ts"
import { routingTagBytes } from "../../../src/domain/routingTag.ts"
import { proxySettings } from "../../../src/layers/config/proxySettings.ts"
import { decodeSettings } from "../../../src/layers/config/Setting.ts"
import { upstreamSettings } from "../../../src/layers/config/upstreamSettings.ts"
import { gatewaySettingsFromEnvironment, gatewaySettingsWith } from "../../../src/layers/Gateway.ts"
import { proxySettingsFromEnvironment } from "../../../src/layers/Proxy.ts"
import { policyOf } from "../../../src/layers/Upstream.ts"
import { defaultSettings } from "../../../src/services/routing/DefaultSettings.ts"
import { run } from "../../support/processes.ts"

type Environment = Readonly<Record<string, string>>

const inEnvironment = (env: Environment) =>
  Effect.provideService(ConfigProvider.ConfigProvider, ConfigProvider.fromEnvRecord(env))

const decode = (env: Environment) => inEnvironment(env)(decodeSettings(proxySettings))

const SECRET = "sk-very-secret"
const TOKEN_SECRET = "a secret of at least thirty-two bytes"

describe("settings", () => {
  it.effect("have their documented defaults, also where variables are empty or blank", () =>
    Effect.gen(function* () {
      const defaults = yield* decode({})
      assert.strictEqual(defaults.port, 3001)
      assert.strictEqual(defaults.host, "0.0.0.0")
      assert.strictEqual(defaults.maxRequestBytes, 1_048_576)
      assert.strictEqual(Duration.toSeconds(defaults.sessionTtl), 300)
      assert.strictEqual(defaults.sessionMaxRequests, 256)
      assert.strictEqual(defaults.sessionMaxLive, 100_000)
      assert.strictEqual(defaults.rateLimitInit, 60)
      assert.strictEqual(defaults.rateLimitCompletions, 600)
      assert.strictEqual(Duration.toSeconds(defaults.shutdownGrace), 20)
      assert.strictEqual(defaults.provider1ApiKey, undefined)
      assert.strictEqual(defaults.tlsCertFile, undefined)
      assert.deepStrictEqual(defaults.trustedProxies, [])
      const empty = Object.values(proxySettings).flatMap(({ aliases, variable }) =>
        [variable, ...aliases].map((name, index): [string, string] => [name, index % 2 === 0 ? "" : "  "]),
      )
      assert.deepStrictEqual(yield* decode(Object.fromEntries(empty)), defaults)
    }),
  )

  it.effect("read durations, sizes, networks and words as people write them", () =>
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

  it.effect("know the vendors' names, and prefer their own", () =>
    Effect.gen(function* () {
      const keyOf = (env: Readonly<Record<string, string>>) =>
        Effect.map(decode(env), ({ provider1ApiKey }) =>
          provider1ApiKey === undefined ? undefined : Redacted.value(provider1ApiKey),
        )
      assert.strictEqual(yield* keyOf({ OPENAI_API_KEY: "theirs" }), "theirs")
      assert.strictEqual(yield* keyOf({ OPENAI_API_KEY: "theirs", PROVIDER1_API_KEY: "ours" }), "ours")
      assert.strictEqual(yield* keyOf({ OPENAI_API_KEY: "theirs", PROVIDER1_API_KEY: "" }), "theirs")
      const { provider3ApiKey, provider4ApiKey } = yield* decode({ ANTHROPIC_API_KEY: "3", GOOGLE_API_KEY: "4" })
      assert.isDefined(provider3ApiKey)
      assert.isDefined(provider4ApiKey)
    }),
  )

  it.effect("take routing tags that no balancer can mistake for another", () =>
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

  it.effect("report every mistake at once, with what was expected and never with what was there", () =>
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

  it.effect("take as a wait what a timer can do, and as a retention what lasts longer", () =>
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
      const retention = inEnvironment({ JWT_SECRET: TOKEN_SECRET, JOB_RETENTION: "365d" })(
        gatewaySettingsFromEnvironment,
      )
      assert.strictEqual(Duration.toDays((yield* retention).jobRetention), 365)
    }),
  )

  it.effect("describe a routing that the API can show, whatever they allow", () =>
    Effect.gen(function* () {
      const texts = ["0", "1", "5", "10", "1000", "1000000", "1ms", "0.5ms", "10min", "1h", "61min", "24d", "30d"]
      const taken: Record<string, Array<string>> = {}
      for (const { variable } of Object.values(upstreamSettings).filter(({ variable }) =>
        variable.startsWith("UPSTREAM_"),
      )) {
        for (const text of texts) {
          const decoded = yield* Effect.option(inEnvironment({ [variable]: text })(decodeSettings(upstreamSettings)))
          if (Option.isNone(decoded)) continue
          ;(taken[variable] ??= []).push(text)
          const routing = defaultSettings([{ provider: "provider1", model: "m" }], policyOf(decoded.value), 0)
          yield* Effect.orDie(Schema.encodeEffect(RoutingSettings)(routing))
        }
      }
      const { UPSTREAM_CIRCUIT_FAILURES, UPSTREAM_RETRIES, UPSTREAM_TOTAL_TIMEOUT } = taken
      assert.deepStrictEqual(UPSTREAM_RETRIES, ["0", "1", "5"])
      assert.deepStrictEqual(UPSTREAM_CIRCUIT_FAILURES, ["1", "5", "10", "1000"])
      assert.deepStrictEqual(UPSTREAM_TOTAL_TIMEOUT, ["1", "5", "10", "1000", "1ms", "10min", "1h"])
    }),
  )

  it.effect("are looked at together too, in the same report", () =>
    Effect.gen(function* () {
      const blamed = <E extends { readonly mistakes: ReadonlyArray<{ readonly variable: string }> }>(
        settings: Effect.Effect<unknown, E>,
        env: Environment,
      ) => Effect.map(Effect.flip(inEnvironment(env)(settings)), (error) => error.mistakes.map((each) => each.variable))
      const gateway = (env: Environment) => blamed(gatewaySettingsFromEnvironment, env)
      assert.deepStrictEqual(yield* gateway({ PORT: "abc", TLS_CERT_FILE: "/x" }), [
        "PORT",
        "TLS_KEY_FILE",
        "JWT_SECRET",
      ])
      // What could not be read is blamed for that alone.
      assert.deepStrictEqual(yield* gateway({ JWT_SECRET: "short" }), ["JWT_SECRET"])
      const two = { JWT_JWKS_FILE: "/x", JWT_JWKS_URL: "http://keys.example.com", TLS_CLIENT_CA_FILE: "/x" }
      assert.deepStrictEqual(yield* gateway(two), ["TLS_CERT_FILE", "TLS_KEY_FILE", "JWT_JWKS_FILE", "JWT_JWKS_URL"])
      const proxy = yield* blamed(proxySettingsFromEnvironment, { SESSION_TTL: "soon", TLS_KEY_FILE: "/x" })
      assert.deepStrictEqual(proxy, ["SESSION_TTL", "TLS_CERT_FILE"])

      // What is given counts as if the environment said it, and in its place.
      const given = { dev: true, port: 1234 }
      const settings = yield* inEnvironment({ PORT: "abc" })(gatewaySettingsWith(given))
      assert.deepInclude(settings, given)
    }),
  )

  it.live("stop the command with everything that is wrong with them, before it has made anything", () =>
    Effect.gen(function* () {
      const gateway = yield* run(["gateway"], { env: { PORT: "abc", TLS_CERT_FILE: "/x" } })
      assert.strictEqual(yield* Effect.promise(() => gateway.exit), 1)
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
