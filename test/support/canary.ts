/** Collects everything that a server logs and exports, to search it for secrets. */
import { inspect } from "node:util"
import { Cause, Context, Exit, Inspectable, Layer, Logger, References, Tracer } from "effect"
import { keepingTracer } from "./spans.ts"

/** Returns `secret` in all encodings. */
export const spellingsOf = (secret: string): ReadonlyArray<string> => {
  const bytes = Buffer.from(secret)
  // Without the outer characters, which depend on the secret's neighbours.
  const base64 = [0, 1, 2].map((shift) =>
    Buffer.concat([Buffer.alloc(shift), bytes])
      .toString("base64url")
      .slice(4, -4),
  )
  return [secret, encodeURIComponent(secret), bytes.toString("hex"), ...base64]
}

interface Overheard {
  /** For the server. */
  readonly services: Layer.Layer<never>
  /** Everything collected so far, as text. */
  readonly text: () => string
  readonly lines: ReadonlyArray<string>
  readonly spans: ReadonlyArray<Tracer.NativeSpan>
}

const ALL = { depth: 30, showHidden: true, maxStringLength: Infinity, maxArrayLength: Infinity }

const describeSpan = (span: Tracer.NativeSpan): string => {
  const exit = span.status._tag === "Ended" ? span.status.exit : Exit.void
  return [
    span.name,
    inspect([...span.attributes], ALL),
    inspect(span.events, ALL),
    // Exporters record this as the exception of a span.
    Exit.isFailure(exit) ? Cause.pretty(exit.cause) : "",
    Exit.isFailure(exit) ? inspect(exit.cause, ALL) : "",
    Exit.isFailure(exit) ? Inspectable.toStringUnknown(exit.cause) : "",
  ].join("\n")
}

/** Logs at every level in every format, and spans, kept. */
export const overhear = (): Overheard => {
  const lines: Array<string> = []
  const keep = <Message>(logger: Logger.Logger<Message, unknown>) =>
    Logger.make<Message, void>((options) => {
      const line = logger.log(options)
      lines.push(typeof line === "string" ? line : inspect(line, ALL))
    })
  const { spans, tracer } = keepingTracer()
  return {
    services: Layer.mergeAll(
      Logger.layer([keep(Logger.formatJson), keep(Logger.formatLogFmt), keep(Logger.formatStructured)]),
      Layer.succeedContext(
        Context.empty().pipe(Context.add(References.MinimumLogLevel, "All"), Context.add(Tracer.Tracer, tracer)),
      ),
    ),
    lines,
    spans,
    text: () => [...lines, ...spans.map(describeSpan)].join("\n"),
  }
}
