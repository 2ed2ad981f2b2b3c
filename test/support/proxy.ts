/** A sealed proxy in this process, on a free port of 127.0.0.1, with replaceable parts. */
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { ConfigProvider, Context, Effect, Layer, Logger, Redacted } from "effect"
import { HttpServer } from "effect/http"
import { NetAddress } from "effect/net"
import { decodeSettings } from "../../src/layers/config/Setting.ts"
import { proxySettings } from "../../src/layers/config/proxySettings.ts"
import { OperatorListener } from "../../src/layers/OperatorListener.ts"
import { type ProxySettings, SealedProxy } from "../../src/layers/Proxy.ts"
import { layerUpstream } from "../../src/layers/Providers.ts"
import { SealedClient, type SealedClientOptions } from "../../src/client/sealed/SealedClient.ts"
import { Attestation } from "../../src/services/sealing/Attestation.ts"
import type { Upstream } from "../../src/services/upstream/Upstream.ts"
import type { Fake } from "./FakeUpstream.ts"

export interface RunningProxy {
  readonly url: string
  /** The operator's listener. */
  readonly operatorUrl: string
  readonly port: number
  /** The pin for clients. */
  readonly kid: string
  /** A new client that pins this proxy, with unpaced streams unless `options` set a pace. */
  readonly client: (options?: Partial<SealedClientOptions>) => SealedClient
}

/** A temporary folder, removed when the scope closes. */
export const temporaryFolder = Effect.acquireRelease(
  Effect.promise(() => mkdtemp(join(tmpdir(), "sealgate-test-"))),
  (folder) => Effect.promise(() => rm(folder, { recursive: true, force: true })),
)

/** Default settings for tests: loopback, a free port, no limits per client. */
export const testSettings = Effect.gen(function* () {
  const defaults = yield* decodeSettings(proxySettings).pipe(
    Effect.provideService(ConfigProvider.ConfigProvider, ConfigProvider.fromEnvRecord({})),
  )
  const folder = yield* temporaryFolder
  return {
    ...defaults,
    host: "127.0.0.1",
    port: 0,
    attestationKeyFile: join(folder, "attestation.pem"),
    rateLimitRead: 0,
    rateLimitProbes: 0,
    rateLimitInit: 0,
    rateLimitCompletions: 0,
    maxConcurrentPerClient: 0,
  } satisfies ProxySettings
})

/** Settings that use a fake of the vendors as provider. */
export const behind = (fake: Fake) => ({
  provider1ApiKey: Redacted.make("key"),
  provider1BaseUrl: new URL(fake.openAi),
})

export interface ProxyOptions {
  readonly settings?: Partial<ProxySettings>
  /** Default: the configured providers; without a key, the echo. */
  readonly upstream?: Layer.Layer<Upstream>
  /** Services around the proxy; default: no logger. */
  readonly services?: Layer.Layer<never>
}

/** Starts a proxy that runs until the scope closes. */
export const startProxy = Effect.fnUntraced(function* (options: ProxyOptions = {}) {
  const settings: ProxySettings = { ...(yield* testSettings), ...options.settings }
  const context = yield* Layer.build(
    SealedProxy.layerNoDeps(settings).pipe(
      Layer.provide(options.upstream ?? Layer.orDie(layerUpstream(settings))),
      Layer.provide(options.services ?? Logger.layer([])),
    ),
  )
  const { address } = Context.get(context, HttpServer.HttpServer)
  const { kid } = Context.get(context, Attestation)
  if (!NetAddress.isInetAddress(address)) return yield* Effect.die(new Error("the proxy listens on no port"))
  const url = `${settings.tlsCertFile === undefined ? "http" : "https"}://127.0.0.1:${address.port}`
  const proxy: RunningProxy = {
    url,
    operatorUrl: Context.get(context, OperatorListener) ?? "",
    port: address.port,
    kid,
    client: (options) => new SealedClient({ baseUrl: url, pins: [kid], pace: 0, ...options }),
  }
  return proxy
})
