/** A sealed proxy as a provider. It is in `layers` because services may not import the client. */
import { Effect, Option, Redacted, Stream, type Tracer } from "effect"
import {
  AnswerIncomplete,
  PinMismatch,
  SealedProblem,
  type SealgateError,
  StreamTruncated,
  Tampered,
  Unreachable,
} from "../client/errors.ts"
import { clientError } from "../client/clientError.ts"
import type { Fetch } from "../client/transport/transport.ts"
import { SealedClient } from "../client/sealed/SealedClient.ts"
import type { ChatRequest } from "../domain/chat/chat.ts"
import { withoutUndefined } from "../domain/json/withoutUndefined.ts"
import type { FailureKind } from "../domain/upstream/failures.ts"
import type { Problem } from "../domain/problems/problem.ts"
import { connectionReason, isLastingFault } from "../domain/problems/systemErrors.ts"
import { traceContextOf } from "../domain/operations/traceContext.ts"
import type { ProviderId } from "../domain/upstream/upstream.ts"
import { type Provider, ProviderFailure } from "../services/upstream/Provider.ts"
import { TEXT_CHARS } from "../services/upstream/providers/http/withoutKey.ts"

interface SealedProviderOptions {
  readonly id: ProviderId
  readonly baseUrl: string
  readonly pins: ReadonlyArray<string>
  /** The credential for the proxy, sent under the seal. */
  readonly apiKey: Redacted.Redacted | undefined
  readonly defaultModel: string
  /** Whether calls carry trace headers, under the seal. */
  readonly traceHeaders: boolean
  /** `undefined` for the platform's `fetch`. */
  readonly fetch: Fetch | undefined
}

/** Failures that a proxy reports under the seal, by code. */
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

/** Statuses that mean there is no sealed proxy at the address. */
const NO_PROXY: ReadonlySet<number> = new Set([404, 405])

/**
 * Anybody on the path can forge a refusal outside the seal, so it may delay a request but not decide its outcome. The
 * exception is a missing proxy, where every retry would fail alike.
 */
const kindOfProblem = ({ code, status }: Problem, sealed: boolean): FailureKind => {
  if (status === 429) return "rate-limited"
  if (!sealed && NO_PROXY.has(status)) return "misconfigured"
  return (sealed ? KIND_OF_CODE[code] : undefined) ?? "unavailable"
}

const kindOf = (error: SealgateError): FailureKind => {
  if (error instanceof SealedProblem) return kindOfProblem(error.problem, error.sealed)
  if (error instanceof AnswerIncomplete) {
    return error.problem === undefined ? "unavailable" : kindOfProblem(error.problem, true)
  }
  if (error instanceof StreamTruncated) return "truncated"
  if (error instanceof Unreachable) return error.mayHaveBeenServed ? "unavailable" : "unreachable"
  // Another server answered, or the answer was changed.
  return error instanceof PinMismatch ? "unreachable" : "garbage"
}

const failureOf = (error: SealgateError): ProviderFailure =>
  new ProviderFailure({
    kind: kindOf(error),
    detail: Redacted.make(error.message.slice(0, TEXT_CHARS)),
    ...withoutUndefined({
      retryAfterMs: error instanceof SealedProblem ? error.retryAfterMs : undefined,
      reason: reasonOf(error),
      lasting: error instanceof PinMismatch || (error instanceof Unreachable && isLastingFault(error)) || undefined,
    }),
  })

/** Reason for the log, without any text from the proxy. */
const reasonOf = (error: SealgateError): string | undefined => {
  if (error instanceof Unreachable) return error.cause === undefined ? undefined : connectionReason(error)
  if (error instanceof PinMismatch) return "another proxy than the pinned one answers there, or its key was rotated"
  if (!(error instanceof SealedProblem)) return undefined
  const { status } = error.problem
  return !error.sealed && NO_PROXY.has(status)
    ? `there is no sealed proxy at that address (status ${status}); if its base URL ends in /v1, remove that`
    : `status ${status}`
}

/** Failures to log as possible attacks. Their messages quote pins, and at most a word of what came. */
const isAttack = (error: SealgateError): boolean =>
  error instanceof PinMismatch || (error instanceof Tampered && !(error instanceof StreamTruncated))

// The proxy accepts the same requests as the other providers, and reports what it cannot serve.
type Input = Parameters<SealedClient["stream"]>[0]
const inputOf = (request: ChatRequest) => request as unknown as Input

const traceOf = (span: Tracer.AnySpan | undefined) => {
  const trace = span === undefined ? undefined : traceContextOf(span)
  return withoutUndefined({ trace })
}

export const sealedProvider = (options: SealedProviderOptions): Provider => {
  const { apiKey, baseUrl, defaultModel, fetch, id, pins } = options
  const credential = apiKey === undefined ? undefined : `Bearer ${Redacted.value(apiKey)}`
  const client = new SealedClient({ baseUrl, pins, ...withoutUndefined({ credential, fetch }) })

  const fail = Effect.fnUntraced(function* (error: SealgateError) {
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
    Effect.catch(Effect.tryPromise({ try: run, catch: clientError }), fail)

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
            Stream.catch((error) => Stream.fromEffect(fail(error))),
            // There is no restart part: with `restart: false` the client would treat a restart as tampering.
            Stream.flatMap((part) => (part.type === "delta" ? Stream.succeed(part.chunk) : Stream.empty)),
          )
          const end = attempt(async () => {
            const { statements } = await sealed.end
            // All its members are strings.
            const keys = client.keySet.keys.map((key): Readonly<Record<string, string>> => ({ ...key }))
            watch?.receipt({ ...statements, keys })
          })
          return Stream.concat(chunks, Stream.drain(Stream.fromEffect(end)))
        }),
      ),
  }
}
