/** Keeps out of spans: messages of failures, which could quote a prompt; queries of URLs; and background work. */
import { Effect, Exit, Layer, Option, Tracer } from "effect"
import { discreetCause } from "../../domain/problems/defect.ts"
import { withoutUndefined } from "../../domain/json/withoutUndefined.ts"

/** The attributes that contain a URL's query. */
const WITH_QUERY = new Set(["url.full", "url.query"])

/** A span of background work, which is dropped: without this, a worker would begin a trace whenever it looks for jobs. */
class Upkeep extends Tracer.NativeSpan {}

type SpanOptions = Parameters<Tracer.Tracer["span"]>[0]

const isUpkeep = ({ kind, parent }: SpanOptions): boolean =>
  Option.match(parent, { onNone: () => kind !== "server", onSome: (span) => span instanceof Upkeep })

/** Wraps `tracer`. Spans of requests and jobs stay the tracer's objects, because exporters look for them. */
const discreet = (tracer: Tracer.Tracer): Tracer.Tracer =>
  Tracer.make({
    span: (options) => {
      if (isUpkeep(options)) return new Upkeep({ ...options, sampled: false })
      const span = tracer.span(options)
      const attribute = span.attribute.bind(span)
      const end = span.end.bind(span)
      span.attribute = (key, value) => {
        if (!WITH_QUERY.has(key)) attribute(key, value)
      }
      span.end = (time, exit) => end(time, Exit.isSuccess(exit) ? exit : Exit.failCause(discreetCause(exit.cause)))
      return span
    },
    ...withoutUndefined({ context: tracer.context }),
  })

/** Wraps the current tracer, if spans are exported. */
export const layerDiscreetTracer = Layer.effect(
  Tracer.Tracer,
  Effect.map(Tracer.Tracer, (tracer) => (tracer === Tracer.nativeTracer ? tracer : discreet(tracer))),
)
