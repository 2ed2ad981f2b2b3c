/**
 * Declares every metric of both servers. Services update them through `counter`, `gauge` and `histogram`; the table in
 * docs/reference/metrics.md, the dashboard and the check of the alert rules use the same entries. Labels come from closed lists
 * or the configuration, never from a caller's input.
 */
import { Effect, Metric } from "effect"
import { BuiltInMode } from "../domain/jobs/modes.ts"

/** Upper bounds in seconds for requests: from a local call to the longest provider call. */
const REQUEST_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 600]
const CALL_SECONDS = [0.05, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60, 120, 300, 600]
/** Bucket bounds for jobs, which make up to some twenty calls and may wait. */
const JOB_SECONDS = [0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1800, 3600]

const EACH_MODE = BuiltInMode.literals.map((mode) => ({ mode }))

const SESSION_ENDS = ["expired", "spent", "evicted", "shutdown"] as const
export type SessionEnd = (typeof SESSION_ENDS)[number]

/** Why a sealed request was not opened or not served. */
const OPENING_FAILURES = [
  "unopenable",
  "replayed",
  "session-gone",
  "too-large",
  "overloaded",
  "draining",
  "stale",
  "unauthorized",
] as const
export type OpeningFailure = (typeof OPENING_FAILURES)[number]

const listed = (values: ReadonlyArray<string>): string => values.map((value) => `\`${value}\``).join(", ")

interface Declaration {
  readonly type: "counter" | "gauge" | "histogram"
  readonly labels?: ReadonlyArray<string>
  /** UCUM unit, as OTLP requires: `s`, `By`, `1`, `{token}`. */
  readonly unit: string
  readonly meaning: string
  /** The server that has it; both if absent. */
  readonly server?: "proxy" | "gateway"
  /** Series of a counter that start at 0, so that an alert sees their first increase. */
  readonly initial?: ReadonlyArray<Readonly<Record<string, string>>>
  /** Upper bounds of a histogram's buckets. */
  readonly boundaries?: ReadonlyArray<number>
}

