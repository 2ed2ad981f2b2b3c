/** Receipts and proofs with a correct signature that contradict each other, the request or the answer. */
import { omit } from "../../omit.ts"
import type { JsonObject } from "../../../domain/json/json.ts"
import { b64u, sha256 } from "../../lyingProxy/reference.ts"
import { type Case, refused } from "../Case.ts"

const ANOTHER_HASH = b64u(sha256(new Uint8Array(1)))
const ANOTHER_ID = b64u(new Uint8Array(16))

const receipt = (name: string, says: string, change: (claims: JsonObject) => JsonObject, must = "C41"): Case =>
  refused(must, `receipt-${name}`, `gives a receipt ${says}`, {
    receipt: { claims: (claims) => ({ ...claims, ...change(claims) }) },
  })

const proof = (name: string, says: string, change: (claims: JsonObject) => JsonObject): Case =>
  refused("C43", `proof-${name}`, `gives a proof ${says}`, {
    form: "stream",
    proof: { claims: (claims) => ({ ...claims, ...change(claims) }) },
  })

const HOUR = 3600
/** A time in the year 2058. */
const FAR = 2_777_000_000

const TAKEOVER = { reason: "unavailable", provider: "provider9", model: "model-1" }

/** Changes the token counts of an answer, but not of its end record. */
const counted = (payload: JsonObject): JsonObject => {
  const usage = { prompt_tokens: 7, completion_tokens: 7, total_tokens: 14 }
  const { deltas } = payload
  return Array.isArray(deltas)
    ? { ...payload, deltas: deltas.map((delta) => ({ ...Object(delta), usage })) }
    : { ...payload, usage }
}

export const agreement: ReadonlyArray<Case> = [
  receipt("jti-other", "of another request_id", () => ({ jti: "00000000-0000-4000-8000-000000000000" })),
  receipt("jti-null", "without a request_id, though there was one", () => ({ jti: null })),
  receipt("session-other", "of another session", () => ({ session_id: ANOTHER_ID })),
  receipt("request-hash", "of another request_hash", () => ({ request_hash: ANOTHER_HASH })),
  receipt("form", "of the other form", ({ form }) => ({ form: form === "stream" ? "complete" : "stream" })),
  receipt("status", "of a failure, about a complete answer", () => ({ status: "failed" })),
  receipt("finish-reasons", "of other finish_reasons", () => ({ finish_reasons: ["length"] })),
  receipt("usage", "of another usage", () => ({ usage: { total_tokens: 1_000_000 } })),
  receipt("model-other", "of a model that the answer does not name", () => ({ model: "model-9" })),
  receipt("model-none", "of no model, though the answer names one", () => ({ model: null })),
  refused("C41", "usage-of-frames", "gives another usage in record and receipt than in the answer", {
    payloads: (payloads) =>
      payloads.map((payload, index) => (index === payloads.length - 1 ? counted(payload) : payload)),
  }),
  refused("C41", "finish-reasons-of-frames", "gives other finish_reasons in record and receipt than in the answer", {
    record: (record) => ({ ...record, finish_reasons: ["length"] }),
    receipt: { claims: (claims) => ({ ...claims, finish_reasons: ["length"] }) },
  }),
  refused("C41", "provider-of-restart", "gives a receipt of the provider that another one took over from", {
    form: "stream",
    restart: true,
    payloads: (payloads) => [{ restart: TAKEOVER, deltas: [] }, ...payloads],
  }),
  receipt("provider-none", "of a complete answer without a provider", () => ({ provider: null })),
  receipt(
    "late",
    "of a request that came long after it was issued",
    () => ({ received_at: FAR, completed_at: FAR, iat: FAR }),
    "C42",
  ),
  receipt("stated-late", "that was made long after the client had it", () => ({ iat: FAR }), "C42"),
  receipt("count-missing", "without a count", () => ({ count: undefined }), "C31"),
  receipt("model-number", "whose model is a number", () => ({ model: 5 }), "C31"),
  receipt("usage-number", "whose usage is a number", () => ({ usage: 3 }), "C31"),
  receipt("root", "over another chain", () => ({ root: ANOTHER_HASH })),
  receipt("count-more", "of one frame more than came", ({ count }) => ({ count: Number(count) + 1 })),
  receipt("count-less", "of one frame less than came", ({ count }) => ({ count: Number(count) - 1 })),
  receipt("request-commitment", "that commits to another request", () => ({ request_commitment: ANOTHER_HASH })),
  receipt("response-commitment", "that commits to another answer", () => ({ response_commitment: ANOTHER_HASH })),
  receipt(
    "early",
    "of a request that came before its session began",
    ({ received_at }) => ({ received_at: Number(received_at) - HOUR }),
    "C42",
  ),
  receipt(
    "done-early",
    "of an answer that was complete before the request came",
    ({ completed_at }) => ({ completed_at: Number(completed_at) - HOUR }),
    "C42",
  ),
  receipt(
    "stated-early",
    "that was issued before the answer was complete",
    ({ iat }) => ({ iat: Number(iat) - HOUR }),
    "C42",
  ),
  refused("C41", "receipt-missing", "gives no receipt", { record: (record) => omit(record, "receipt") }),
  refused("C41", "receipt-null", "gives null for a receipt", {
    record: (record) => ({ ...record, receipt: null }),
  }),
  proof("session-other", "of another session", () => ({ session_id: ANOTHER_ID })),
  proof("request-hash", "of another request_hash", () => ({ request_hash: ANOTHER_HASH })),
  proof("count-missing", "without a count", () => ({ count: undefined })),
  proof("root", "over another chain", () => ({ root: ANOTHER_HASH })),
  proof("count-more", "of one frame more than came", ({ count }) => ({ count: Number(count) + 1 })),
  proof("count-less", "of the data frames alone", ({ count }) => ({ count: Number(count) - 1 })),
  proof("late", "that was made long after the client had it", () => ({ iat: FAR })),
  proof("early", "that was made before its receipt", ({ iat }) => ({ iat: Number(iat) - HOUR })),
  refused("C43", "proof-missing", "gives an empty proof event", {
    events: (events) => events.map((each) => (each.event === "proof" ? { event: "proof", data: {} } : each)),
  }),
  refused("C43", "proof-of-another", "gives the proof of another answer to the same request", {
    form: "stream",
    events: (events, { again }) =>
      events.map((each) => (each.event === "proof" ? { event: "proof", data: { proof: again().proof } } : each)),
  }),
]
