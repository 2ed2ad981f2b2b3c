/** dstack on TDX: RTMR3 is the replay of events, of which one names the compose file (dstack, `docs/attestation-tdx.md`, `cc-eventlog`). */
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
  must(
    isKnown && typeof name === "string" && isHex(payload) && isHex(digest),
    MALFORMED,
    "An event of RTMR3 is malformed.",
  )
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

/**
 * Replays the log in `bytes`, the machine's JSON, against RTMR3 with digests computed from payloads, so that no payload can be invented for a genuine digest.
 * Returns the compose hash, which is the SHA-256 of `app_compose`. Throws an `EvidenceFailure`.
 */
export const checkEventLog = (bytes: Uint8Array | undefined, rtmr3: string): string => {
  const members = bytes === undefined ? undefined : parseJson(Buffer.from(bytes).toString())
  must(isObject(members), MALFORMED, "The machine handed out no event log.")
  const { event_log: text, app_compose: compose } = members
  const log = typeof text === "string" ? parseJson(text) : undefined
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
  const named = events.filter(({ name }) => name === "compose-hash")
  const hash = typeof compose === "string" ? createHash("sha256").update(compose).digest("hex") : undefined
  must(
    named.length === 1 && named[0]?.payload.toString("hex") === hash,
    "dstack-compose-hash",
    "The compose file is not the measured one.",
  )
  return hash ?? ""
}
