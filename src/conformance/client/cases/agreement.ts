/** Receipts and proofs, properly signed, that say something else than what the client knows or was told beside it. */
import { omit } from "../../omit.ts"
import { encodeBase64Url } from "../../../domain/bytes.ts"
import type { JsonObject } from "../../../domain/json.ts"
import { sha256 } from "../../../services/sealing/sha256.ts"
import { type Case, type CaseClass, refused } from "../Case.ts"

const STREAM = { form: "stream" } as const
const ANOTHER_HASH = encodeBase64Url(sha256(new Uint8Array(1)))
const ANOTHER_ID = encodeBase64Url(new Uint8Array(16))

const receipt = (name: string, says: string, change: (claims: JsonObject) => JsonObject, must = "C41"): Case =>
  refused(must, `receipt-${name}`, `gives a receipt ${says}`, {
    receipt: { claims: (claims) => ({ ...claims, ...change(claims) }) },
  })

const proof = (name: string, says: string, change: (claims: JsonObject) => JsonObject, must = "C43"): Case =>
  refused(
    must,
    `proof-${name}`,
    `gives a proof ${says}`,
    { proof: { claims: (claims) => ({ ...claims, ...change(claims) }) } },
    STREAM,
  )

const HOUR = 3600

export const agreement: CaseClass = {
  title: "Agreement of receipt, proof and answer",
  cases: [
    receipt("jti-other", "of another request_id", () => ({ jti: "00000000-0000-4000-8000-000000000000" })),
    receipt("jti-null", "without a request_id, though there was one", () => ({ jti: null })),
    receipt("session-other", "of another session", () => ({ session_id: ANOTHER_ID })),
    receipt("request-hash", "of another request_hash", () => ({ request_hash: ANOTHER_HASH })),
    receipt("form", "of the other form", ({ form }) => ({ form: form === "stream" ? "complete" : "stream" })),
    receipt("status", "of a failure, about a complete answer", () => ({ status: "failed" })),
    receipt("finish-reasons", "of other finish_reasons", () => ({ finish_reasons: ["length"] })),
    receipt("usage", "of another usage", () => ({ usage: { total_tokens: 1_000_000 } })),
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
      "of an answer that was done before the request came",
      ({ completed_at }) => ({ completed_at: Number(completed_at) - HOUR }),
      "C42",
    ),
    receipt(
      "stated-early",
      "that was made before the answer was done",
      ({ iat }) => ({ iat: Number(iat) - HOUR }),
      "C42",
    ),
    refused("C41", "receipt-missing", "gives no receipt", { record: (record) => omit(record, "receipt") }),
    refused("C41", "receipt-null", "gives null for a receipt", {
      record: (record) => ({ ...record, receipt: null }),
    }),
    proof("session-other", "of another session", () => ({ session_id: ANOTHER_ID })),
    proof("request-hash", "of another request_hash", () => ({ request_hash: ANOTHER_HASH })),
    proof("root", "over another chain", () => ({ root: ANOTHER_HASH })),
    proof("count-more", "of one frame more than came", ({ count }) => ({ count: Number(count) + 1 })),
    proof("count-less", "of the data frames alone", ({ count }) => ({ count: Number(count) - 1 })),
    proof("early", "that was made before its receipt", ({ iat }) => ({ iat: Number(iat) - HOUR })),
    refused(
      "C43",
      "proof-missing",
      "gives an empty proof event",
      {
        events: (events) => events.map((each) => (each.event === "proof" ? { event: "proof", data: {} } : each)),
      },
      STREAM,
    ),
    refused(
      "C43",
      "proof-of-another",
      "gives the proof of another answer to the same request",
      {
        events: (events, { again }) =>
          events.map((each) => (each.event === "proof" ? { event: "proof", data: { proof: again().proof } } : each)),
      },
      STREAM,
    ),
  ],
}
