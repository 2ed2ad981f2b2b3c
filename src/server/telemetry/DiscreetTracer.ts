/**
 * Keeps content and noise out of spans, whatever tracer exports them. A failure is recorded by its type and place,
 * because its message could quote a prompt; a URL is recorded without its query; and the server's own background work
 * has no spans.
 */
import { Effect, Exit, Layer, Option, Tracer } from "effect"
import { discreetCause } from "../../domain/problems/defect.ts"
import { withoutUndefined } from "../../domain/json/withoutUndefined.ts"

/** The attributes that contain a URL's query. */
const WITH_QUERY = new Set(["url.full", "url.query"])

/**
 * Spans of background work are dropped. A trace begins with a request, or continues in the job that a request made;
 * otherwise a worker would begin a trace each time that it looks for jobs.
 */
class Upkeep extends Tracer.NativeSpan {}

type SpanOptions = Parameters<Tracer.Tracer["span"]>[0]

const isUpkeep = ({ kind, parent }: SpanOptions): boolean =>
  Option.match(parent, { onNone: () => kind !== "server", onSome: (span) => span instanceof Upkeep })

/**
 * `tracer`, with fewer spans and less in them. The spans of requests and jobs are its own objects, because exporters
 * look for them.
 */
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

/** Applies this to the current tracer. Without one there is nothing to do, because spans are not exported. */
export const layerDiscreetTracer = Layer.effect(
  Tracer.Tracer,
  Effect.map(Tracer.Tracer, (tracer) => (tracer === Tracer.nativeTracer ? tracer : discreet(tracer))),
)
