import { Effect, Stream } from "effect"
import { HttpServerRequest, HttpServerResponse } from "effect/http"
import { A2A_VERSION } from "../../../api/gateway/A2aApi.ts"
import { CurrentUser } from "../../../api/gateway/Authorization.ts"
import { GatewayApi } from "../../../api/gateway/GatewayApi.ts"
import type { RpcRequest } from "../../../api/gateway/JsonRpc.ts"
import { Agents } from "../../../services/agents/Agents.ts"
import { eventStreamResponse, laterJsonResponse } from "../../shared/EventStream.ts"
import { layerHandlers } from "../../shared/layerHandlers.ts"
import { cardOf } from "./card.ts"
import { makeMethods } from "./methods.ts"
import { errorOf, failed, type MethodFailure, RpcError } from "./rpcErrors.ts"

const eventOf = (response: object): string => `data: ${JSON.stringify(response)}\n\n`

/** `Major.Minor` of a version: patches do not count (A2A 1.0, §3.6). */
const withoutPatch = (version: string): string => version.split(".", 2).join(".")

export const A2aHandlers = layerHandlers(
  GatewayApi,
  "a2a",
  Effect.fn(function* (handlers) {
    const agents = yield* Agents
    const methods = yield* makeMethods

    /** The caller and the agent, if its key permits that: others are answered like missing ones. */
    const callerOf = Effect.fnUntraced(function* (name: string) {
      const user = yield* CurrentUser
      return { user, agent: yield* agents.named(user.tenant, name, user.key?.agents) }
    })

    const replyTo = Effect.fnUntraced(function* (name: string, version: string, { method, params = {} }: RpcRequest) {
      const caller = yield* callerOf(name)
      // A client without this header speaks 0.3 (A2A 1.0, §3.6.2).
      if (withoutPatch(version) !== A2A_VERSION) {
        return yield* new RpcError({
          reason: "VERSION_NOT_SUPPORTED",
          message: `This server speaks A2A ${A2A_VERSION}. Send A2A-Version: ${A2A_VERSION}.`,
        })
      }
      const run = methods.get(method)
      if (run === undefined) {
        return yield* new RpcError({
          reason: "METHOD_NOT_FOUND",
          message: `There is no such method; there are ${[...methods.keys()].join(", ")}.`,
        })
      }
      return yield* run(caller, params)
    })

    return handlers.handleAll({
      card: Effect.fnUntraced(function* ({ params }) {
        const { agent } = yield* callerOf(params.id)
        return HttpServerResponse.jsonUnsafe(cardOf(yield* HttpServerRequest.HttpServerRequest, agent))
      }),
      call: ({ headers, params, payload, query }) => {
        const { id } = payload
        const succeeded = (result: object): object => ({ jsonrpc: "2.0", id, result })
        const refused = (failure: MethodFailure): object => failed(id, errorOf(failure))
        return replyTo(params.id, headers["a2a-version"] ?? query["A2A-Version"] ?? "", payload).pipe(
          Effect.map((reply) => {
            if ("result" in reply) return HttpServerResponse.jsonUnsafe(succeeded(reply.result))
            if ("later" in reply) {
              return laterJsonResponse(Effect.match(reply.later, { onSuccess: succeeded, onFailure: refused }))
            }
            const events = Stream.catch(Stream.map(reply.results, succeeded), (failure) =>
              Stream.succeed(refused(failure)),
            )
            return eventStreamResponse(Stream.map(events, eventOf))
          }),
          Effect.catch((failure) => Effect.succeed(HttpServerResponse.jsonUnsafe(refused(failure)))),
        )
      },
    })
  }),
)
