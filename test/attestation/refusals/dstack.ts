/** dstack evidence whose quote is right and whose log is not. */
import { BOOT, COMPOSE, dstack, type DstackWish, eventOf, keyProviderEvent } from "../support/dstack.ts"
import { refusalsOf } from "./refusal.ts"

const { app, compose, keyProvider, ready } = BOOT
const other = "11".repeat(32)
const INVENTED = { ...compose, event_payload: other }
/** In the digest's input, a colon that begins the payload looks like one that ends the name. */
const colon = eventOf("compose-hash", `3a${other.slice(2)}`)
const renamed = { ...colon, event: "compose-hash:", event_payload: colon.event_payload.slice(2) }

export const DSTACK_REFUSALS = refusalsOf<DstackWish>(dstack, [
  [
    "no log",
    "dstack-event-log",
    { check: (check) => ({ ...check, evidence: { ...check.evidence, collateral: new Uint8Array() } }) },
  ],
  ["a log that is an object", "dstack-event-log", { log: () => ({}) }],
  ["an event of another type", "dstack-event-log", { log: () => [{ ...app, event_type: 1 }, compose] }],
  ["a payload that is not hexadecimal", "dstack-event-log", { log: () => [{ ...app, event_payload: "x" }, compose] }],
  ["an event without a name", "dstack-event-log", { log: () => [{ ...app, event: undefined }, compose] }],
  ["an event of an unknown version", "dstack-event-log", { log: () => [{ ...app, version: 3 }, compose] }],
  [
    "the hash of another compose file as part of its event's name",
    "dstack-event-log",
    { measured: [app, colon, keyProvider, ready, compose], log: () => [app, renamed, keyProvider, ready, compose] },
  ],
  ["an event read as another version", "dstack-event-digest", { log: () => [app, { ...compose, version: 2 }] }],
  ["a payload invented for a genuine digest", "dstack-event-digest", { log: () => [app, INVENTED] }],
  ["a payload invented without a digest", "dstack-rtmr3", { log: () => [app, { ...INVENTED, digest: "" }] }],
  ["a missing event", "dstack-rtmr3", { log: () => [compose] }],
  ["events in another order", "dstack-rtmr3", { log: () => [compose, app] }],
  ["a further event", "dstack-rtmr3", { log: () => [app, compose, app] }],
  ["an empty log", "dstack-rtmr3", { log: () => [] }],
  ["another compose file", "dstack-compose-hash", { compose: `${COMPOSE} ` }],
  ["no compose file", "dstack-compose-hash", { compose: 1 }],
  ["two compose files measured", "dstack-event-log", { measured: [compose, eventOf("compose-hash", other)] }],
  ["no compose file measured", "dstack-event-log", { measured: [app, keyProvider] }],
  ["no app id", "dstack-event-log", { measured: [compose, keyProvider] }],
  ["two app ids", "dstack-event-log", { measured: [app, compose, keyProvider, app] }],
  ["no key provider", "dstack-event-log", { measured: [app, compose] }],
  ["two key providers", "dstack-event-log", { measured: [app, compose, keyProvider, keyProvider] }],
  ["a key provider that is not JSON", "dstack-event-log", { measured: [app, compose, eventOf("key-provider", "7b")] }],
  ["another key service", "dstack-key-service", { measured: [app, compose, keyProviderEvent("kms", "3058"), ready] }],
  [
    "a key provider in place of a key service",
    "dstack-key-service",
    { measured: [app, compose, keyProviderEvent("none", "")] },
  ],
  [
    "keys of another app",
    "dstack-key-service",
    { measured: [eventOf("app-id", "11".repeat(20)), compose, keyProvider] },
  ],
  ["a compose file that the policy does not know", "measurement-unknown", { accept: { compose_hashes: [other] } }],
  ["an operating system that the policy does not know", "measurement-unknown", { accept: { measurements: [] } }],
])