const METRICS = {
  sealgate_ready: {
    type: "gauge",
    unit: "1",
    meaning: "1 if `/ready` would answer 200, else 0",
  },
  sealgate_http_requests_total: {
    type: "counter",
    labels: ["method", "route", "status"],
    unit: "{request}",
    meaning: "requests answered; status `aborted`: the caller disconnected",
  },
  sealgate_http_request_duration_seconds: {
    type: "histogram",
    labels: ["method", "route"],
    unit: "s",
    meaning: "time from a request to the headers of its answer",
    boundaries: REQUEST_SECONDS,
  },
  sealgate_sessions_live: {
    type: "gauge",
    unit: "{session}",
    meaning: "sessions whose key is held",
    server: "proxy",
  },
  sealgate_sessions_created_total: {
    type: "counter",
    unit: "{session}",
    meaning: "sessions begun",
    server: "proxy",
  },
  sealgate_sessions_ended_total: {
    type: "counter",
    labels: ["reason"],
    unit: "{session}",
    meaning: `sessions whose key was destroyed: ${listed(SESSION_ENDS)}`,
    server: "proxy",
    initial: SESSION_ENDS.map((reason) => ({ reason })),
  },
  sealgate_openings_failed_total: {
    type: "counter",
    labels: ["reason"],
    unit: "{request}",
    meaning: `sealed requests not opened or not served: ${listed(OPENING_FAILURES)}`,
    server: "proxy",
    initial: OPENING_FAILURES.map((reason) => ({ reason })),
  },
  sealgate_frames_sealed_total: {
    type: "counter",
    unit: "{frame}",
    meaning: "response frames sealed",
    server: "proxy",
  },
  sealgate_sealed_responses_total: {
    type: "counter",
    labels: ["form", "status"],
    unit: "{response}",
    meaning: "sealed answers and streams; status `abandoned`: a stream not read to its end",
    server: "proxy",
  },
  sealgate_upstream_calls_total: {
    type: "counter",
    labels: ["provider", "model", "outcome"],
    unit: "{call}",
    meaning: "calls to providers; outcome `success`, `interrupted` or the failure's kind",
  },
  sealgate_upstream_errors_total: {
    type: "counter",
    labels: ["provider", "kind"],
    unit: "{call}",
    meaning: "failed calls by kind of failure",
  },
  sealgate_upstream_retries_total: {
    type: "counter",
    labels: ["provider"],
    unit: "{call}",
    meaning: "calls that tried the same target again",
  },
  sealgate_upstream_failovers_total: {
    type: "counter",
    labels: ["provider"],
    unit: "{call}",
    meaning: "calls that took over from another target",
  },
  sealgate_upstream_skips_total: {
    type: "counter",
    labels: ["provider", "reason"],
    unit: "{target}",
    meaning: "targets skipped without a call: `circuit` open or `bulkhead` full",
  },
  sealgate_upstream_turns_total: {
    type: "counter",
    labels: ["provider", "affinity"],
    unit: "{turn}",
    meaning: "turns of conversations that `moved` to this provider after a failure, or `followed` such a move",
    server: "proxy",
  },
  sealgate_upstream_requests_failed_total: {
    type: "counter",
    labels: ["code"],
    unit: "{request}",
    meaning: "requests that no target served, by the caller's code",
  },
  sealgate_upstream_time_to_first_token_seconds: {
    type: "histogram",
    labels: ["provider", "model"],
    unit: "s",
    meaning: "time to the first output of a stream",
    boundaries: CALL_SECONDS,
  },
  sealgate_upstream_call_duration_seconds: {
    type: "histogram",
    labels: ["provider", "model"],
    unit: "s",
    meaning: "duration of calls to providers",
    boundaries: CALL_SECONDS,
  },
  sealgate_upstream_tokens_total: {
    type: "counter",
    labels: ["provider", "model", "type"],
    unit: "{token}",
    meaning: "tokens as providers report them: `input`, of which some are `cached`, `output`",
  },
  sealgate_upstream_calls_in_flight: {
    type: "gauge",
    labels: ["provider"],
    unit: "{call}",
    meaning: "calls in flight",
  },
  sealgate_upstream_circuit_state: {
    type: "gauge",
    labels: ["provider"],
    unit: "1",
    meaning: "a provider's best circuit: 0 closed, 1 half-open, 2 open",
  },
  sealgate_jobs_open: {
    type: "gauge",
    labels: ["status"],
    unit: "{job}",
    meaning: "`queued` and `running` jobs in the database",
    server: "gateway",
  },
  sealgate_job_queue_depth: {
    type: "gauge",
    unit: "{job}",
    meaning: "jobs waiting for a worker or a retry",
    server: "gateway",
  },
  sealgate_job_queue_age_seconds: {
    type: "gauge",
    unit: "s",
    meaning: "age of the oldest job waiting for a worker, not a retry; 0 if there is none",
    server: "gateway",
  },
  sealgate_jobs_enqueued_total: {
    type: "counter",
    labels: ["mode"],
    unit: "{job}",
    meaning: "jobs enqueued through this process",
    server: "gateway",
    initial: EACH_MODE,
  },
  sealgate_jobs_ended_total: {
    type: "counter",
    labels: ["mode", "status"],
    unit: "{job}",
    meaning: "jobs ended by this process",
    server: "gateway",
  },
  sealgate_job_duration_seconds: {
    type: "histogram",
    labels: ["mode", "status"],
    unit: "s",
    meaning: "time from enqueueing a job to its end",
    server: "gateway",
    boundaries: JOB_SECONDS,
  },
  sealgate_job_step_duration_seconds: {
    type: "histogram",
    labels: ["mode", "status"],
    unit: "s",
    meaning: "duration of a job's step",
    server: "gateway",
    boundaries: CALL_SECONDS,
  },
  sealgate_job_steps_replayed_total: {
    type: "counter",
    labels: ["mode"],
    unit: "{step}",
    meaning: "finished steps that resumed jobs did not repeat",
    server: "gateway",
  },
  sealgate_job_retries_total: {
    type: "counter",
    labels: ["mode"],
    unit: "{attempt}",
    meaning: "failed attempts that are retried",
    server: "gateway",
    initial: EACH_MODE,
  },
  sealgate_job_takeovers_total: {
    type: "counter",
    labels: ["mode"],
    unit: "{job}",
    meaning: "jobs taken over from a worker that died",
    server: "gateway",
    initial: EACH_MODE,
  },
  sealgate_routing_cost_micro_usd_total: {
    type: "counter",
    labels: ["strategy", "mode"],
    unit: "{microUSD}",
    meaning: "known cost of calls that have a baseline",
    server: "gateway",
  },
  sealgate_routing_baseline_micro_usd_total: {
    type: "counter",
    labels: ["strategy", "mode"],
    unit: "{microUSD}",
    meaning: "cost of the same tokens at the baseline's price",
    server: "gateway",
  },
  sealgate_routing_unpriced_calls_total: {
    type: "counter",
    labels: ["strategy", "mode"],
    unit: "{call}",
    meaning: "calls whose cost or baseline is not known",
    server: "gateway",
  },
  sealgate_redis_up: {
    type: "gauge",
    unit: "1",
    meaning: "1 while Redis answers, 0 while this process counts by itself",
  },
  sealgate_tls_certificate_expires_at_seconds: {
    type: "gauge",
    unit: "s",
    meaning: "expiry of the certificate in use, in seconds since the epoch",
  },
  sealgate_tls_reloads_total: {
    type: "counter",
    labels: ["outcome"],
    unit: "{reload}",
    meaning: "attempts to reload changed TLS files: `success` or `failure`",
    initial: [{ outcome: "success" }, { outcome: "failure" }],
  },
  sealgate_tls_clients_refused_total: {
    type: "counter",
    labels: ["reason"],
    unit: "{handshake}",
    meaning: "failed TLS handshakes",
  },
  sealgate_event_loop_lag_seconds: {
    type: "gauge",
    unit: "s",
    meaning: "99th percentile of the event loop's delay in the last 10 s or more",
  },
  sealgate_process_memory_bytes: {
    type: "gauge",
    labels: ["kind"],
    unit: "By",
    meaning: "memory of the process: `rss`, `heapUsed`, `heapTotal`, `external`, `arrayBuffers`",
  },
  sealgate_process_start_time_seconds: {
    type: "gauge",
    unit: "s",
    meaning: "start of the process, in seconds since the epoch",
  },
  sealgate_telemetry_exports_total: {
    type: "counter",
    labels: ["signal", "outcome"],
    unit: "{export}",
    meaning: "batches of `traces`, `metrics` and `logs` sent to the collector: `success` or `failure`",
  },
} as const satisfies Readonly<Record<string, Declaration>>

