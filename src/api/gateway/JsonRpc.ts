/** Messages of JSON-RPC 2.0, which MCP and A2A are made of. */
import { Schema } from "effect"

const MAX_METHOD = 100
const MAX_ID = 200
const MAX_PARAMS = 32

const RequestId = Schema.Union([Schema.String.check(Schema.isMaxLength(MAX_ID)), Schema.Int]).annotate({
  description: "Comes back with the answer.",
})
export type RequestId = typeof RequestId.Type

const members = {
  jsonrpc: Schema.Literal("2.0").annotate({ description: "The version of JSON-RPC." }),
  method: Schema.String.check(Schema.isMaxLength(MAX_METHOD)).annotate({ description: "The name of the method." }),
  params: Schema.optionalKey(
    Schema.Record(Schema.String, Schema.Unknown)
      .check(Schema.isMaxProperties(MAX_PARAMS))
      .annotate({ description: "As the method defines them." }),
  ),
}

export const RpcRequest = Schema.Struct({ ...members, id: RequestId }).annotate({ identifier: "RpcRequest" })
export type RpcRequest = typeof RpcRequest.Type

/** A request, or a notification if it has no `id`. */
export const RpcMessage = Schema.Struct({
  ...members,
  id: Schema.optionalKey(RequestId.annotate({ description: "Comes back with the answer; absent in notifications." })),
}).annotate({ identifier: "RpcMessage" })
export type RpcMessage = typeof RpcMessage.Type
