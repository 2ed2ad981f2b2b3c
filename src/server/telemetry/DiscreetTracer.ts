/**
 * Spans without content and without noise, whatever the tracer behind them exports: of a failure they tell type and
 * place, never its message, which could quote a prompt; of a URL never the query; and of what the server does by itself,
 * nothing.
 */
import { Effect, Exit, Layer, Option, Tracer } from "effect"
import { discreetCause } from "../../domain/defect.ts"
import { defined } from "../../domain/defined.ts"

/** Attributes that hold a URL's query. */
const WITH_QUERY = new Set(["url.full", "url.query"])

/**
 * Spans of what runs by itself: a trace begins with a request, or goes on in the job that one made. Workers that look
 * for jobs would otherwise begin a trace with every look.
 */
class Upkeep extends Tracer.NativeSpan {}

type SpanOptions = Parameters<Tracer.Tracer["span"]>[0]

const isUpkeep = ({ kind, parent }: SpanOptions): boolean =>
  Option.match(parent, { onNone: () => kind !== "server", onSome: (span) => span instanceof Upkeep })

/** `tracer`, with fewer spans that are told less. Those of requests and jobs stay its own, which exporters look for. */
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
    ...defined({ context: tracer.context }),
  })

/** Makes the tracer in place discreet. Without one there is nothing to do: spans go nowhere. */
export const layerDiscreetTracer = Layer.effect(
  Tracer.Tracer,
  Effect.map(Tracer.Tracer, (tracer) => (tracer === Tracer.nativeTracer ? tracer : discreet(tracer))),
)
