/** Minimal proxy on Effect: reads the body and passes the answer of UPSTREAM on. */
import { createServer } from "node:http"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import { Effect, Layer, Option } from "effect"
import {
  HttpClient,
  HttpClientRequest,
  HttpRouter,
  HttpServer,
  HttpServerRequest,
  HttpServerResponse,
} from "effect/http"

const passOn = Effect.gen(function* () {
  const upstream = process.env["UPSTREAM"] ?? ""
  const client = yield* HttpClient.HttpClient
  return HttpRouter.add(
    "POST",
    "/v1/chat/completions",
    Effect.gen(function* () {
      const request = yield* HttpServerRequest.HttpServerRequest
      const body = yield* request.text
      const answer = yield* client.execute(
        HttpClientRequest.post(`${upstream}/v1/chat/completions`).pipe(
          HttpClientRequest.bodyText(body, "application/json"),
        ),
      )
      const contentType = answer.headers["content-type"] ?? "application/json"
      return HttpServerResponse.stream(answer.stream, { status: answer.status, contentType })
    }),
  )
})

const announce = Layer.effectDiscard(
  Effect.flatMap(HttpServer.HttpServer, ({ address }) =>
    Effect.sync(() => {
      const port = "port" in address ? address.port : Option.none()
      console.log(`listening on http://127.0.0.1:${String(port)}`)
    }),
  ),
)

HttpRouter.serve(Layer.unwrap(passOn), { disableLogger: true, disableListenLog: true }).pipe(
  Layer.merge(announce),
  Layer.provide(NodeHttpServer.layer(() => createServer(), { port: 0, host: "127.0.0.1" })),
  Layer.provide(NodeHttpClient.layerUndici),
  Layer.launch,
  NodeRuntime.runMain,
)
