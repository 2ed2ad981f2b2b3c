/** The slots in the registry of providers, in order, with the vendor of each. */
import type { ProviderId } from "../../domain/upstream/upstream.ts"
import * as registry from "./providers/registry.ts"
import type { ProviderDescriptor } from "./providers/shared/Descriptor.ts"

/** The name of a provider's slot in settings. */
export type Slot = keyof typeof registry

export const PROVIDERS: Readonly<Record<Slot, ProviderDescriptor>> = registry

/** The number of a slot, as in `PROVIDER_ORDER`. */
export const numberOf = (slot: Slot): string => slot.slice("provider".length)

/** Every slot in numerical order: a module's names are sorted, and the registry exports nothing else. */
export const SLOTS = Object.keys(PROVIDERS) as ReadonlyArray<Slot>

/** Every provider that can be named: those in slots, and the built-in echo. */
export const PROVIDER_IDS: ReadonlySet<ProviderId> = new Set([...SLOTS, "echo"])
