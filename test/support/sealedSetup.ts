/** A proxy before a fake vendor, with a recorded wire, for tests of clients. */
import { Effect, Layer, Redacted } from "effect"
import { layerUpstream } from "../../src/layers/Providers.ts"
import type { ProxySettings } from "../../src/layers/Proxy.ts"
import { createSealedFetch, type SealedFetchOptions } from "../../src/client/index.ts"
import { FakeUpstream } from "./FakeUpstream.ts"
import { startProxy, testSettings } from "./proxy.ts"
import { makeRelay } from "./relay.ts"

/** Provider 1 is the fake; with `failover` provider 2 is the same fake under another model. */
export const sealedSetup = Effect.fnUntraced(function* ({
  failover = false,
  ...changes
}: Partial<ProxySettings> & { readonly failover?: boolean } = {}) {
  const fake = yield* FakeUpstream.make()
  const settings: ProxySettings = {
    ...(yield* testSettings),
    provider1ApiKey: Redacted.make("key-1"),
    provider1BaseUrl: new URL(fake.openAi),
    provider1Model: "model-1",
    ...(failover
      ? {
          provider2ApiKey: Redacted.make("key-2"),
          provider2BaseUrl: new URL(fake.openAi),
          provider2Model: "model-2",
        }
      : {}),
    retries: 0,
    ...changes,
  }
  const proxy = yield* startProxy({ settings, upstream: Layer.orDie(layerUpstream(settings)) })
  const wire = yield* makeRelay(proxy.port)
  const options = (more: Partial<SealedFetchOptions> = {}): SealedFetchOptions => ({
    baseUrl: wire.url,
    pins: [proxy.kid],
    pace: 0,
    ...more,
  })
  return { fake, proxy, wire, options, fetch: (more?: Partial<SealedFetchOptions>) => createSealedFetch(options(more)) }
})
