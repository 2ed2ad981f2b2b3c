/** dstack evidence whose quote is right and whose log is not. */
import { COMPOSE, COMPOSE_HASH, dstack, type DstackWish, eventOf } from "../support/dstack.ts"
import { refusalsOf } from "./refusal.ts"

const app = eventOf("app-id", "00")
const compose = eventOf("compose-hash", COMPOSE_HASH)
const other = "11".repeat(32)
const INVENTED = { ...compose, event_payload: other }

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
  ["an event read as another version", "dstack-event-digest", { log: () => [app, { ...compose, version: 2 }] }],
  ["a payload invented for a genuine digest", "dstack-event-digest", { log: () => [app, INVENTED] }],
  ["a payload invented without a digest", "dstack-rtmr3", { log: () => [app, { ...INVENTED, digest: "" }] }],
  ["a missing event", "dstack-rtmr3", { log: () => [compose] }],
  ["events in another order", "dstack-rtmr3", { log: () => [compose, app] }],
  ["a further event", "dstack-rtmr3", { log: () => [app, compose, app] }],
  ["an empty log", "dstack-rtmr3", { log: () => [] }],
  ["another compose file", "dstack-compose-hash", { compose: `${COMPOSE} ` }],
  ["no compose file", "dstack-compose-hash", { compose: 1 }],
  ["two compose files measured", "dstack-compose-hash", { measured: [compose, eventOf("compose-hash", other)] }],
  ["no compose file measured", "dstack-compose-hash", { measured: [app] }],
  ["a compose file that the policy does not know", "measurement-unknown", { accept: { compose_hashes: [other] } }],
  ["an operating system that the policy does not know", "measurement-unknown", { accept: { measurements: [] } }],
])
