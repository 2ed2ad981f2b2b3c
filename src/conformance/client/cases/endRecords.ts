/** Malformed end records, and ends of answers that failed. */
import { omit } from "../../omit.ts"
import type { JsonObject } from "../../../domain/json/json.ts"
import { type Case, refused } from "../Case.ts"

const record = (must: string, name: string, says: string, change: (record: JsonObject) => unknown): Case =>
  refused(must, `record-${name}`, `has an end record ${says}`, { record: change })

const without = (member: string) =>
  record("C31", `without-${member.replaceAll("_", "-")}`, `without ${member}`, (record) => omit(record, member))

const size = (bytes: number): Case =>
  refused("C44", `record-of-${bytes}`, `has an end record of ${bytes} bytes`, { recordBytes: bytes })

export const endRecords: ReadonlyArray<Case> = [
  size(0),
  size(4091),
  size(4093),
  size(5000),
  size(8187),
  ...["status", "finish_reasons", "usage"].map(without),
  refused("C31", "record-status-unknown", "has an end record and a receipt with an unknown status", {
    record: (record) => ({ ...record, status: "partial" }),
    receipt: { claims: (claims) => ({ ...claims, status: "partial" }) },
  }),
  record("C31", "array", "that is no object", (record) => [record]),
  record("C31", "status-case", "with a status in capitals", (record) => ({ ...record, status: "COMPLETE" })),
  record("C41", "failed", "of a failure with a receipt of an answer", (record) => ({
    ...record,
    status: "failed",
  })),
  record("C41", "usage-other", "with another usage than its receipt", (record) => ({
    ...record,
    usage: { total_tokens: 7 },
  })),
  record("C41", "reasons-other", "with other finish_reasons than its receipt", (record) => ({
    ...record,
    finish_reasons: ["length"],
  })),
  refused("C33", "answer-and-failure", "gives an answer, and says that it failed", {
    form: "complete",
    status: "failed",
    payloads: (payloads) => payloads,
  }),
  refused("C33", "null-and-complete", "gives no answer, and says that it is complete", {
    form: "complete",
    payloads: () => [null],
  }),
  refused("C31", "null-in-stream", "has an empty frame", {
    form: "stream",
    payloads: (payloads) => [null, ...payloads],
  }),
  refused("C34", "failed-without-problem", "fails without saying why", {
    status: "failed",
    record: (record) => omit(record, "problem"),
  }),
  refused("C34", "failed-problem-text", "fails with a problem that is no object", {
    status: "failed",
    record: (record) => ({ ...record, problem: "upstream-timeout" }),
  }),
  // Honest, but not an answer.
  refused("C23", "complete-failed", "says, properly sealed, that it failed", {
    form: "complete",
    expect: "failure",
    status: "failed",
  }),
  refused("C23", "complete-aborted", "says, properly sealed, that it stopped", {
    form: "complete",
    expect: "failure",
    status: "aborted",
  }),
  refused("C23", "stream-failed", "says in the end, properly sealed, that the answer broke off", {
    form: "stream",
    expect: "failure",
    status: "failed",
  }),
  refused("C23", "stream-aborted", "says in the end, properly sealed, that it stopped", {
    form: "stream",
    expect: "failure",
    status: "aborted",
  }),
]
