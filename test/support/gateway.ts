/** Starts gateways on free ports of this machine, and calls them. */
import { ConfigProvider, Context, Duration, Effect, Exit, Latch, Layer, Redacted, Schema, Scope } from "effect"
import { HttpServer } from "effect/http"
import { Problem as ProblemSchema, type Problem, PROBLEM_CONTENT_TYPE } from "../../src/domain/problems/problem.ts"
import { Gateway } from "../../src/layers/Gateway.ts"
import { OperatorListener } from "../../src/layers/OperatorListener.ts"
import { urlOf } from "../../src/server/serverUrl.ts"
import { layerUpstream } from "../../src/layers/Providers.ts"
import { mintToken } from "../../src/services/access/mintToken.ts"
import type { OwnMode } from "../../src/services/jobs/modes/own/defineMode.ts"
import { Upstream } from "../../src/services/upstream/Upstream.ts"
import { sqliteFile, type TestDatabase } from "./databases.ts"
import { emptyPostgres } from "./emptyPostgres.ts"
import type { Fake } from "./FakeUpstream.ts"

export const SECRET = "the secret of every gateway under test"

/** Returns a `DATABASE_URL` of an empty database. */
export const databaseUrl = ({ kind }: Pick<TestDatabase, "kind">): Effect.Effect<string, never, Scope.Scope> =>
  kind === "sqlite" ? sqliteFile : emptyPostgres

type Environment = Readonly<Record<string, string>>

/** No limits, unless a test sets them. */
const UNLIMITED: Environment = {
  RATE_LIMIT_READ: "0",
  RATE_LIMIT_PROBES: "0",
  RATE_LIMIT_WRITE: "0",
  RATE_LIMIT_EXECUTE: "0",
}

export interface TestGateway {
  readonly url: string
  /** The operator's listener. */
  readonly operatorUrl: string
  /** Shuts it down, like its scope. */
  readonly stop: Effect.Effect<void>
}

type TestUpstream = Layer.Layer<Upstream> | Fake | "configured"

const isFake = (upstream: TestUpstream): upstream is Fake => typeof upstream === "object" && "openAi" in upstream

/**
 * Starts a gateway on `database`, with the echo, another upstream, a fake provider, or the configured providers, and with own
 * modes.
 */
export const startGateway = Effect.fnUntraced(function* (
  database: string,
  environment: Environment = {},
  upstream: TestUpstream = Upstream.layerEcho,
  modes: ReadonlyArray<OwnMode> = [],
) {
  const env = {
    PORT: "0",
    HOST: "127.0.0.1",
    JWT_SECRET: SECRET,
    DATABASE_URL: database,
    DATABASE_CONNECTIONS: "5",
    ...UNLIMITED,
    ...(isFake(upstream) && {
      PROVIDER1_BASE_URL: upstream.openAi,
      PROVIDER1_API_KEY: "key",
      PROVIDER1_MODEL: "model-1",
    }),
    ...environment,
  }
  const configured = Effect.provideService(ConfigProvider.ConfigProvider, ConfigProvider.fromEnv({ env }))
  const settings = yield* configured(Gateway.settings())
  const scope = yield* Scope.fork(yield* Scope.Scope)
  const layer = Gateway.layerNoDeps(settings).pipe(
    Layer.provide(upstream === "configured" || isFake(upstream) ? layerUpstream(settings) : upstream),
    Layer.provide(Gateway.modes(modes)),
  )
  const context = yield* configured(Layer.buildWithMemoMap(layer, yield* Layer.makeMemoMap, scope))
  const { address } = Context.get(context, HttpServer.HttpServer)
  const operatorUrl = Context.get(context, OperatorListener) ?? ""
  return { url: urlOf(address, false), operatorUrl, stop: Scope.close(scope, Exit.void) } satisfies TestGateway
})

/** A token for `subject`, of a tenant of the same name unless another is given. */
export const tokenFor = Effect.fnUntraced(function* (
  subject: string,
  options: { readonly tenant?: string; readonly roles?: ReadonlyArray<string>; readonly ttl?: Duration.Duration } = {},
) {
  const token = yield* mintToken({
    secret: Redacted.make(SECRET),
    issuer: "sealgate",
    audience: "sealgate",
    subject,
    tenant: subject,
    roles: [],
    ttl: Duration.hours(1),
    ...options,
  })
  return Redacted.value(token)
})

export interface Call {
  readonly token?: string
  readonly headers?: Readonly<Record<string, string>>
  /** Sent as JSON; text and bytes as they are. */
  readonly body?: unknown
}

export interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  /** The body's members, if it is JSON. */
  readonly json: Readonly<Record<string, unknown>>
}

const isRaw = (body: unknown): body is string | Uint8Array<ArrayBuffer> =>
  typeof body === "string" || body instanceof Uint8Array

/** One request over a real socket. */
export const call = (gateway: Pick<TestGateway, "url">, method: string, path: string, options: Call = {}) =>
  Effect.promise(async (signal): Promise<Answer> => {
    const { body, headers, token } = options
    const response = await fetch(new URL(path, gateway.url), {
      method,
      signal,
      headers: {
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        ...(body === undefined ? {} : { "content-type": "application/json" }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: isRaw(body) ? body : JSON.stringify(body) }),
    })
    const text = await response.text()
    const isJson = text !== "" && /json/.test(response.headers.get("content-type") ?? "")
    return { status: response.status, headers: response.headers, text, json: isJson ? JSON.parse(text) : {} }
  })

/** Returns once earlier requests have reached the gateway, which accepts connections in order. */
export const hasArrived = (gateway: Pick<TestGateway, "url">) =>
  Effect.forEach(Array.from({ length: 5 }), () => call(gateway, "GET", "/health"), { discard: true })

/** One request to the operator's listener. */
export const callOperator = ({ operatorUrl }: Pick<TestGateway, "operatorUrl">, path: string, options: Call = {}) =>
  call({ url: operatorUrl }, "GET", path, options)

/** Returns an answer's problem document. */
export const problemIn = (answer: Answer): Problem => {
  if (answer.headers.get("content-type") !== PROBLEM_CONTENT_TYPE) {
    throw new Error(`not a problem document: ${answer.status} ${answer.text}`)
  }
  return Schema.decodeUnknownSync(ProblemSchema)(answer.json)
}

/** An echo whose calls wait until the gate opens; `entered` counts all calls, `waiting` those that still wait. */
export const gatedUpstream = Effect.gen(function* () {
  const gate = yield* Latch.make()
  let entered = 0
  let waiting = 0
  const enter = Effect.suspend(() => {
    entered += 1
    waiting += 1
    return Effect.ensuring(
      gate.await,
      Effect.sync(() => {
        waiting -= 1
      }),
    )
  })
  const layer = Layer.effect(
    Upstream,
    Effect.map(Upstream, (echo) =>
      Upstream.of({
        ...echo,
        complete: (request) => Effect.andThen(enter, echo.complete(request)),
        streamTo: (request, emit) => Effect.andThen(enter, echo.streamTo(request, emit)),
        request: (request) => Effect.andThen(enter, echo.request(request)),
        requestStreamTo: (request, emit) => Effect.andThen(enter, echo.requestStreamTo(request, emit)),
      }),
    ),
  ).pipe(Layer.provide(Upstream.layerEcho))
  return { layer, open: gate.open, entered: () => entered, waiting: () => waiting }
})