export type MetricName = keyof typeof METRICS

export const declarations = Object.entries<Declaration>(METRICS).map(([name, declaration]) => ({
  name,
  labels: [],
  ...declaration,
}))

export type Named<Type extends Declaration["type"]> = {
  [Name in MetricName]: (typeof METRICS)[Name]["type"] extends Type ? Name : never
}[MetricName]

export type Label<Name extends MetricName> = (typeof METRICS)[Name] extends {
  readonly labels: ReadonlyArray<infer Label extends string>
}
  ? Label
  : never

/** All labels of a series; no argument for a metric without labels. */
type Labels<Name extends MetricName> = [Label<Name>] extends [never] ? [] : [Readonly<Record<Label<Name>, string>>]

/** Returns the series of a metric by its labels. Each is made once, because making one computes its registry key. */
const series = <Name extends MetricName, Input, State>(
  make: (attributes: Readonly<Record<string, string>>) => Metric.Metric<Input, State>,
) => {
  const known = new Map<string, Metric.Metric<Input, State>>()
  return (...[labels]: Labels<Name>): Metric.Metric<Input, State> => {
    const attributes: Readonly<Record<string, string>> = labels ?? {}
    let key = ""
    for (const name in attributes) key += `${name}=${attributes[name]}\n`
    const found = known.get(key)
    if (found !== undefined) return found
    const metric = make(attributes)
    known.set(key, metric)
    return metric
  }
}

export const counter = <Name extends Named<"counter">>(name: Name) =>
  series<Name, number, Metric.CounterState<number>>((attributes) =>
    Metric.counter(name, { description: METRICS[name].meaning, incremental: true, attributes }),
  )

export const gauge = <Name extends Named<"gauge">>(name: Name) =>
  series<Name, number, Metric.GaugeState<number>>((attributes) =>
    Metric.gauge(name, { description: METRICS[name].meaning, attributes }),
  )

export const histogram = <Name extends Named<"histogram">>(name: Name) =>
  series<Name, number, Metric.HistogramState>((attributes) =>
    Metric.histogram(name, { description: METRICS[name].meaning, boundaries: METRICS[name].boundaries, attributes }),
  )

/** Sets the initial series of this kind of server to 0. */
export const showInitial = (server: "proxy" | "gateway"): Effect.Effect<void> =>
  Effect.forEach(
    declarations.filter((declaration) => (declaration.server ?? server) === server),
    ({ initial = [], meaning, name }) => {
      const metric = Metric.counter(name, { description: meaning, incremental: true })
      return Effect.forEach(initial, (labels) => Metric.update(Metric.withAttributes(metric, labels), 0))
    },
    { discard: true },
  )
