/** Unsealed refusals. Anybody on the path can forge them, so they are never an answer. */
import { problemReply } from "../../lyingProxy/replies.ts"
import { type Case, type Next, refused, type Verdict } from "../Case.ts"
import type { ProxyReply } from "../../lyingProxy/Lie.ts"

const page = (status: number, type: string, text: string): ProxyReply => ({
  status,
  headers: { "content-type": type },
  body: [text],
})

const BAD_GATEWAY = page(502, "text/html", "<h1>Bad Gateway</h1>")
const GONE = problemReply(410, "session-gone")
const GONE_TWICE = '{"status":410,"code":"session-gone","code":"session-gone","title":"Gone","retryable":true}'

const refusal = (name: string, says: string, reply: ProxyReply, next: Next = "nothing"): Case =>
  refused("C25", `refusal-${name}`, says, { expect: "refusal", next, instead: { completions: reply } })

/** An answer of an intermediary, or one that looks like it. */
const noRefusal = (name: string, says: string, reply: ProxyReply): Case =>
  refused("C26", `refusal-${name}`, says, { expect: "break", next: "same-bytes", instead: { completions: reply } })

const ofInit = (name: string, says: string, reply: ProxyReply, expect: Verdict = "refusal"): Case =>
  refused("C18", `refusal-${name}`, says, { expect, instead: { init: reply } })

export const refusals: ReadonlyArray<Case> = [
  refused("C24", "refusal-stale", "says of every request, properly sealed, that it is stale", {
    expect: "failure",
    status: "failed",
    record: (record) => ({ ...record, problem: { ...Object(record["problem"]), status: 400, code: "stale" } }),
  }),
  refusal("session-gone", "says of every request that its session is gone", GONE, "seal-anew"),
  refusal("draining", "says of every request that it is shutting down", problemReply(503, "draining"), "seal-anew"),
  refusal("replayed", "says that a request came before", problemReply(409, "replayed")),
  refusal("rate-limited", "says that there are too many requests", problemReply(429, "rate-limited")),
  refusal("overloaded", "says that it is overloaded", problemReply(503, "overloaded")),
  refusal("internal", "says that it has a fault", problemReply(500, "internal")),
  refusal("unopenable", "says that it cannot open a request", problemReply(400, "unopenable")),
  noRefusal("bad-gateway", "sends the page of an intermediary, with 502", BAD_GATEWAY),
  noRefusal("gone-no-problem", "says that the session is gone in a body that is no problem document", {
    ...GONE,
    headers: { "content-type": "application/json" },
  }),
  noRefusal(
    "gone-not-i-json",
    "says that the session is gone in a problem document that is not I-JSON",
    page(410, "application/problem+json", GONE_TWICE),
  ),
  noRefusal("redirect", "redirects the client", {
    ...page(307, "text/plain", ""),
    headers: { location: "/honest-complete/v1/completions" },
  }),
  ofInit("no-common-suite", "says that it has none of the suites", problemReply(400, "no-common-suite")),
  ofInit("init-internal", "says that it has a fault when a session is begun", problemReply(500, "internal")),
  ofInit("init-page", "answers with the page of an intermediary when a session is begun", BAD_GATEWAY, "break"),
]
