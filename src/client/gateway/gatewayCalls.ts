import { Cause, Clock, Context, DateTime, Duration, Effect, Exit, Option, Result, Schedule, Schema } from "effect"
import { Headers, HttpClient, HttpClientError, type HttpClientResponse } from "effect/http"
import { schemaIssues } from "../../domain/json/schemaIssues.ts"
import { makeProblem, PROBLEM_CONTENT_TYPE } from "../../domain/problems/problem.ts"
import { problemFrom } from "../verification/decode.ts"
import { isObject } from "../../domain/json/json.ts"
import { withoutUndefined } from "../../domain/json/withoutUndefined.ts"
import { Unreachable } from "../errors.ts"
import { GatewayProblem } from "./GatewayProblem.ts"
import { type GatewayClientOptions, makeGatewayApi } from "./GatewayClientService.ts"
import { connectionReason } from "../../domain/problems/systemErrors.ts"
import { originHint } from "../transport/originHint.ts"
import { isRedirect, redirectMessage } from "../transport/redirect.ts"

export interface CallOptions {
  readonly signal?: AbortSignal
}

/** A condition for a change; without it the change is unconditional. */
export interface Precondition extends CallOptions {
  /** The version that the change is based on. */
  readonly ifVersion?: number
}

export interface PageOptions extends CallOptions {
  /** 1 to 100; default 20. */
  readonly limit?: number
  readonly cursor?: string
}

export const toTime = (time: string | Date | undefined) => (time === undefined ? undefined : DateTime.makeUnsafe(time))

export interface Page<A> {
  readonly items: ReadonlyArray<A>
  /** `cursor` of the next page; absent on the last one. */
  readonly next_cursor?: string
}

/** Retries of a repeatable request while the gateway is away or asks to wait. */
const RETRIES = 2
const BACK_OFF = Schedule.exponential("250 millis")

/** Returns an answer's `Retry-After`, in milliseconds. */
const pauseOf = Effect.fnUntraced(function* ({ headers }: HttpClientResponse.HttpClientResponse) {
  const now = yield* Clock.currentTimeMillis
  const asked = Result.getOrUndefined(Headers.parseRetryAfter(headers["retry-after"] ?? ""))
  return asked === undefined ? undefined : Duration.toMillis(Headers.retryAfterDelay(asked, now))
})

/** Every gateway has the requested paths, so a server with these codes is not one. */
const NO_GATEWAY: ReadonlySet<string> = new Set(["not-found", "method-not-allowed"])

/** Whether a call has sent a request. Until then its `SchemaError` is about the request, then about the answer. */
const Sending = Context.Reference<{ begun: boolean }>("sealgate/client/gateway/Sending", {
  defaultValue: () => ({ begun: false }),
})
const noting = HttpClient.tapRequest(() => Effect.map(Sending, (sending) => void (sending.begun = true)))

/** Fails if the answer is a redirect or a problem, even one with an unknown code: another version may have more codes. */
const refused = HttpClient.transformResponse(
  Effect.tap(
    Effect.fnUntraced(function* (response: HttpClientResponse.HttpClientResponse) {
      const { headers, request, status } = response
      if (isRedirect(status)) {
        return yield* Effect.fail(new Unreachable(redirectMessage(new URL(request.url).origin, headers["location"])))
      }
      if (!headers["content-type"]?.startsWith(PROBLEM_CONTENT_TYPE)) return
      const body = yield* response.json
      const problem = problemFrom(isObject(body) ? body : {}, status)
      if (NO_GATEWAY.has(problem.code)) return
      return yield* Effect.fail(new GatewayProblem(problem, yield* pauseOf(response)))
    }),
  ),
)

const refusing = (client: HttpClient.HttpClient) => refused(noting(client))

export const connect = (options: GatewayClientOptions) => {
  const repeat = (client: HttpClient.HttpClient) =>
    HttpClient.retryTransient(client, { schedule: BACK_OFF, times: RETRIES })
  return Effect.runSync(
    Effect.all({
      api: makeGatewayApi(options, refusing),
      /** For idempotent requests. */
      repeatable: makeGatewayApi(options, (client) => refusing(repeat(client))),
    }),
  )
}
export type Connection = ReturnType<typeof connect>

/** Retries while an earlier request with the same `Idempotency-Key` is in progress. */
export const untilNotInFlight = <A, E>(request: Effect.Effect<A, E>): Effect.Effect<A, E> =>
  Effect.retry(request, {
    while: (error) => error instanceof GatewayProblem && error.problem.code === "idempotency-in-flight",
    schedule: BACK_OFF,
    times: RETRIES,
  })

const unreachable = (error: HttpClientError.HttpClientError): Unreachable => {
  const { reason, request } = error
  const { origin } = new URL(request.url)
  const message =
    reason._tag === "TransportError"
      ? `${origin} could not be reached: ${connectionReason(reason.cause ?? reason, origin)}.${originHint(origin)}`
      : `${origin} did not give an answer that this client understands. Is it a sealgate gateway?`
  return new Unreachable(message, { cause: error })
}

/** The refusal of a request that does not fit its schema, as the gateway would give it. */
const misshapen = ({ issue }: Schema.SchemaError): GatewayProblem => {
  const errors = schemaIssues(issue)
  const title = "The request does not have the expected shape."
  const detail = errors.map(({ message, path }) => `${path}: ${message}`).join("; ")
  return new GatewayProblem(
    makeProblem({ code: "invalid-request", status: 400, title, detail, retryable: false, errors }),
    undefined,
    false,
  )
}

/** Makes a call fail with `Unreachable` if there was no answer of a gateway, and with a problem if it could not be sent. */
export const withErrors = <A, E>(call: Effect.Effect<A, E>) =>
  Effect.suspend(() => {
    const sending = { begun: false }
    return call.pipe(
      Effect.provideService(Sending, sending),
      Effect.mapError((error) => {
        if (Schema.isSchemaError(error)) {
          return sending.begun
            ? new Unreachable("The server's answer is not that of a gateway. Is it a sealgate gateway?", {
                cause: error,
              })
            : misshapen(error)
        }
        return HttpClientError.isHttpClientError(error) ? unreachable(error) : error
      }),
    )
  })

/** Rejects with `GatewayProblem`, with `Unreachable`, or with the reason of an abort. */
export const run = async <A, E>(call: Effect.Effect<A, E>, options?: CallOptions): Promise<A> => {
  const exit = await Effect.runPromiseExit(withErrors(call), options)
  if (Exit.isSuccess(exit)) return exit.value
  if (options?.signal?.aborted === true) throw options.signal.reason
  throw Option.getOrElse(Cause.findErrorOption(exit.cause), () => Cause.squash(exit.cause))
}

/** The calls of one part of the API. */
export class ApiPart {
  protected readonly connection: Connection
  constructor(connection: Connection) {
    this.connection = connection
  }
}

/** Calls for a page, and encodes its items. */
export const readPage = async <A, B, E>(
  call: Effect.Effect<Page<A>, E>,
  signal: AbortSignal | undefined,
  encode: (item: A) => B,
): Promise<Page<B>> => {
  const page = await run(call, withoutUndefined({ signal }))
  return { ...page, items: page.items.map((item) => encode(item)) }
}

/** Returns the headers of a conditional change. */
export const ifVersion = (
  options: Precondition | undefined,
  tagOf: (resource: { readonly version: number }) => string,
): { readonly "if-match"?: string } =>
  options?.ifVersion === undefined ? {} : { "if-match": tagOf({ version: options.ifVersion }) }
