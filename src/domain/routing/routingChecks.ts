/** Checks whether a routing configuration can work. */
import type { ProblemIssue } from "../problems/problemTypes.ts"
import { Refusal } from "../problems/refusal.ts"
import { ModelRole, type RoutingSettings, serves } from "./routing.ts"
import { CHAT_COMPLETIONS } from "../upstream/apis.ts"
import { permits, sameTarget, type TargetName } from "../upstream/targets.ts"
import type { ProviderId } from "../upstream/upstream.ts"

/** The strong entity tag (RFC 9110 §8.8.3) of a version, quotes included. */
export const routingETag = (settings: Pick<RoutingSettings, "version">): string => `"${settings.version}"`

export class RoutingSettingsInvalid extends Refusal<RoutingSettingsInvalid>()("RoutingSettingsInvalid", {
  code: "routing-config-invalid",
  status: 422,
  title: "The routing configuration cannot work as it is; nothing was changed.",
}) {}

/** The configuration has a newer version than the change is based on; `ETag` has the current one. */
export class RoutingSettingsStale extends Refusal<RoutingSettingsStale>()("RoutingSettingsStale", {
  code: "routing-config-stale",
  status: 412,
  title: "The routing configuration changed meanwhile; read it again, and apply the change to its newest version.",
}) {}

/** Facts about the installation for {@link settingsIssues}. */
interface Installation {
  /** Whether the provider exists, with or without a key. */
  readonly exists: (provider: ProviderId) => boolean
  readonly isConfigured: (provider: ProviderId) => boolean
  /** Whether a price is known, configured or shipped. */
  readonly hasPrice: (target: TargetName) => boolean
}

/** All issues of `settings`, with what to do about each. */
export const settingsIssues = (
  settings: Omit<RoutingSettings, "version">,
  { exists, hasPrice, isConfigured }: Installation,
): ReadonlyArray<ProblemIssue> => {
  const issues: Array<ProblemIssue> = []
  const report = (path: string, message: string) => issues.push({ path, message })
  const { targets, strategy } = settings
  const priced = (name: TargetName) =>
    targets.some((target) => sameTarget(target, name) && target.prices !== undefined) || hasPrice(name)

  targets.forEach((target, i) => {
    const path = `targets.${i}`
    if (!exists(target.provider)) report(`${path}.provider`, "there is no such provider")
    else if (!isConfigured(target.provider)) report(`${path}.provider`, "no key is configured for this provider")
    if (targets.slice(0, i).some((other) => sameTarget(other, target))) {
      report(path, "the same provider and model is listed before")
    }
    if (strategy === "quality" && target.quality === undefined) {
      report(`${path}.quality`, "the strategy quality needs a quality from 0 to 1 for every target")
    }
    if ((strategy === "cost" || strategy === "cascade") && !priced(target)) {
      report(`${path}.prices`, `the strategy ${strategy} needs a price, and none is shipped for this model`)
    }
  })
  if (strategy === "weighted" && targets.every((target) => target.weight === 0)) {
    report("targets", "the strategy weighted needs at least one weight above 0")
  }
  if (strategy === "cascade" && settings.cascade === undefined) {
    report("cascade.escalate_below", "the strategy cascade needs a threshold from 0 to 1")
  }
  if (!exists(settings.baseline.provider)) {
    report("baseline.provider", "there is no such provider")
  } else if (!priced(settings.baseline)) {
    report("baseline", "savings need a price here: name a model with a shipped price, or a target with prices")
  }
  for (const role of ModelRole.literals) {
    const filter = settings.roles?.[role]
    const isServed = targets.some((target) => permits(filter, target) && serves(target, CHAT_COMPLETIONS))
    if (!isServed) report(`roles.${role}`, "no target is left for this role")
  }
  for (const [name, filter] of Object.entries(settings.names ?? {})) {
    if (!targets.some((target) => permits(filter, target))) report(`names.${name}`, "no target is left for this name")
  }
  if (settings.retry.max_delay_ms < settings.retry.base_delay_ms) {
    report("retry.max_delay_ms", "must not be below base_delay_ms")
  }
  const { first_token_ms, idle_ms, total_ms } = settings.timeouts
  targets.forEach((target, i) => {
    if ((target.first_token_ms ?? 0) > total_ms) {
      report(`targets.${i}.first_token_ms`, "must not be above timeouts.total_ms")
    }
  })
  if (total_ms < Math.max(first_token_ms, idle_ms)) {
    report("timeouts.total_ms", "must not be below the other timeouts")
  }
  return issues
}
