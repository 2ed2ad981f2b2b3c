/**
 * dstack on TDX: RTMR3 is computed from a log of events, one of which names the compose file (dstack,
 * `docs/attestation-tdx.md`, `cc-eventlog`).
 */
import { createHash } from "node:crypto"
import { isObject, type JsonObject, parseJson } from "../../domain/json/json.ts"
import { must } from "../failure.ts"

const MALFORMED = "dstack-event-log"

const RTMR3 = 3
const RUNTIME_EVENT = 0x08000001
const REGISTER_BYTES = 48

interface RuntimeEvent {
  readonly version: 1 | 2
  readonly name: string
  readonly payload: Buffer
  readonly digest: string
}

const isHex = (text: unknown): text is string => typeof text === "string" && /^(?:[0-9a-f]{2})*$/.test(text)

const eventIn = (entry: JsonObject): RuntimeEvent => {
  const { version = 1, event_type: type, event: name, event_payload: payload, digest } = entry
  const isKnown = type === RUNTIME_EVENT && (version === 1 || version === 2)
  // Version 1 separates name and payload by a colon, so a colon within a name would be ambiguous.
  const isNamed = typeof name === "string" && !(version === 1 && name.includes(":"))
  must(isKnown && isNamed && isHex(payload) && isHex(digest), MALFORMED, "An event of RTMR3 is malformed.")
  return { version, name, payload: Buffer.from(payload, "hex"), digest }
}

/**
 * SHA-384 of version 1: type as four little-endian bytes ‖ ":" ‖ name ‖ ":" ‖ payload; of version 2: canonical JSON (RFC 8785).
 * No text has both forms, so a log that names the other version changes no meaning.
 */
const digestOf = ({ name, payload, version }: RuntimeEvent): Buffer => {
  if (version === 2) {
    const canonical = JSON.stringify({ name, payload: payload.toString("hex"), type: RUNTIME_EVENT })
    return createHash("sha384").update(canonical).digest()
  }
  const type = Buffer.alloc(4)
  type.writeUInt32LE(RUNTIME_EVENT)
  return createHash("sha384").update(type).update(`:${name}:`).update(payload).digest()
}

/** A measured app. dstack derives its keys from its id and its key provider. */
export interface DstackApp {
  /** SHA-256 of `app_compose`, in hexadecimal. */
  readonly composeHash: string
  /** In hexadecimal. All code of one app id has the same keys. */
  readonly appId: string
  /** Kind and id of the key provider, such as `kms:3059…`. */
  readonly keyProvider: string
}

/** The payload of the only event of this name. dstack measures its own before the app can measure any. */
const payloadOf = (events: ReadonlyArray<RuntimeEvent>, name: string): Buffer => {
  const [event, ...more] = events.filter((each) => each.name === name)
  must(event !== undefined && more.length === 0, MALFORMED, `The event log must have ${name} once.`)
  return event.payload
}

const keyProviderIn = (payload: Buffer): string => {
  const provider = parseJson(payload.toString())
  const { id, name } = isObject(provider) ? provider : {}
  must(typeof name === "string" && typeof id === "string", MALFORMED, "The key provider of the event log is malformed.")
  return `${name}:${id}`
}

/** Returns events that lead to RTMR3, with digests computed from payloads, so that no payload can be invented for a genuine digest. */
const replay = (log: unknown, rtmr3: string): ReadonlyArray<RuntimeEvent> => {
  must(Array.isArray(log) && log.every(isObject), MALFORMED, "The event log is not a list of events.")
  const events = log.filter(({ imr }) => imr === RTMR3).map(eventIn)
  let register = Buffer.alloc(REGISTER_BYTES)
  for (const event of events) {
    const digest = digestOf(event)
    // Newer versions of dstack leave the digest of runtime events empty.
    must(
      event.digest === "" || event.digest === digest.toString("hex"),
      "dstack-event-digest",
      `The payload of ${event.name} is not the digested one.`,
    )
    register = createHash("sha384").update(register).update(digest).digest()
  }
  must(register.toString("hex") === rtmr3, "dstack-rtmr3", "The event log does not lead to RTMR3.")
  return events
}

const membersOf = (collateral: Uint8Array | undefined): JsonObject => {
  const members = collateral === undefined ? undefined : parseJson(Buffer.from(collateral).toString())
  must(isObject(members), MALFORMED, "The machine handed out no event log.")
  return members
}

/** The app that the machine's JSON names. Throws an `EvidenceFailure` unless its event log leads to RTMR3. */
export const checkEventLog = (collateral: Uint8Array | undefined, rtmr3: string): DstackApp => {
  const { event_log: log, app_compose: compose } = membersOf(collateral)
  const events = replay(typeof log === "string" ? parseJson(log) : undefined, rtmr3)
  const composeHash = payloadOf(events, "compose-hash").toString("hex")
  must(
    typeof compose === "string" && createHash("sha256").update(compose).digest("hex") === composeHash,
    "dstack-compose-hash",
    "The compose file is not the measured one.",
  )
  return {
    composeHash,
    appId: payloadOf(events, "app-id").toString("hex"),
    keyProvider: keyProviderIn(payloadOf(events, "key-provider")),
  }
}
