/**
 * Spans without content, whatever the tracer behind them exports: of a failure they tell type and place, never its
 * message, which could quote a prompt; of a URL the route and the path, never the query.
 */
import { Cause, Effect, Exit, Layer, Tracer } from "effect"
import { placeOfError, typeOfError } from "../domain/defect.ts"

/** Attributes that hold a URL's query. */
const WITH_QUERY = new Set(["url.full", "url.query"])

const discreetError = (error: unknown): Error => {
  const name = typeOfError(error)
  const discreet = new Error("")
  discreet.name = name
  discreet.stack = [name, ...placeOfError(error).map((frame) => `    ${frame}`)].join("\n")
  return discreet
}

const discreetExit = (exit: Exit.Exit<unknown, unknown>): Exit.Exit<unknown, unknown> =>
  Exit.isSuccess(exit)
    ? exit
    : Exit.failCause(
        Cause.fromReasons(
          exit.cause.reasons.map((reason) => {
            if (Cause.isInterruptReason(reason)) return reason
            return Cause.isFailReason(reason)
              ? Cause.makeFailReason(discreetError(reason.error))
              : Cause.makeDieReason(discreetError(reason.defect))
          }),
        ),
      )

/** `tracer`, with spans that are told less. The spans stay its own, which exporters look for. */
const discreet = (tracer: Tracer.Tracer): Tracer.Tracer =>
  Tracer.make({
    span: (options) => {
      const span = tracer.span(options)
      const attribute = span.attribute.bind(span)
      const end = span.end.bind(span)
      span.attribute = (key, value) => {
        if (!WITH_QUERY.has(key)) attribute(key, value)
      }
      span.end = (time, exit) => end(time, discreetExit(exit))
      return span
    },
    ...(tracer.context === undefined ? {} : { context: tracer.context }),
  })

/** Makes the tracer in place discreet. Without one there is nothing to do, and requests are not traced at all. */
export const layerDiscreetTracer = Layer.effect(
  Tracer.Tracer,
  Effect.map(Tracer.Tracer, (tracer) => (tracer === Tracer.nativeTracer ? tracer : discreet(tracer))),
)
