/** The kit for servers: ours passes every check that can be made from outside, and servers that are not sealed proxies pass none. */
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { setTimeout } from "node:timers/promises"
import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Redacted } from "effect"
import { CHECKS, checksOf } from "../../src/conformance/proxy/checks/all.ts"
import { runChecks } from "../../src/conformance/proxy/runChecks.ts"
import { NoResponse, Wire } from "../../src/conformance/proxy/Wire.ts"
import { newCallerKey } from "../../src/services/access/CallerKeys.ts"
import type { Provider } from "../../src/services/upstream/Provider.ts"
import { echo } from "../../src/services/upstream/providers/echo/Echo.ts"
import { Upstream } from "../../src/services/upstream/Upstream.ts"
import { answering } from "../support/answering.ts"
import { makeMiddleman } from "../support/middleman.ts"
import { failing } from "../support/promises.ts"
import { specification } from "../support/protocol/pages.ts"
import { startProxy, temporaryFolder } from "../support/proxy.ts"
import { resultsOfServer as resultsOf } from "./support/results.ts"

/** Checks skipped at an open server with default settings. */
const UNSEEN = [
  "session-expired",
  "payload-credential",
  "draining",
  "overloaded",
  "eviction",
  "clock-set-back",
  "surrogate-pairs",
  "restart-after-failure",
  "as-it-was-sent",
  "not-asked",
  "events-as-they-came",
  "missed-ticks",
  "evidence-binding",
  "evidence-configuration",
]

describe("the checks", () => {
  it("cover every rule for proxies on the protocol's page", () => {
    const rules = new Set([...specification.matchAll(/\*\*(?:\[C\d+\] )?\[(P\d+)\]\*\*/g)].map(([, id]) => id))
    assert.isAbove(rules.size, 40)
    assert.deepStrictEqual([...new Set(CHECKS.map(({ must }) => must))].sort(), [...rules].sort())
    assert.strictEqual(new Set(CHECKS.map(({ name }) => name)).size, CHECKS.length)
  })

  it("of the core profile leave out exactly the rules that the documentation lists", () => {
    const listed =
      /`--profile core` leaves out .*?\(([^)]*)\)/s.exec(readFileSync("docs/reference/conformance.md", "utf8"))?.[1] ??
      ""
    const range = (first: number, last: number) => Array.from({ length: last - first + 1 }, (_, i) => `P${first + i}`)
    const rules = [...listed.matchAll(/P(\d+)(?: to P(\d+))?/g)].flatMap(([, first, last]) =>
      range(Number(first), Number(last ?? first)),
    )
    const core = new Set(checksOf("core").map(({ must }) => must))
    assert.deepStrictEqual([...new Set(CHECKS.map(({ must }) => must))].filter((must) => !core.has(must)).sort(), rules)
  })
})

/** Gives the same answer to every request. */
const strange = (status: number, type: string, body: string) =>
  answering((response, request) => {
    request.resume()
    response.writeHead(status, { "content-type": type }).end(body)
  })

describe("servers that are not sealed proxies", () => {
  it.live("fail without an unexpected error in a check", () =>
    Effect.gen(function* () {
      const kid = "A".repeat(43)
      for (const [status, type, body] of [
        [200, "application/json", '{"keys":[],"attestation":"a.b.c","response_nonce":1,"frames":[]}'],
        [200, "text/event-stream", "data: hello\n\n"],
        [200, "text/html", "<h1>Hello</h1>"],
        [404, "application/problem+json", '{"title":"Not found","status":404}'],
        [502, "text/html", ""],
      ] as const) {
        const { failed, passed } = yield* resultsOf({ url: yield* strange(status, type, body), kid }, CHECKS)
        assert.deepStrictEqual(passed, [], body)
        assert.deepStrictEqual(
          failed.filter(({ saw }) => saw.includes("fell over")),
          [],
        )
      }
    }),
  )
})

describe("an endless answer", () => {
  it.live("is cut off, however small its pieces", () =>
    Effect.gen(function* () {
      // Node's response would join small pieces.
      const pieces = `HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n${"1\r\nx\r\n".repeat(300_000)}0\r\n\r\n`
      const url = yield* answering((response) => response.socket?.end(pieces))
      const wire = new Wire(new URL(url), undefined)
      const outcome = yield* failing(wire.sendOnce("v1/keys", {}))
      assert.instanceOf(outcome, NoResponse)
      assert.include(outcome.message, "there is no end to it")
    }),
  )
})

const MINUTE = 60_000

/** The echo, and what it was asked. */
const countedUpstream = () => {
  const calls: Array<string> = []
  const counted: Provider = {
    ...echo,
    complete: (request) => {
      calls.push("complete")
      return echo.complete(request)
    },
    stream: (request) => {
      calls.push("stream")
      return echo.stream(request)
    },
  }
  return { calls, upstream: Upstream.layer({ providers: [counted] }) }
}

describe("our server", () => {
  it.live(
    "passes every check that is possible from outside, with few calls of its provider",
    () =>
      Effect.gen(function* () {
        const { calls, upstream } = countedUpstream()
        const { failed, passed, skipped } = yield* resultsOf(yield* startProxy({ upstream }), CHECKS)
        assert.deepStrictEqual(failed, [])
        assert.deepStrictEqual(
          skipped.map(({ name }) => name),
          UNSEEN,
        )
        assert.strictEqual(passed.length, CHECKS.length - UNSEEN.length)
        assert.isBelow(calls.length, 20)
      }),
    MINUTE,
  )

  it.live("passes the checks for credentials and for short sessions", () =>
    Effect.gen(function* () {
      const alice = newCallerKey("alice")
      const callerKeysFile = join(yield* temporaryFolder, "callers")
      writeFileSync(callerKeysFile, `${alice.line}\n`)
      const settings = { callerKeysFile, sessionTtl: Duration.seconds(6), sessionMaxRequests: 20 }
      const credential = `Bearer ${Redacted.value(alice.key)}`
      const { failed, skipped } = yield* resultsOf({ ...(yield* startProxy({ settings })), credential }, CHECKS)
      assert.deepStrictEqual(failed, [])
      assert.deepStrictEqual(
        skipped.map(({ name }) => name),
        [
          "request-id-per-credential",
          ...UNSEEN.filter((name) => name !== "session-expired" && name !== "payload-credential"),
        ],
      )
    }),
  )

  it.live("passes although a busy machine delays an answer at each pace", () =>
    Effect.gen(function* () {
      const { kid, url } = yield* startProxy()
      for (const name of ["pace-ticks", "pace-served", "pace-default"]) {
        let asked = 0
        const slow = yield* makeMiddleman(url, async (passing, onward) => {
          const answer = await onward(passing)
          const body = await answer.text()
          if (passing.path === "/v1/completions" && ++asked === 1) await setTimeout(2000)
          return new Response(body, answer)
        })
        const checks = CHECKS.filter((check) => check.name === name)
        const { failed, passed } = yield* resultsOf({ url: slow.url, kid }, checks)
        assert.deepStrictEqual([failed, passed.length], [[], 1])
        assert.isAbove(asked, 1)
      }
    }),
  )

  it.live("is not checked further after the time limit of a run", () =>
    Effect.gen(function* () {
      const { kid, url } = yield* startProxy()
      const target = { url: new URL(url), pins: [kid], credential: "" }
      const cut = yield* runChecks(target, CHECKS, { limit: Duration.zero })
      assert.deepStrictEqual([cut.ok, cut.passed, cut.skipped], [false, 0, CHECKS.length])
    }),
  )
})
