/** The differences between two states of the routing form, to be read before they are saved. */
import { nameOf, type RoutingFields, type TargetFields } from "./routingForm.ts"

export interface Change {
  readonly what: string
  readonly before: string
  readonly after: string
}

const COMPARED = {
  provider: "provider",
  model: "model",
  context: "context, tokens",
  weight: "weight",
  quality: "quality",
  input: "input, $ per million",
  output: "output, $ per million",
  cached: "cached, $ per million",
} as const satisfies Record<Exclude<keyof TargetFields, "key">, string>

const shown = (text: string): string => (text.trim() === "" ? "empty" : text.trim())

const change = (what: string, before: string, after: string): ReadonlyArray<Change> =>
  before.trim() === after.trim() ? [] : [{ what, before: shown(before), after: shown(after) }]

const ofTarget = (before: TargetFields, after: TargetFields): ReadonlyArray<Change> =>
  // Object.entries loses the key type.
  (Object.entries(COMPARED) as ReadonlyArray<[keyof typeof COMPARED, string]>).flatMap(([name, label]) =>
    change(`${nameOf(before)}: ${label}`, before[name], after[name]),
  )

export const changesOf = (before: RoutingFields, after: RoutingFields): ReadonlyArray<Change> => {
  const known = new Map(before.targets.map((target) => [target.key, target]))
  const kept = new Set(after.targets.map(({ key }) => key))
  return [
    ...change("strategy", before.strategy, after.strategy),
    ...change("baseline", before.baseline, after.baseline),
    ...change("escalate below", before.escalateBelow, after.escalateBelow),
    ...before.targets
      .filter(({ key }) => !kept.has(key))
      .map((target) => ({ what: nameOf(target), before: "a target", after: "removed" })),
    ...after.targets.flatMap((target): ReadonlyArray<Change> => {
      const old = known.get(target.key)
      return old === undefined ? [{ what: nameOf(target), before: "no target", after: "added" }] : ofTarget(old, target)
    }),
  ]
}
