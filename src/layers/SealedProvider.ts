/**
 * A sealed proxy as a provider: what is asked of it is sealed from here to there, and what it answers is verified before
 * anything is made of it. It stands here because no service may know the client.
 */
import { Effect, Option, Redacted, Stream, type Tracer } from "effect"
import {
  AnswerIncomplete,
  PinMismatch,
  SealedProblem,
  SealgateError,
  StreamTruncated,
  Tampered,
  Unreachable,
} from "../client/errors.ts"
import type { Fetch } from "../client/transport.ts"
import { SealedClient } from "../client/SealedClient.ts"
import type { ChatRequest } from "../domain/chat.ts"
import { defined } from "../domain/defined.ts"
import type { FailureKind } from "../domain/failures.ts"
import type { Problem } from "../domain/problem.ts"
import { traceContextOf } from "../domain/traceContext.ts"
import type { ProviderId } from "../domain/upstream.ts"
import { type Provider, ProviderFailure } from "../services/upstream/Provider.ts"

export interface SealedProviderOptions {
  readonly id: ProviderId
  readonly baseUrl: string
  readonly pins: ReadonlyArray<string>
  /** What the proxy knows its callers by; it goes under the seal. */
  readonly apiKey: Redacted.Redacted | undefined
  readonly defaultModel: string
  /** Whether the proxy is told, under the seal, of the trace that a call belongs to. */
  readonly traceHeaders: boolean
  /** What it is called with; `undefined` for the platform's `fetch`. */
  readonly fetch: Fetch | undefined
}

/** What a proxy says under seal of a request that it did not serve, by its code. */
const KIND_OF_CODE: Readonly<Record<string, FailureKind>> = {
  "context-too-long": "context-too-long",
  "content-filtered": "content-filtered",
  "invalid-request": "invalid-request",
  unsupported: "unsupported",
  "unknown-model": "unknown-model",
  "provider-not-configured": "unknown-model",
  unauthorized: "unauthorized",
  "rate-limited": "rate-limited",
  "upstream-timeout": "slow",
  "upstream-truncated": "truncated",
  "upstream-protocol": "garbage",
}

/** Without a seal it is anybody's word: it may put a request off, and decides nothing about it. */
const kindOfProblem = ({ code, status }: Problem, sealed: boolean): FailureKind => {
  if (status === 429) return "rate-limited"
  return (sealed ? KIND_OF_CODE[code] : undefined) ?? "unavailable"
}

const kindOf = (error: SealgateError): FailureKind => {
  if (error instanceof SealedProblem) return kindOfProblem(error.problem, error.sealed)
  if (error instanceof AnswerIncomplete) {
    return error.problem === undefined ? "unavailable" : kindOfProblem(error.problem, true)
  }
  if (error instanceof StreamTruncated) return "truncated"
  if (error instanceof Unreachable) return error.mayHaveBeenServed ? "unavailable" : "unreachable"
  // Somebody else is there, or changes what is said.
  return error instanceof PinMismatch ? "unreachable" : "garbage"
}

/** What the client throws of its own. Anything else is a fault of this program. */
const clientError = (error: unknown): SealgateError => {
  if (error instanceof SealgateError) return error
  throw error
}

const failureOf = (error: SealgateError): ProviderFailure =>
  new ProviderFailure({
    kind: kindOf(error),
    detail: Redacted.make(error.message),
    ...defined({ retryAfterMs: error instanceof SealedProblem ? error.retryAfterMs : undefined }),
  })

/** Whoever calls through a proxy does so to learn of this. Its message quotes pins and nothing that was said. */
const isAttack = (error: SealgateError): boolean =>
  error instanceof PinMismatch || (error instanceof Tampered && !(error instanceof StreamTruncated))

// The proxy takes the same requests as this product's other providers, and says itself what it cannot serve.
type Input = Parameters<SealedClient["stream"]>[0]
const inputOf = (request: ChatRequest) => request as unknown as Input

/** What the client is told of the span that it is called in, if it is. */
const traceOf = (span: Tracer.AnySpan | undefined) => {
  const trace = span === undefined ? undefined : traceContextOf(span)
  return defined({ trace })
}

/** The provider that a sealed proxy is. */
export const sealedProvider = (options: SealedProviderOptions): Provider => {
  const { apiKey, baseUrl, defaultModel, fetch, id, pins } = options
  const credential = apiKey === undefined ? undefined : `Bearer ${Redacted.value(apiKey)}`
  const client = new SealedClient({ baseUrl, pins, ...defined({ credential, fetch }) })

  const told = Effect.fnUntraced(function* (error: SealgateError) {
    if (isAttack(error)) {
      yield* Effect.logError("a sealed proxy's answer was refused").pipe(
        Effect.annotateLogs({ provider: id, error: error.name, reason: error.message }),
      )
    }
    return yield* failureOf(error)
  })
  const trace = options.traceHeaders
    ? Effect.map(Effect.option(Effect.currentParentSpan), (span) => traceOf(Option.getOrUndefined(span)))
    : Effect.succeed(traceOf(undefined))
  const attempt = <A>(run: (signal: AbortSignal) => Promise<A>) =>
    Effect.catch(Effect.tryPromise({ try: run, catch: clientError }), told)

  return {
    id,
    apiName: "sealgate",
    defaultModel,
    complete: (request) =>
      Effect.flatMap(trace, (traced) =>
        Effect.map(
          attempt((signal) => client.complete(inputOf(request), { signal, ...traced })),
          ({ completion }) => completion,
        ),
      ),
    stream: (request, watch) =>
      Stream.unwrap(
        Effect.gen(function* () {
          const hangUp = yield* Effect.acquireRelease(
            Effect.sync(() => new AbortController()),
            (controller) => Effect.sync(() => controller.abort()),
          )
          const options = { signal: hangUp.signal, restart: false, ...(yield* trace) }
          const sealed = yield* attempt(() => client.stream(inputOf(request), options))
          const chunks = Stream.fromAsyncIterable(sealed, clientError).pipe(
            Stream.catch((error) => Stream.fromEffect(told(error))),
            // Asked not to begin again, it does not: a client takes a restart in spite of that for tampering.
            Stream.flatMap((part) => (part.type === "delta" ? Stream.succeed(part.chunk) : Stream.empty)),
          )
          const end = attempt(async () => {
            const { statements } = await sealed.end
            // Its members are texts, all of them.
            const keys = client.keySet.keys.map((key): Readonly<Record<string, string>> => ({ ...key }))
            watch?.receipt({ ...statements, keys })
          })
          return Stream.concat(chunks, Stream.drain(Stream.fromEffect(end)))
        }),
      ),
  }
}
