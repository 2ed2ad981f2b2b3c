/**
 * The routing configuration in force. It lives in the database with its history, and every call asks for its version
 * first, so a change holds from the next call on in every process that shares the database. The embedded one has one
 * process, which remembers it.
 */
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
import { makeBatched } from "../batched.ts"
import { spanned } from "../spans.ts"
import { decodeRows, encodeRow, inTime, unavailable, unavailableUnlimited } from "../storedRows.ts"
import { PROVIDER_IDS } from "../upstream/Slots.ts"
import { Upstream } from "../upstream/Upstream.ts"
import { defaultUpstreamSettings, type UpstreamSettings } from "../upstream/UpstreamSettings.ts"
import { defaultSettings, faultPolicyOf } from "./DefaultSettings.ts"
import { shippedPrice } from "./Prices.ts"

interface PutOptions {
  /** Who changes it: the subject of an administrator's token, which is kept with the version. */
  readonly by: string
  /** An `If-Match` header, as it was sent; without it, a version that the settings name must be the one in force. */
  readonly ifMatch?: string | undefined
}

const DAY_MS = 86_400_000

const Row = Schema.Struct({ document: Schema.fromJsonString(RoutingSettings) })
const decode = decodeRows("routing_configs", Row)
const encode = encodeRow("routing_configs", Row)

export class RoutingConfig extends Context.Service<
  RoutingConfig,
  {
    /** What holds for the next call; derived from the configured providers as long as nothing is stored. */
    readonly current: Effect.Effect<RoutingSettings, StorageUnavailable>
    /** Refuses a configuration that cannot work, with everything that is wrong with it. */
    readonly check: (input: RoutingSettingsInput) => Effect.Effect<void, RoutingSettingsInvalid>
    /** Replaces the whole configuration, or refuses it with everything that is wrong with it. */
    readonly put: (
      input: RoutingSettingsInput,
      options: PutOptions,
    ) => Effect.Effect<RoutingSettings, RoutingSettingsInvalid | RoutingSettingsStale | StorageUnavailable>
  }
>()("sealgate/services/routing/RoutingConfig") {
  /** `upstream` is the fault policy that the process was started with: the default for what is not configured. */
  static readonly layer = (upstream: UpstreamSettings = defaultUpstreamSettings) =>
    Layer.effect(
      RoutingConfig,
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const { configure, status } = yield* Upstream
        let known: RoutingSettings | undefined
        let derived: { readonly day: number; readonly settings: RoutingSettings } | undefined

        /** The settings that the providers allow. Prices are of a day. */
        const derive = Effect.gen(function* () {
          const now = yield* Clock.currentTimeMillis
          const day = Math.floor(now / DAY_MS)
          if (derived?.day !== day) derived = { day, settings: defaultSettings(yield* status, upstream, now) }
          return derived.settings
        })

        /** The version in force after it was asked for; those who ask at the same time are told together. */
        const askForVersion = yield* makeBatched<void, number>({
          most: Infinity,
          run: (questions) =>
            Effect.map(sql<{ version: number | null }>`SELECT MAX(version) AS version FROM routing_configs`, ([row]) =>
              questions.map(() => row?.version ?? 0),
            ),
        })

        /** What the embedded database said, which nobody but this process changes. Every change forgets it. */
        let said: { readonly version: number } | undefined
        let changes = 0
        const ownVersion = Effect.suspend(() => {
          if (said !== undefined) return Effect.succeed(said.version)
          const before = changes
          return Effect.map(askForVersion(), (version) => {
            if (changes === before) said = { version }
            return version
          })
        })
        const forget = Effect.sync(() => {
          changes++
          said = undefined
        })
        const newestVersion = sql.onDialectOrElse({ pg: () => Effect.suspend(askForVersion), orElse: () => ownVersion })

        const current = Effect.gen(function* () {
          const version = yield* newestVersion
          if (version === 0) return yield* derive
          if (known?.version === version) return known
          const rows = yield* decode(
            yield* inTime(sql`SELECT document FROM routing_configs WHERE version = ${version}`),
          )
          const settings = rows[0]?.document
          if (settings === undefined) return yield* Effect.die(new Error("A stored routing configuration is gone."))
          yield* configure(faultPolicyOf(upstream, settings))
          known = settings
          return settings
        }).pipe(spanned("RoutingConfig.current"))

        const check = Effect.fnUntraced(function* (input: RoutingSettingsInput) {
          const now = yield* Clock.currentTimeMillis
          const configured = new Set((yield* status).map(({ provider }) => provider))
          const errors = settingsIssues(input, {
            exists: (provider) => PROVIDER_IDS.has(provider),
            isConfigured: (provider) => configured.has(provider),
            hasPrice: (target) => shippedPrice(target, now) !== null,
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
          // Versions follow each other without gaps, so of two changes to the same version one finds its row taken.
          const stored = yield* sql`INSERT INTO routing_configs ${sql.insert(row)}
            ON CONFLICT DO NOTHING RETURNING version`.pipe(Effect.ensuring(forget))
          return stored.length > 0
            ? settings
            : yield* new RoutingSettingsStale({ headers: { etag: routingETag(settings) } })
        }, unavailable)

        return RoutingConfig.of({ current: unavailableUnlimited(current), check, put })
      }),
    )
}
