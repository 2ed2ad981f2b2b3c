/** A fake OpenTelemetry collector: records OTLP over HTTP as JSON, and misbehaves on request. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import { gunzipSync } from "node:zlib"
import { Effect, Schema } from "effect"
import { listening } from "./listening.ts"

const AttributeValue = Schema.Struct({
  stringValue: Schema.optionalKey(Schema.String),
  boolValue: Schema.optionalKey(Schema.Boolean),
  intValue: Schema.optionalKey(Schema.Union([Schema.String, Schema.Finite])),
  doubleValue: Schema.optionalKey(Schema.Finite),
  arrayValue: Schema.optionalKey(
    Schema.Struct({ values: Schema.Array(Schema.Struct({ stringValue: Schema.optionalKey(Schema.String) })) }),
  ),
})
const Attributes = Schema.Array(Schema.Struct({ key: Schema.String, value: AttributeValue }))
const Resource = Schema.Struct({ attributes: Attributes })

const SpanIn = Schema.Struct({
  traceId: Schema.String,
  spanId: Schema.String,
  parentSpanId: Schema.optionalKey(Schema.String),
  traceState: Schema.optionalKey(Schema.String),
  name: Schema.String,
  kind: Schema.Finite,
  attributes: Attributes,
  status: Schema.Struct({ code: Schema.optionalKey(Schema.Finite), message: Schema.optionalKey(Schema.String) }),
  startTimeUnixNano: Schema.String,
  endTimeUnixNano: Schema.String,
})
const Traces = Schema.Struct({
  resourceSpans: Schema.Array(
    Schema.Struct({
      resource: Resource,
      scopeSpans: Schema.Array(Schema.Struct({ spans: Schema.Array(SpanIn) })),
    }),
  ),
})

const Point = Schema.Struct({
  attributes: Attributes,
  timeUnixNano: Schema.String,
  asDouble: Schema.optionalKey(Schema.Finite),
  asInt: Schema.optionalKey(Schema.Union([Schema.String, Schema.Finite])),
  count: Schema.optionalKey(Schema.Union([Schema.String, Schema.Finite])),
})
const Points = Schema.Struct({ dataPoints: Schema.Array(Point) })
const Metrics = Schema.Struct({
  resourceMetrics: Schema.Array(
    Schema.Struct({
      resource: Resource,
      scopeMetrics: Schema.Array(
        Schema.Struct({
          metrics: Schema.Array(
            Schema.Struct({
              name: Schema.String,
              unit: Schema.String,
              sum: Schema.optionalKey(Points),
              gauge: Schema.optionalKey(Points),
              histogram: Schema.optionalKey(Points),
            }),
          ),
        }),
      ),
    }),
  ),
})

const Logs = Schema.Struct({
  resourceLogs: Schema.Array(
    Schema.Struct({
      resource: Resource,
      scopeLogs: Schema.Array(
        Schema.Struct({
          logRecords: Schema.Array(
            Schema.Struct({
              body: AttributeValue,
              severityText: Schema.String,
              attributes: Attributes,
              traceId: Schema.optionalKey(Schema.String),
              spanId: Schema.optionalKey(Schema.String),
            }),
          ),
        }),
      ),
    }),
  ),
})

type Values = Readonly<Record<string, unknown>>

const valuesOf = (attributes: typeof Attributes.Type): Values =>
  Object.fromEntries(
    attributes.map(({ key, value }) => [
      key,
      value.stringValue ??
        value.boolValue ??
        value.doubleValue ??
        (value.arrayValue === undefined
          ? Number(value.intValue)
          : value.arrayValue.values.map(({ stringValue }) => stringValue)),
    ]),
  )

const KINDS = ["unspecified", "internal", "server", "client", "producer", "consumer"] as const
const STATUSES = ["unset", "ok", "error"] as const

export interface Span {
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId: string | undefined
  readonly traceState?: string
  readonly name: string
  readonly kind: (typeof KINDS)[number] | undefined
  readonly status: (typeof STATUSES)[number] | undefined
  readonly attributes: Values
  /** Resource attributes of the sending process. */
  readonly resource: Values
  readonly startedAt: bigint
}

export interface Series {
  readonly name: string
  readonly unit: string
  readonly type: "sum" | "gauge" | "histogram"
  readonly labels: Values
  /** For a histogram, the count. */
  readonly value: number
  /** Time of measurement, equal for all points of an export. */
  readonly time: string
  readonly resource: Values
}

export interface LogLine {
  readonly body: string
  readonly severity: string
  readonly attributes: Values
  readonly traceId: string | undefined
  readonly resource: Values
}

/** A span with its children, in order of start. */
export interface Branch extends Span {
  readonly children: ReadonlyArray<Branch>
}

/**
 * The root spans of a trace (without a parent at the collector), with their descendants. Omits spans that match `skip`,
 * with their descendants.
 */
export const treeOf = (
  spans: ReadonlyArray<Span>,
  traceId: string,
  skip: (span: Span) => boolean = () => false,
): ReadonlyArray<Branch> => {
  const own = spans
    .filter((span) => span.traceId === traceId)
    .toSorted((a, b) => (a.startedAt < b.startedAt ? -1 : a.startedAt > b.startedAt ? 1 : 0))
  const ids = new Set(own.map(({ spanId }) => spanId))
  const branch = (span: Span): Branch => ({
    ...span,
    children: own.filter((child) => child.parentSpanId === span.spanId && !skip(child)).map(branch),
  })
  return own.filter(({ parentSpanId }) => parentSpanId === undefined || !ids.has(parentSpanId)).map(branch)
}

