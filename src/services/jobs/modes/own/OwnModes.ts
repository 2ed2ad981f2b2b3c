/** The modes that an embedding program defines, by name. */
import { Context, Effect, Layer } from "effect"
import { BuiltInMode, isBuiltIn, type Mode } from "../../../../domain/jobs/modes.ts"
import { ModeUnknown } from "../../../../domain/jobs/modes/own.ts"
import type { OwnMode } from "./defineMode.ts"

export const OwnModes = Context.Reference<ReadonlyMap<string, OwnMode>>("sealgate/services/jobs/modes/own/OwnModes", {
  defaultValue: () => new Map(),
})

/** Throws if two modes have the same name. */
export const layerOwnModes = (modes: ReadonlyArray<OwnMode>): Layer.Layer<never> => {
  const byName = new Map(modes.map((mode) => [mode.name, mode]))
  if (byName.size < modes.length) throw new Error("Two modes have the same name.")
  return Layer.succeed(OwnModes, byName)
}

/** Returns a function that refuses a mode that does not exist. */
export const makeCheckMode = Effect.map(OwnModes, (own) => (mode: Mode | undefined) => {
  if (mode === undefined || isBuiltIn(mode) || own.has(mode)) return Effect.void
  const known = [...BuiltInMode.literals, ...own.keys()].join(", ")
  return Effect.fail(new ModeUnknown({ detail: `There is no mode ${mode}; possible are ${known}.` }))
})
