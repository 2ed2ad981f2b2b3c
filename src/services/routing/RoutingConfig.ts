/** The routing configuration in force, with its history. A change applies here at once, elsewhere within a second. */
import { Clock, Context, DateTime, Effect, Layer, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { ifMatchAllows } from "../../domain/jobs/agent.ts"
import { RoutingSettings, type RoutingSettingsInput } from "../../domain/routing/routing.ts"
import {
  routingETag,
  RoutingSettingsInvalid,
  RoutingSettingsStale,
  settingsIssues,
} from "../../domain/routing/routingChecks.ts"
import type { StorageUnavailable } from "../../domain/operations/storage.ts"
import { makeRecent } from "../recent.ts"
import { spanned } from "../spans.ts"
import { decodeRows, encodeRow, inTime, unavailable, unavailableUnlimited } from "../storedRows.ts"
import { PROVIDER_IDS } from "../upstream/Slots.ts"
import { type Offers, Upstream } from "../upstream/Upstream.ts"
import { defaultUpstreamSettings, type UpstreamSettings } from "../upstream/UpstreamSettings.ts"
import { defaultSettings, faultPolicyOf } from "./DefaultSettings.ts"
import { offeredPrices, type PricedBy, priceOf } from "./Prices.ts"

interface PutOptions {
  /** The subject of the administrator's token, stored with the version. */
  readonly by: string
  /** The `If-Match` header as sent. Without it, the settings' `version`, if present, must be the one in force. */
  readonly ifMatch?: string | undefined
}

const Row = Schema.Struct({ document: Schema.fromJsonString(RoutingSettings) })
const decode = decodeRows("routing_configs", Row)
const encode = encodeRow("routing_configs", Row)

/** All versions are of one configuration. */
const VERSION = "version"

export class RoutingConfig extends Context.Service<
  RoutingConfig,
  {
    /** The configuration in force; derived from the configured providers if none is stored. */
    readonly current: Effect.Effect<RoutingSettings, StorageUnavailable>
    /** The same, as stored up to a second ago. */
    readonly ofCall: Effect.Effect<RoutingSettings, StorageUnavailable>
    /** Replaces the whole configuration, or rejects it and names all its errors. */
    readonly put: (
      input: RoutingSettingsInput,
      options: PutOptions,
    ) => Effect.Effect<RoutingSettings, RoutingSettingsInvalid | RoutingSettingsStale | StorageUnavailable>
  }
>()("sealgate/services/routing/RoutingConfig") {
  /** `upstream` is the process's fault policy: the default for settings that are not configured. */
  static readonly layer = (upstream: UpstreamSettings = defaultUpstreamSettings) =>
    Layer.effect(
      RoutingConfig,
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const { configure, configured: providers, offering } = yield* Upstream
        let known: RoutingSettings | undefined
        const derive = Effect.zipWith(offering, Clock.currentTimeMillis, deriveOnce(upstream))

        const version = yield* makeRecent<number>((asked) =>
          Effect.map(sql<{ version: number | null }>`SELECT MAX(version) AS version FROM routing_configs`, ([row]) =>
            asked.map(() => row?.version ?? 0),
          ),
        )

        const stored = Effect.fnUntraced(function* (version: number) {
          // Versions only grow, so a later one stays in force for processes that still ask for this one.
          if (known !== undefined && known.version >= version) return known
          if (version === 0) return yield* derive
          const rows = yield* decode(
            yield* inTime(sql`SELECT document FROM routing_configs WHERE version = ${version}`),
          )
          const settings = rows[0]?.document
          if (settings === undefined) return yield* Effect.die(new Error("A stored routing configuration is gone."))
          if (known !== undefined && known.version >= version) return known
          known = settings
          yield* configure(faultPolicyOf(upstream, settings))
          return settings
        }, unavailableUnlimited)

        /** With the prices that providers offer now. */
        const withOffered = (settings: RoutingSettings) =>
          Effect.map(offering, (providers): RoutingSettings & PricedBy => {
            const offered = offeredPrices(providers)
            return offered.size === 0 ? settings : { ...settings, offered }
          })
        const at = (version: Effect.Effect<number, StorageUnavailable>) =>
          Effect.flatMap(Effect.flatMap(version, stored), withOffered).pipe(spanned("RoutingConfig.current"))
        const current = at(version.now(VERSION))

        const check = Effect.fnUntraced(function* (input: RoutingSettingsInput) {
          const now = yield* Clock.currentTimeMillis
          const configured = yield* providers
          const pricedBy = { targets: [], version: 0, offered: offeredPrices(yield* offering) }
          const errors = settingsIssues(input, {
            exists: (provider) => PROVIDER_IDS.has(provider) || configured.has(provider),
            isConfigured: (provider) => configured.has(provider),
            hasPrice: (target) => priceOf(pricedBy, target, now) !== null,
          })
          if (errors.length > 0) return yield* new RoutingSettingsInvalid({ errors })
        })

        const put = Effect.fn("RoutingConfig.put")(function* (
          input: RoutingSettingsInput,
          { by, ifMatch }: PutOptions,
        ) {
          const before = yield* current
          const isCurrent =
            ifMatch === undefined
              ? input.version === undefined || input.version === before.version
              : ifMatchAllows(ifMatch, routingETag(before))
          if (!isCurrent) return yield* new RoutingSettingsStale({ headers: { etag: routingETag(before) } })
          yield* check(input)
          const now = yield* DateTime.now
          const { effective_prices: _, ...given } = input
          const settings: RoutingSettings = { ...given, version: before.version + 1 }
          const { document } = yield* encode({ document: settings })
          const row = { version: settings.version, document, stored_by: by, stored_at: now.epochMilliseconds }
          // Versions have no gaps, so of two changes to the same version the second finds its row taken.
          const inserted = yield* sql`INSERT INTO routing_configs ${sql.insert(row)}
            ON CONFLICT DO NOTHING RETURNING version`.pipe(Effect.ensuring(version.forget(VERSION)))
          return inserted.length > 0
            ? yield* withOffered(settings)
            : yield* new RoutingSettingsStale({ headers: { etag: routingETag(settings) } })
        }, unavailable)

        return RoutingConfig.of({ current, ofCall: at(version.recent(VERSION)), put })
      }),
    )
}

const DAY_MS = 86_400_000

/** Returns what derives the default settings: once for the same providers and day, since list prices change by days. */
const deriveOnce = (upstream: UpstreamSettings) => {
  let derived:
    | { readonly from: ReadonlyArray<Offers>; readonly day: number; readonly settings: RoutingSettings }
    | undefined
  return (offers: ReadonlyArray<Offers>, now: number): RoutingSettings => {
    const day = Math.floor(now / DAY_MS)
    if (derived?.from !== offers || derived.day !== day) {
      derived = { from: offers, day, settings: defaultSettings(offers, upstream, now) }
    }
    return derived.settings
  }
}
