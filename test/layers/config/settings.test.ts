/** How the environment becomes settings, and what is said when it cannot. */
import { assert, describe, it } from "@effect/vitest"
import { ConfigProvider, Duration, Effect, Redacted } from "effect"
import { IpNetwork } from "effect/net"
import { encodeBase64Url } from "../../../src/domain/bytes.ts"
import { routingTagBytes } from "../../../src/domain/routingTag.ts"
import { proxySettings } from "../../../src/layers/config/proxySettings.ts"
import { decodeSettings } from "../../../src/layers/config/Setting.ts"

const decode = (env: Readonly<Record<string, string>>) =>
  decodeSettings(proxySettings).pipe(
    Effect.provideService(ConfigProvider.ConfigProvider, ConfigProvider.fromEnvRecord(env)),
  )

const SECRET = "sk-very-secret"

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
        TRUSTED_PROXIES: "10.0.0.0/8, 192.0.2.7,2001:db8::/32 , ::1",
      })
      assert.strictEqual(logLevel, "debug")
      assert.strictEqual(tlsMinVersion, "TLSv1.3")
      assert.deepStrictEqual(
        trustedProxies.map((network) => IpNetwork.format(network)),
        ["10.0.0.0/8", "192.0.2.7/32", "2001:db8::/32", "::1/128"],
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
})