/** The shape of a trace: nested names and kinds. */
export const outline = ({ children, kind, name }: Branch): string =>
  `${name} [${kind}]${children.length === 0 ? "" : `(${children.map(outline).join(", ")})`}`

/** The collector's reaction: normal, a status, slow, or none. */
type Mood = "well" | "hangs" | { readonly status: number }

export interface OtlpCollector {
  /** For `OTEL_EXPORTER_OTLP_ENDPOINT`. */
  readonly url: string
  readonly spans: ReadonlyArray<Span>
  /** Every point of every export. */
  readonly series: ReadonlyArray<Series>
  readonly logs: ReadonlyArray<LogLine>
  /** Requests so far, by path, with their headers. */
  readonly requests: ReadonlyArray<{ readonly path: string; readonly headers: IncomingMessage["headers"] }>
  /** Everything received, as text. */
  readonly text: () => string
  readonly become: (mood: Mood) => void
  /** Waits until `look` returns a value; retries after each export. */
  readonly until: <A>(look: () => A | undefined) => Promise<A>
}

const received = async (request: IncomingMessage): Promise<string> => {
  const chunks: Array<Buffer> = []
  for await (const chunk of request) chunks.push(chunk)
  const body = Buffer.concat(chunks)
  return (request.headers["content-encoding"] === "gzip" ? gunzipSync(body) : body).toString("utf8")
}

/** Starts a collector on a free port, until the scope closes. */
export const otlpCollector = Effect.gen(function* () {
  const spans: Array<Span> = []
  const series: Array<Series> = []
  const logs: Array<LogLine> = []
  const requests: Array<{ readonly path: string; readonly headers: IncomingMessage["headers"] }> = []
  const bodies: Array<string> = []
  const looking = new Set<() => void>()
  let mood: Mood = "well"

  const keep: Readonly<Record<string, (json: unknown) => void>> = {
    "/v1/traces": (json) => {
      for (const { resource, scopeSpans } of Schema.decodeUnknownSync(Traces)(json).resourceSpans) {
        for (const span of scopeSpans.flatMap((scope) => scope.spans)) {
          spans.push({
            ...span,
            parentSpanId: span.parentSpanId === "" ? undefined : span.parentSpanId,
            kind: KINDS[span.kind],
            status: STATUSES[span.status.code ?? 0],
            attributes: valuesOf(span.attributes),
            resource: valuesOf(resource.attributes),
            startedAt: BigInt(span.startTimeUnixNano),
          })
        }
      }
    },
    "/v1/metrics": (json) => {
      for (const { resource, scopeMetrics } of Schema.decodeUnknownSync(Metrics)(json).resourceMetrics) {
        for (const metric of scopeMetrics.flatMap((scope) => scope.metrics)) {
          for (const type of ["sum", "gauge", "histogram"] as const) {
            for (const point of metric[type]?.dataPoints ?? []) {
              series.push({
                name: metric.name,
                unit: metric.unit,
                type,
                labels: valuesOf(point.attributes),
                value: Number(point.asDouble ?? point.asInt ?? point.count),
                time: point.timeUnixNano,
                resource: valuesOf(resource.attributes),
              })
            }
          }
        }
      }
    },
    "/v1/logs": (json) => {
      for (const { resource, scopeLogs } of Schema.decodeUnknownSync(Logs)(json).resourceLogs) {
        for (const record of scopeLogs.flatMap((scope) => scope.logRecords)) {
          logs.push({
            body: record.body.stringValue ?? JSON.stringify(record.body),
            severity: record.severityText,
            attributes: valuesOf(record.attributes),
            traceId: record.traceId,
            resource: valuesOf(resource.attributes),
          })
        }
      }
    },
  }

  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const path = request.url ?? ""
    requests.push({ path, headers: request.headers })
    const body = await received(request)
    if (mood === "well") {
      bodies.push(body)
      keep[path]?.(JSON.parse(body))
    }
    for (const look of looking) look()
    if (mood === "hangs") return
    const status = mood === "well" ? (path in keep ? 200 : 404) : mood.status
    response.writeHead(status, { "content-type": "application/json" }).end("{}")
  }

  const port = yield* listening(
    createServer((request, response) => {
      answer(request, response).catch((error: unknown) => response.destroy(error instanceof Error ? error : undefined))
    }),
  )

  const until = <A>(look: () => A | undefined): Promise<A> => {
    const found = look()
    if (found !== undefined) return Promise.resolve(found)
    const { promise, resolve } = Promise.withResolvers<A>()
    const again = () => {
      const found = look()
      if (found === undefined) return
      looking.delete(again)
      resolve(found)
    }
    looking.add(again)
    return promise
  }

  return {
    url: `http://127.0.0.1:${port}`,
    spans,
    series,
    logs,
    requests,
    text: () => bodies.join("\n"),
    become: (next: Mood) => {
      mood = next
    },
    until,
  } satisfies OtlpCollector
})
