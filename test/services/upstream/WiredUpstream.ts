/** The service under test with real providers over real sockets, in front of fakes of the vendors. */
import { Context, Duration, Effect, Layer, Redacted, type Scope, Stream } from "effect"
import type { ProviderId, UpstreamRequest } from "../../../src/domain/upstream/upstream.ts"
import { makeHttpProvider } from "../../../src/services/upstream/providers/http/HttpProvider.ts"
import type { ProviderFormat } from "../../../src/services/upstream/providers/shared/Descriptor.ts"
import { PROVIDERS } from "../../../src/services/upstream/Slots.ts"
import { Upstream } from "../../../src/services/upstream/Upstream.ts"
import { ProviderHttp } from "../../../src/services/upstream/ProviderHttp.ts"
import { defaultUpstreamSettings } from "../../../src/services/upstream/UpstreamSettings.ts"
import { type Fake, FakeUpstream, type WireName } from "../../support/FakeUpstream.ts"
import { type Overrides, settingsWith } from "./ScriptedProvider.ts"
import { type Finished, type StreamedEvent, streamOf } from "../../support/streamed.ts"

interface Wire {
  readonly name: WireName
  readonly provider: ProviderId
  readonly baseUrl: (fake: Pick<Fake, "anthropic" | "gemini" | "openAi">) => string
  readonly format: ProviderFormat
}

export const openAi: Wire = {
  name: "openai",
  provider: "provider1",
  baseUrl: (fake) => fake.openAi,
  format: PROVIDERS.provider1.format,
}

export const WIRES: ReadonlyArray<Wire> = [
  openAi,
  {
    name: "anthropic",
    provider: "provider3",
    baseUrl: ({ anthropic }) => anthropic,
    format: PROVIDERS.provider3.format,
  },
  { name: "gemini", provider: "provider4", baseUrl: ({ gemini }) => gemini, format: PROVIDERS.provider4.format },
]

/** Serves when the target under test does not. */
export const BACKUP: ProviderId = "provider2"

/** Time limits that no answer reaches, however busy the machine. */
const SETTINGS = settingsWith({
  timeouts: {
    connect: Duration.seconds(10),
    answer: Duration.seconds(20),
    firstToken: Duration.seconds(20),
    idle: Duration.seconds(20),
    total: Duration.seconds(25),
  },
  retry: { base: Duration.millis(25), cap: Duration.millis(200), maxRetryAfter: Duration.seconds(4) },
  circuit: { failures: 1_000, slow: 1_000 },
})

export interface Wired {
  readonly upstream: Upstream["Service"]
  /** The vendor under test. */
  readonly target: Fake
  readonly backup: Fake
}

interface WiredOptions extends Overrides {
  /** The base URL of the provider under test, in place of the fake's. */
  readonly baseUrl?: string
  readonly apiKey?: string
  /** The settings of the fault policy as they are by default, in place of those for tests. */
  readonly byDefault?: boolean
  /** Whether another provider follows the one under test. Default: yes. */
  readonly alone?: boolean
}

/** One provider with the given wire format first, then an OpenAI-compatible one. */
export const wired = Effect.fnUntraced(function* (
  wire: Wire,
  { alone = false, apiKey = "key-of-the-target", baseUrl, byDefault = false, ...overrides }: WiredOptions = {},
): Effect.fn.Return<Wired, never, Scope.Scope> {
  const target = yield* FakeUpstream.make()
  const backup = yield* FakeUpstream.make()
  const settings = byDefault ? defaultUpstreamSettings : settingsWith(overrides, SETTINGS)
  const http = yield* Layer.build(ProviderHttp.layer({ ...settings.timeouts, traceHeaders: true }))
  const first = makeHttpProvider(wire.format, {
    id: wire.provider,
    apiKey: Redacted.make(apiKey),
    baseUrl: baseUrl ?? wire.baseUrl(target),
    defaultModel: "target-model",
  })
  const second = makeHttpProvider(openAi.format, {
    id: BACKUP,
    apiKey: Redacted.make("key-of-the-backup"),
    baseUrl: backup.openAi,
    defaultModel: "backup-model",
  })
  const providers = yield* Effect.provideContext(Effect.all(alone ? [first] : [first, second]), http)
  const services = yield* Layer.build(Upstream.layer({ providers, settings }))
  return { upstream: Context.get(services, Upstream), target, backup }
})

/** A reader's view of a stream, in easily compared words. */
interface Heard {
  /** The final text, since the last restart. */
  readonly text: string
  readonly finished: Finished | undefined
}

/** Reads a stream into `events`, so that what came before a failure is not lost. */
export const readInto = (upstream: Upstream["Service"], request: UpstreamRequest, events: Array<StreamedEvent>) =>
  Stream.runForEach(streamOf(upstream, request), (event) => Effect.sync(() => events.push(event)))

export const heard = (events: ReadonlyArray<StreamedEvent>): Heard => {
  const last = events.at(-1)
  return {
    text: events
      .slice(events.findLastIndex(({ _tag }) => _tag === "Restarted") + 1)
      .map((event) => (event._tag === "Delta" ? (event.chunk.choices[0]?.delta.content ?? "") : ""))
      .join(""),
    finished: last?._tag === "Finished" ? last : undefined,
  }
}
