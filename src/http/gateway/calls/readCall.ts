/** Reads a client's request: the members that the gateway needs, and the rest as it was sent. */
import { isUtf8 } from "node:buffer"
import { Effect, Redacted, type Scope } from "effect"
import type { HttpServerRequest } from "effect/http"
import { RequestInvalid } from "../../../api/gateway/Authorization.ts"
import type { Overloaded } from "../../../api/gateway/CallsApi.ts"
import { UnsupportedMediaType } from "../../../api/problems.ts"
import { CALL_LIMITS, faultSteps, NOT_UTF8 } from "../../../domain/json/iJson.ts"
import { Outline } from "../../../domain/json/outline.ts"
import { schemaIssues } from "../../../domain/json/schemaIssues.ts"
import { API_HEADERS, type ApiName, apiOf } from "../../../domain/upstream/apis.ts"
import { inSteps } from "../../../services/inSteps.ts"
import { apiRequest, checkedMembers } from "../../../services/sealing/apiRequest.ts"
import { decoding } from "../../shared/decoding.ts"
import { isJson } from "../../shared/JsonBody.ts"

/** The headers that affect the model call. */
const apiHeaders = (api: ApiName, { headers }: HttpServerRequest.HttpServerRequest): Readonly<Record<string, string>> =>
  Object.fromEntries(
    API_HEADERS[apiOf(api).vendor].flatMap((name) => {
      const value = headers[name]
      return value === undefined ? [] : [[name, value]]
    }),
  )

const NO_MODEL = new RequestInvalid({
  errors: [{ path: "model", message: "name a model; GET /v1/models lists the models" }],
})

/** Returns the body of `request`, decompressed. `hold` takes memory until the scope closes. */
export const readBody = Effect.fnUntraced(function* (
  request: HttpServerRequest.HttpServerRequest,
  hold: (bytes: number) => Effect.Effect<unknown, Overloaded, Scope.Scope>,
) {
  if (!isJson(request)) return yield* new UnsupportedMediaType()
  const decode = yield* decoding(request, hold)
  const sent = new Uint8Array(yield* Effect.orDie(request.arrayBuffer))
  const body = decode === undefined ? sent : yield* decode(sent)
  yield* hold(body.length)
  return body
})

/** Returns the request in `bytes`, whose body stays as it was sent, and the model that it names. */
export const readCall = Effect.fnUntraced(
  function* (api: ApiName, request: HttpServerRequest.HttpServerRequest, bytes: Uint8Array<ArrayBuffer>) {
    const outline = new Outline("")
    const fault = isUtf8(bytes) ? yield* inSteps(faultSteps(bytes, CALL_LIMITS, outline)) : NOT_UTF8
    if (fault !== undefined) return yield* new RequestInvalid({ detail: fault })
    if (!Outline.isObject(bytes)) return yield* new RequestInvalid({ detail: "It is not a JSON object." })
    const raw = outline.object(bytes)
    const body = checkedMembers(raw)
    const question = yield* apiRequest({ api, raw, body, headers: apiHeaders(api, request) })
    const { model } = question
    if (model === undefined) return yield* NO_MODEL
    return { question, model, isStream: body["stream"] === true }
  },
  Effect.catchTags({
    SchemaError: ({ issue }) => Effect.fail(new RequestInvalid({ errors: schemaIssues(issue) })),
    Refused: ({ errors }) =>
      Effect.fail(new RequestInvalid({ errors: errors === undefined ? [] : Redacted.value(errors) })),
  }),
)
