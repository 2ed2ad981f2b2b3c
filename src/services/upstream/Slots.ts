/** The slots that the registry of providers defines: in order, with the vendor of each. */
import type { ProviderId } from "../../domain/upstream/upstream.ts"
import * as registry from "./providers/registry.ts"
import type { ProviderDescriptor } from "./providers/shared/Descriptor.ts"

/** A place for a provider, as settings name it. */
export type Slot = keyof typeof registry

/** Whose API is spoken in each slot. */
export const PROVIDERS: Readonly<Record<Slot, ProviderDescriptor>> = registry

/** The number of a slot, as in `PROVIDER_ORDER`. */
export const numberOf = (slot: Slot): string => slot.slice("provider".length)

/** Every slot, in the order of their numbers: the names of a module are sorted, and the registry has no others. */
export const SLOTS = Object.keys(PROVIDERS) as ReadonlyArray<Slot>

/** Every provider that can be named: those in slots, and the built-in echo. */
export const PROVIDER_IDS: ReadonlySet<ProviderId> = new Set([...SLOTS, "echo"])
