/** The kit for servers: ours passes every check that can be made from outside, and a weakened copy of it does not. */
import { readFileSync, writeFileSync } from "node:fs"
import { createServer, type Server as HttpServer } from "node:http"
import type { AddressInfo } from "node:net"
import { createServer as createTcpServer } from "node:net"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Redacted } from "effect"
import type { Check } from "../../src/conformance/proxy/Check.ts"
import { CHECKS, checksOf } from "../../src/conformance/proxy/checks/all.ts"
import { runChecks } from "../../src/conformance/proxy/runChecks.ts"
import { NoAnswer, Wire } from "../../src/conformance/proxy/Wire.ts"
import { newCallerKey } from "../../src/services/access/CallerKeys.ts"
import type { Provider } from "../../src/services/upstream/Provider.ts"
import { echo } from "../../src/services/upstream/providers/echo/Echo.ts"
import { Upstream } from "../../src/services/upstream/Upstream.ts"
import { runProxy } from "../support/processes.ts"
import { specification } from "../support/protocol/pages.ts"
import { startProxy, temporaryFolder } from "../support/proxy.ts"
import { KEY_MISTAKES, SERVER_VARIANTS, SERVER_WEAKNESSES } from "./support/serverWeaknesses.ts"
import { bundleWeakened } from "./support/weakened.ts"

const limit = Duration.seconds(120)

interface Server {
  readonly url: string
  readonly kid: string
  readonly credential?: string
}

const resultsOf = ({ credential = "", kid, url }: Server, checks: ReadonlyArray<Check>) =>
  Effect.map(runChecks({ url: new URL(url), pins: [kid], credential }, checks, { limit }), ({ results }) => {
    const of = (outcome: string) => results.filter((result) => result.outcome === outcome)
    return { passed: of("pass"), failed: of("fail"), skipped: of("skipped") }
  })

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

/** Answers whatever it is asked with the same. */
const strange = (status: number, type: string, body: string) =>
  Effect.acquireRelease(
    Effect.callback<HttpServer>((resume) => {
      const server = createServer((request, response) => {
        request.resume()
        response.writeHead(status, { "content-type": type }).end(body)
      }).listen(0, "127.0.0.1", () => resume(Effect.succeed(server)))
    }),
    (server) => Effect.promise(() => new Promise((resolve) => void server.close(resolve))),
  ).pipe(
    // `address()` is a string only for pipes.
    Effect.map((server) => `http://127.0.0.1:${(server.address() as AddressInfo).port}`),
  )

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
    }).pipe(Effect.scoped),
  )
})

describe("an endless answer", () => {
  it("is cut off, however small its pieces", async () => {
    const pieces = `HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n${"1\r\nx\r\n".repeat(300_000)}0\r\n\r\n`
    const server = createTcpServer((socket) => socket.on("error", () => undefined).end(pieces))
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
    const { port } = server.address() as AddressInfo
    const wire = new Wire(new URL(`http://127.0.0.1:${port}`), undefined)
    const outcome = await wire.sendOnce("v1/keys", {}).catch((error: unknown) => error)
    await new Promise((resolve) => server.close(resolve))
    assert.instanceOf(outcome, NoAnswer)
    assert.include(outcome.message, "there is no end to it")
  })
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
      }).pipe(Effect.scoped),
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
    }).pipe(Effect.scoped),
  )

  it.live("is not checked further after the time limit of a run", () =>
    Effect.gen(function* () {
      const { kid, url } = yield* startProxy()
      const target = { url: new URL(url), pins: [kid], credential: "" }
      const cut = yield* runChecks(target, CHECKS, { limit: Duration.zero })
      assert.deepStrictEqual([cut.ok, cut.passed, cut.skipped], [false, 0, CHECKS.length])
    }).pipe(Effect.scoped),
  )

  it.live(
    "passes with only Chat Completions, and with delayed openings",
    () =>
      Effect.gen(function* () {
        const folder = yield* temporaryFolder
        const module = yield* Effect.promise(() => bundleWeakened("cli/main.ts", SERVER_VARIANTS, folder))
        yield* Effect.forEach(
          SERVER_VARIANTS,
          ({ name }) =>
            Effect.gen(function* () {
              const proxy = yield* runProxy({ module, env: { WEAKNESS: name } })
              assert.deepStrictEqual((yield* resultsOf(proxy, CHECKS)).failed, [], name)
            }).pipe(Effect.scoped),
          { discard: true },
        )
      }).pipe(Effect.scoped),
    60_000,
  )

  it.live(
    "fails only once for several checks with one cause",
    () =>
      Effect.gen(function* () {
        const folder = yield* temporaryFolder
        const weaknesses = SERVER_WEAKNESSES.filter(({ name }) => name === "statements without a version")
        const module = yield* Effect.promise(() => bundleWeakened("cli/main.ts", weaknesses, folder))
        const proxy = yield* runProxy({ module, env: { WEAKNESS: "statements without a version" } })
        const { failed, skipped } = yield* resultsOf(proxy, CHECKS)
        assert.isBelow(failed.length, 6, failed.map(({ name, saw }) => `${name}: ${saw}`).join("\n"))
        assert.isAbove(skipped.filter(({ saw }) => saw.startsWith("it fails as ")).length, 30)
      }).pipe(Effect.scoped),
    60_000,
  )

  it.live(
    "learns which mistake in its keys keeps frames from opening",
    () =>
      Effect.gen(function* () {
        const folder = yield* temporaryFolder
        const module = yield* Effect.promise(() => bundleWeakened("cli/main.ts", KEY_MISTAKES, folder))
        const plain = CHECKS.filter(({ must }) => must === "P32" || must === "P33")
        yield* Effect.forEach(
          KEY_MISTAKES,
          ({ name, says }) =>
            Effect.gen(function* () {
              const proxy = yield* runProxy({ module, env: { WEAKNESS: name } })
              const { failed, passed } = yield* resultsOf(proxy, plain)
              assert.deepStrictEqual(
                failed.map(({ saw }) => saw.includes(says)),
                [true],
                failed.map(({ saw }) => `${name}: ${saw}`).join("\n"),
              )
              assert.deepStrictEqual(passed, [], name)
            }).pipe(Effect.scoped),
          { concurrency: 2, discard: true },
        )
      }).pipe(Effect.scoped),
    60_000,
  )

  it.live(
    "fails if any of its rules is broken",
    () =>
      Effect.gen(function* () {
        const folder = yield* temporaryFolder
        const module = yield* Effect.promise(() => bundleWeakened("cli/main.ts", SERVER_WEAKNESSES, folder))
        const failing = Effect.fnUntraced(function* (
          musts: ReadonlySet<string>,
          env: Readonly<Record<string, string>>,
        ) {
          const checks = CHECKS.filter(({ must }) => musts.has(must))
          return (yield* resultsOf(yield* runProxy({ module, env }), checks)).failed
        }, Effect.scoped)
        assert.deepStrictEqual(yield* failing(new Set(SERVER_WEAKNESSES.map(({ must }) => must)), {}), [])
        yield* Effect.forEach(
          SERVER_WEAKNESSES,
          ({ must, name }) =>
            Effect.map(failing(new Set([must]), { WEAKNESS: name }), (failed) =>
              assert.isNotEmpty(failed, `${must}: ${name}`),
            ),
          { concurrency: 2, discard: true },
        )
      }).pipe(Effect.scoped),
    120_000,
  )
})
