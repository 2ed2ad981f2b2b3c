/** The gateway's client for programs in Effect: derived from the gateway's own API, problems in the error channel. */
import { Context, Effect, identity, Layer } from "effect"
import { FetchHttpClient, HttpClient, HttpClientRequest } from "effect/http"
import { HttpApiClient, HttpApiMiddleware } from "effect/http-api"
import { GatewayApi } from "../../api/gateway/GatewayApi.ts"
import { Authorization } from "../../api/gateway/Authorization.ts"
import { refuseUser } from "../../domain/url.ts"

export interface GatewayClientOptions {
  /** Where the gateway is, such as `https://gateway.example.com`. A user or password in it throws a `TypeError`. */
  readonly baseUrl: string | URL
  /** A bearer token, or a function that returns one before every request. */
  readonly token: string | (() => string | Promise<string>)
  readonly fetch?: typeof globalThis.fetch
}

const layerBearer = ({ token }: GatewayClientOptions) =>
  HttpApiMiddleware.layerClient(
    Authorization,
    Effect.fnUntraced(function* ({ next, request }) {
      const bearer = typeof token === "string" ? token : yield* Effect.promise(async () => token())
      return yield* next(HttpClientRequest.bearerToken(request, bearer))
    }),
  )

/**
 * The derived client: a method per endpoint, with its input and output as the API declares them. Throws a `TypeError` if the
 * address holds a user or password.
 */
export const makeGatewayApi = <E, R>(
  options: GatewayClientOptions,
  transformClient: (client: HttpClient.HttpClient) => HttpClient.HttpClient.With<E, R>,
) => {
  const { baseUrl, fetch } = options
  refuseUser(String(baseUrl), "gateway", "token")
  /** Follows no redirect: it would resend secrets to another server, without the token, and a POST as a GET. */
  const once =
    (platform: typeof globalThis.fetch): typeof globalThis.fetch =>
    (input, init) =>
      (fetch ?? platform)(input, { ...init, redirect: "manual" })
  return Effect.gen(function* () {
    const client = yield* HttpClient.HttpClient
    const httpClient = HttpClient.transformResponse(client, Effect.updateService(FetchHttpClient.Fetch, once))
    return yield* HttpApiClient.makeWith(GatewayApi, { baseUrl, httpClient: transformClient(httpClient) })
  }).pipe(Effect.provide([layerBearer(options), FetchHttpClient.layer]))
}

export class GatewayClientService extends Context.Service<
  GatewayClientService,
  HttpApiClient.ForApi<typeof GatewayApi>
>()("sealgate/client/GatewayClientService") {
  static readonly layer = (options: GatewayClientOptions): Layer.Layer<GatewayClientService> =>
    Layer.effect(GatewayClientService, makeGatewayApi(options, identity))
}
