/** If a collector is down, refuses, hangs or recovers, the server works, logs it once, and stops in time. */
import { setTimeout } from "node:timers/promises"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { type OtlpCollector, otlpCollector } from "../support/otlpCollector.ts"
import { type RunningProxyProcess, runProxy } from "../support/processes.ts"
import { scrape, valueOf } from "../support/prometheus.ts"

/** Short export intervals and time limits. */
const IMPATIENT = {
  OTEL_BSP_SCHEDULE_DELAY: "20",
  OTEL_METRIC_EXPORT_INTERVAL: "100",
  OTEL_EXPORTER_OTLP_TIMEOUT: "300",
  LOG_LEVEL: "debug",
}

/** A frequent poll without load. */
const BETWEEN_MS = 20

const SIGNALS = ["traces", "metrics", "logs"] as const
const WARNING = /Telemetry does not reach its collector/
const RECOVERED = /Telemetry reaches its collector again/

const lines = (proxy: RunningProxyProcess, pattern: RegExp) => proxy.stdout.filter((line) => pattern.test(line))

const signalsOf = (found: ReadonlyArray<string>) =>
  found.map((line) => String(JSON.parse(line).annotations.signal)).sort()

/** Sends requests in sequence until `done`, and asserts that all are answered. */
const working = async (proxy: RunningProxyProcess, done: () => Promise<boolean>) => {
  const client = proxy.client()
  do {
    await setTimeout(BETWEEN_MS)
    const { completion } = await client.complete({ prompt: "hello" })
    assert.strictEqual(completion.choices[0]?.message.content, "hello")
  } while (!(await done()))
}

const exports = async (proxy: RunningProxyProcess, signal: string, outcome: string) =>
  valueOf(await scrape(proxy), "sealgate_telemetry_exports_total", { signal, outcome })

/** Whether each signal failed to export `times` times. */
const failed = (proxy: RunningProxyProcess, times: number) => async () => {
  for (const signal of SIGNALS) if ((await exports(proxy, signal, "failure")) < times) return false
  return true
}

const stop = async (proxy: RunningProxyProcess) => {
  proxy.kill("SIGTERM")
  assert.strictEqual(await proxy.exit, 0)
}

const proxyWith = (collector: Pick<OtlpCollector, "url">, env: Readonly<Record<string, string>> = {}) =>
  runProxy({ env: { ...IMPATIENT, OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, ...env } })

describe("a collector", () => {
  it.live("that refuses causes one warning per signal, and one notice of its recovery", () =>
    Effect.gen(function* () {
      const collector = yield* otlpCollector
      collector.become({ status: 400 })
      // A collector that answers gets time, even on a busy machine: until its time limit, and until the next export.
      const patient = { OTEL_EXPORTER_OTLP_TIMEOUT: "10000", OTEL_METRIC_EXPORT_INTERVAL: "2000" }
      const proxy = yield* proxyWith(collector, patient)
      yield* Effect.promise(async () => {
        await working(proxy, failed(proxy, 3))
        assert.deepStrictEqual(signalsOf(lines(proxy, WARNING)), [...SIGNALS].sort())
        assert.deepStrictEqual(
          lines(proxy, WARNING).map((line) => JSON.parse(line).annotations.reason),
          ["400", "400", "400"],
        )
        assert.strictEqual(collector.spans.length + collector.logs.length + collector.series.length, 0)
        collector.become("well")
        await working(proxy, async () => lines(proxy, RECOVERED).length === SIGNALS.length)
        assert.deepStrictEqual(signalsOf(lines(proxy, RECOVERED)), [...SIGNALS].sort())
        assert.strictEqual(lines(proxy, WARNING).length, SIGNALS.length)
        await stop(proxy)
      })
    }),
  )

  it.live("that is absent or hangs loses only its telemetry, and does not delay a stop", () =>
    Effect.gen(function* () {
      const gone = yield* Effect.scoped(otlpCollector)
      const hanging = yield* otlpCollector
      hanging.become("hangs")
      const [without, stuck] = yield* Effect.all(
        // Without the shutdown, an export to a hanging collector takes a minute.
        [proxyWith(gone), proxyWith(hanging, { OTEL_EXPORTER_OTLP_TIMEOUT: "60000" })],
        { concurrency: "unbounded" },
      )
      yield* Effect.promise(async () => {
        await working(without, failed(without, 3))
        assert.deepStrictEqual(signalsOf(lines(without, WARNING)), [...SIGNALS].sort())
        assert.match(lines(without, WARNING).join(), /ECONNREFUSED/)
        assert.notMatch(lines(without, WARNING).join(), /"reason":"(Error|unknown)"/)
        await stop(without)

        const paths = () => new Set(hanging.requests.map(({ path }) => path))
        await working(stuck, async () => paths().size === SIGNALS.length)
        // No export begins while another hangs, so only the queues fill up.
        await working(stuck, async () => true)
        const before = performance.now()
        await stop(stuck)
        // Three seconds for the rest, far below the exports' minute.
        assert.isBelow(performance.now() - before, 30_000)
        assert.isAtMost(hanging.requests.length, 3 * SIGNALS.length)
      })
    }),
  )
})

describe("OTEL_* variables", () => {
  it.live("route each signal to its endpoint, and disable unwanted ones", () =>
    Effect.gen(function* () {
      const [main, own, never] = yield* Effect.all([otlpCollector, otlpCollector, otlpCollector])
      const fast = { OTEL_BSP_SCHEDULE_DELAY: "20", OTEL_EXPORTER_OTLP_COMPRESSION: "gzip" }
      const [split, disabled] = yield* Effect.all(
        [
          runProxy({
            env: {
              ...fast,
              OTEL_EXPORTER_OTLP_ENDPOINT: `${main.url}/`,
              OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${own.url}/v1/traces`,
              OTEL_LOGS_EXPORTER: "none",
            },
          }),
          runProxy({
            env: {
              ...fast,
              OTEL_EXPORTER_OTLP_ENDPOINT: never.url,
              OTEL_SDK_DISABLED: "true",
              OTEL_EXPORTER_OTLP_PROTOCOL: "grpc",
            },
          }),
        ],
        { concurrency: "unbounded" },
      )
      yield* Effect.promise(async () => {
        for (const proxy of [split, disabled]) {
          await proxy.client().complete({ prompt: "hello" })
          await stop(proxy)
        }
      })
      assert.deepStrictEqual([...new Set(main.requests.map(({ path }) => path))], ["/v1/metrics"])
      assert.deepStrictEqual([...new Set(own.requests.map(({ path }) => path))], ["/v1/traces"])
      assert.isTrue(own.spans.some(({ name }) => name === "POST /v1/completions"))
      for (const { headers } of [...main.requests, ...own.requests]) {
        assert.strictEqual(headers["content-encoding"], "gzip")
      }
      assert.deepStrictEqual(never.requests, [])
      assert.strictEqual(lines(disabled, /set, but not used: OTEL_EXPORTER_OTLP_PROTOCOL;/).length, 1)
      assert.deepStrictEqual(lines(split, /set, but not used/), [])
    }),
  )
})
