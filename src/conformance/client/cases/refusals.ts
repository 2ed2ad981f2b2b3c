/** Unsealed refusals. Anybody on the path can forge them, so they are never an answer. */
import { problemReply } from "../replies.ts"
import { type Case, type CaseClass, refused } from "../Case.ts"
import type { Reply } from "../Lie.ts"

const page = (status: number, type: string, text: string): Reply => ({
  status,
  headers: { "content-type": type },
  body: [text],
})

const GONE = problemReply(410, "session-gone")
const GONE_TWICE = '{"status":410,"code":"session-gone","code":"session-gone","title":"Gone","retryable":true}'

const always = (must: string, name: string, says: string, path: "init" | "completions", reply: Reply): Case =>
  refused(must, `refusal-${name}`, says, { instead: (asked) => (asked === path ? reply : undefined) })

export const refusals: CaseClass = {
  title: "Refusals",
  cases: [
    refused("C24", "refusal-stale", "says of every request, properly sealed, that it is stale", {
      status: "failed",
      record: (record) => ({ ...record, problem: { ...Object(record["problem"]), status: 400, code: "stale" } }),
    }),
    always("C25", "session-gone", "says of every request that its session is gone", "completions", GONE),
    always(
      "C25",
      "draining",
      "says of every request that it is shutting down",
      "completions",
      problemReply(503, "draining"),
    ),
    always("C25", "replayed", "says that a request came before", "completions", problemReply(409, "replayed")),
    always(
      "C25",
      "rate-limited",
      "says that there are too many requests",
      "completions",
      problemReply(429, "rate-limited"),
    ),
    always("C25", "overloaded", "says that it is overloaded", "completions", problemReply(503, "overloaded")),
    always("C25", "internal", "says that it has a fault", "completions", problemReply(500, "internal")),
    always("C25", "unopenable", "says that it cannot open a request", "completions", problemReply(400, "unopenable")),
    always(
      "C26",
      "bad-gateway",
      "lets a page of something in between come, with 502",
      "completions",
      page(502, "text/html", "<h1>Bad Gateway</h1>"),
    ),
    always(
      "C26",
      "gone-no-problem",
      "says that the session is gone in something that is no problem document",
      "completions",
      {
        ...GONE,
        headers: { "content-type": "application/json" },
      },
    ),
    always(
      "C26",
      "gone-not-i-json",
      "says that the session is gone in a problem document that is not I-JSON",
      "completions",
      page(410, "application/problem+json", GONE_TWICE),
    ),
    always("C26", "redirect", "sends the client elsewhere", "completions", {
      ...page(307, "text/plain", ""),
      headers: { location: "/honest-complete/v1/completions" },
    }),
    always(
      "C18",
      "no-common-suite",
      "says that it has none of the suites",
      "init",
      problemReply(400, "no-common-suite"),
    ),
    always(
      "C18",
      "init-internal",
      "says that it has a fault when a session is begun",
      "init",
      problemReply(500, "internal"),
    ),
    always(
      "C18",
      "init-page",
      "answers with a page of something in between when a session is begun",
      "init",
      page(502, "text/html", "<h1>Bad Gateway</h1>"),
    ),
  ],
}
