import { assert, it } from "@effect/vitest"
import { prefersCsv } from "../../../src/http/gateway/prefersCsv.ts"

it("prefersCsv obeys the weights of an Accept header, and prefers JSON if neither is named", () => {
  for (const accept of [
    "text/csv",
    "TEXT/CSV; header=present",
    "text/csv, application/json;q=0.9",
    "a/b, text/csv;q=0.1",
  ])
    assert.isTrue(prefersCsv(accept), accept)
  for (const accept of [
    undefined,
    "",
    "*/*",
    "text/*",
    "application/json",
    "text/csv;q=0",
    "text/csv;q=0.5, application/json",
  ])
    assert.isFalse(prefersCsv(accept), accept)
})
