/** Keys and prompts stay out of errors, logs, spans and metrics, even if a provider quotes them. */
import { assert, describe, it } from "@effect/vitest"
import { Cause, Duration, Effect, Exit, Logger, Metric, References } from "effect"
import { PrometheusMetrics } from "effect/observability"
import { inspect } from "node:util"
import type { UpstreamRequest } from "../../../src/domain/upstream/upstream.ts"
import { type Asked, fault, type Reply } from "../../support/FakeUpstream.ts"
import { readInto, WIRES, wired } from "./WiredUpstream.ts"
import { keepingTracer } from "../../support/spans.ts"

const KEY = "sk-canary-key-7f3a"
const PROMPT = "canary-prompt-c0ffee"
const TOOL = "canary-tool-d00d"
const ANSWER = "canary-answer-beef"
const CANARIES = [KEY, PROMPT, TOOL, ANSWER]

const request: UpstreamRequest = {
  completion: {
    messages: [{ role: "user", content: PROMPT }],
    tools: [{ type: "function", function: { name: TOOL, parameters: { type: "object", properties: {} } } }],
  },
}

/** Everything a provider was sent, said back. */
const quote = ({ body, headers, key, text }: Asked): string =>
  `Bad request: ${text} with key ${key}, ${JSON.stringify(headers)}, ${JSON.stringify(body)}, ${ANSWER}`

const quoting =
  (status: number): Reply =>
  (asked) =>
    fault.status(status, { body: { error: { message: quote(asked), type: quote(asked), code: status } } })

const REPLIES: ReadonlyArray<Reply> = [
  ...[400, 401, 403, 404, 413, 422, 429, 500, 503].map(quoting),
  (asked) => fault.status(500, { body: quote(asked), headers: { "content-type": "text/plain" } }),
  (asked) => fault.status(200, { body: quote(asked) }),
  (asked) => fault.status(200, { body: quote(asked), headers: { "content-type": `text/html; q="${ANSWER}"` } }),
  (asked) => fault.raw(`HTTP/1.1 200 OK\r\ncontent-type: ${quote(asked)}\r\n\r\n`),
  (asked) => fault.raw(quote(asked)),
  (asked) => ({ text: quote(asked), delivery: { breaks: { after: 0, how: "garbage" } } }),
  (asked) => ({ text: quote(asked), delivery: { breaks: { after: 2, how: "error" } } }),
  (asked) => ({ text: quote(asked), delivery: { breaks: { after: 2, how: "cut" } } }),
  (asked) => ({ text: quote(asked), toolCalls: [{ name: TOOL, arguments: { quoted: quote(asked) } }] }),
  (asked) => ({ text: "fine", model: quote(asked) }),
  fault.reset,
  fault.silence,
]

/** All that an operator can see of one call, as text. */
const observe = Effect.fnUntraced(function* (call: Effect.Effect<unknown, unknown>) {
  const lines: Array<string> = []
  const logger = Logger.make((options) => {
    lines.push(
      Logger.formatJson.log(options),
      Logger.formatLogFmt.log(options),
      inspect(options.message, { depth: 20 }),
    )
  })
  const { spans, tracer } = keepingTracer()
  const registry: Metric.MetricRegistry = new Map()
  const exit = yield* Effect.exit(call).pipe(
    Effect.tap((exit) => (Exit.isFailure(exit) ? Effect.logError("call failed", exit.cause) : Effect.void)),
    Effect.provideService(Metric.MetricRegistry, registry),
    Effect.provideService(References.MinimumLogLevel, "All"),
    Effect.withTracer(tracer),
    Effect.provide(Logger.layer([logger])),
  )
  const metrics = yield* Effect.provideService(PrometheusMetrics.format(), Metric.MetricRegistry, registry)
  const traces = spans.map(({ attributes, events, kind, links, name, status }) =>
    inspect(
      { name, kind, attributes, events, links, exit: status._tag === "Ended" ? shown(status.exit) : undefined },
      ALL,
    ),
  )
  return { exit, places: { error: shown(exit), logs: lines.join("\n"), spans: traces.join("\n"), metrics }, spans }
})

const ALL = { depth: 30, showHidden: true, maxStringLength: Infinity, maxArrayLength: Infinity }

/** A failure in every form in which it could be written down; a success says what was asked for. */
const shown = (exit: Exit.Exit<unknown, unknown>): string => {
  if (Exit.isSuccess(exit)) return ""
  const errors = exit.cause.reasons.filter(Cause.isFailReason).map(({ error }) => error)
  return [
    Cause.pretty(exit.cause),
    inspect(exit.cause, ALL),
    JSON.stringify(exit.cause),
    ...errors.flatMap((error) => [String(error), JSON.stringify(error), inspect(error, ALL)]),
  ].join("\n")
}

describe.concurrent.each(WIRES)("$name", (wire) => {
  it.live("keeps what a provider quotes out of logs, spans and metrics", () =>
    Effect.gen(function* () {
      const short = Duration.millis(150)
      const { target, upstream } = yield* wired(wire, {
        alone: true,
        apiKey: KEY,
        retry: { times: 1 },
        timeouts: { answer: short, firstToken: short, idle: short },
      })
      let failures = 0
      for (const reply of REPLIES) {
        for (const mode of ["complete", "stream", "stream without restart"] as const) {
          target.clear()
          target.always(reply)
          const call =
            mode === "complete"
              ? upstream.complete(request)
              : readInto(upstream, { ...request, restart: mode === "stream" }, [])
          const { exit, places, spans } = yield* observe(call)
          assert.isAbove(spans.length, 0)
          assert.include(places.metrics, "sealgate_upstream_calls_total")
          if (Exit.isFailure(exit)) failures++
          for (const [place, text] of Object.entries(places)) {
            for (const canary of CANARIES) assert.notInclude(text, canary, `${place} of ${mode}`)
          }
        }
      }
      assert.isAbove(failures, REPLIES.length * 2)
    }),
  )
})
