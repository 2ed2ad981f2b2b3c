/** dstack evidence under a chain of our own: a TDX quote whose RTMR3 the event log leads to. */
import { createHash } from "node:crypto"
import type { AcceptedDstack } from "../../../src/attestation/policy.ts"
import type { AttestationCheck } from "../../../src/attestation/verifyAttestation.ts"
import { utf8 } from "../../../src/domain/bytes/bytes.ts"
import { MEASUREMENT, partsOf, type TdxWish } from "./tdx.ts"
import { checkFor } from "./world.ts"

interface LoggedEvent {
  readonly version?: number
  readonly imr: number
  readonly event_type: number
  readonly event: string
  readonly event_payload: string
  readonly digest: string
}

const sha384 = (...parts: ReadonlyArray<Uint8Array | string>): Buffer => {
  const hash = createHash("sha384")
  for (const part of parts) hash.update(part)
  return hash.digest()
}

const RUNTIME = Buffer.of(1, 0, 0, 8)
export const COMPOSE = '{"name":"sealgate"}'
export const COMPOSE_HASH = createHash("sha256").update(COMPOSE).digest("hex")

/** An event of RTMR3. */
export const eventOf = (event: string, payload: string): LoggedEvent => ({
  imr: 3,
  event_type: RUNTIME.readUInt32LE(0),
  event,
  event_payload: payload,
  digest: sha384(RUNTIME, `:${event}:`, Buffer.from(payload, "hex")).toString("hex"),
})

/** The same in dstack's second form, whose digest is over canonical JSON. */
export const secondEventOf = (event: string, payload: string): LoggedEvent => ({
  ...eventOf(event, payload),
  version: 2,
  digest: sha384(`{"name":"${event}","payload":"${payload}","type":134217729}`).toString("hex"),
})

const APP_ID = COMPOSE_HASH.slice(0, 40)
const hexOf = (text: string): string => Buffer.from(text).toString("hex")
export const keyProviderEvent = (name: string, id: string): LoggedEvent =>
  eventOf("key-provider", hexOf(JSON.stringify({ name, id })))

/** Events of a boot, in dstack's order. */
export const BOOT = {
  app: eventOf("app-id", APP_ID),
  compose: eventOf("compose-hash", COMPOSE_HASH),
  keyProvider: keyProviderEvent("kms", "3059"),
  ready: eventOf("system-ready", ""),
}

export interface DstackWish extends Omit<TdxWish, "accept"> {
  /** Events that the machine measured. */
  readonly measured?: ReadonlyArray<LoggedEvent>
  /** Changes the log that it hands out. */
  readonly log?: (log: ReadonlyArray<LoggedEvent>) => unknown
  readonly compose?: unknown
  readonly accept?: Partial<AcceptedDstack>
}

/** Evidence of a dstack guest that passes, with the wished changes. */
export const dstack = (wish: DstackWish = {}): AttestationCheck => {
  const events = wish.measured ?? Object.values(BOOT)
  const rtmr3 = events.reduce<Buffer>(
    (value, { digest }) => sha384(value, Buffer.from(digest, "hex")),
    Buffer.alloc(48),
  )
  const { accept: accepted, ...rest } = wish
  const { report, collateral, roots } = partsOf(rest, rtmr3.toString("hex"))
  const handed = { event_log: JSON.stringify(wish.log?.(events) ?? events), app_compose: wish.compose ?? COMPOSE }
  const accept: AcceptedDstack = {
    format: "dstack",
    measurements: [MEASUREMENT],
    compose_hashes: [COMPOSE_HASH],
    app_ids: [APP_ID],
    key_providers: ["kms:3059"],
    statuses: ["UpToDate"],
    advisories: [],
    ...accepted,
  }
  const evidence = { format: "dstack" as const, report, collateral: utf8(JSON.stringify(handed)) }
  const check = checkFor(evidence, { collateral, accept, roots })
  return wish.check?.(check) ?? check
}
