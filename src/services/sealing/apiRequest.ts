/** Checks the members of a request that the proxy needs: model, form, and options whose answer it cannot return. */
import { Effect, Record as Rec, Redacted, Result, Schema } from "effect"
import { API_HEADERS, type ApiName, apiOf, APIS, CHAT_COMPLETIONS } from "../../domain/upstream/apis.ts"
import { ChatInput, type ChatRequest, normalize, optional } from "../../domain/chat/chat.ts"
import { parseJson } from "../../domain/json/json.ts"
import { schemaIssues } from "../../domain/json/schemaIssues.ts"
import type { ProblemIssue } from "../../domain/problems/problem.ts"
import { RawObject } from "../../domain/json/rawObject.ts"
import { MAX_MODEL } from "../../domain/upstream/targets.ts"
import type { ApiRequest } from "../../domain/upstream/upstream.ts"
import { invalidRequest, type Refused } from "./sealedProblem.ts"

/** A boolean that must not be `true`. */
const not = (message: string) => Schema.Boolean.check(Schema.makeFilter((value) => !value, { message }))

const bodyOf = (api: ApiName) =>
  Schema.Struct({
    // Limited because circuits hash the name and receipts sign it: megabytes would delay other requests.
    model: Schema.optionalKey(Schema.String.check(Schema.isBetweenLength(1, MAX_MODEL))),
    stream: optional(
      apiOf(api).stream === undefined ? not("The answers of this API are not streamed") : Schema.Boolean,
    ),
    background: optional(
      api === "responses"
        ? not("An answer that is made in the background cannot be fetched from here")
        : Schema.Unknown,
    ),
  })

const decodeBody = Rec.map(APIS, (_, api) => Schema.decodeUnknownEffect(Schema.Struct({ body: bodyOf(api) })))
const decodeChat = Schema.decodeUnknownResult(Schema.Struct({ body: ChatInput }))

/** A request of an API, with its headers. */
interface UncheckedRequest {
  readonly api: ApiName
  readonly headers: Readonly<Record<string, string>>
  /** The body's bytes; `undefined` if it is not an object. */
  readonly raw: RawObject | undefined
  /** The body's value; of an object only the members that every API is checked for. */
  readonly body: unknown
}

export type ApiQuestion = Pick<ApiRequest, "api" | "body" | "headers" | "model" | "completion">

const OF_ALL_APIS = ["model", "stream", "background"]

export const valuesIn = (object: RawObject, names: ReadonlyArray<string>): Record<string, unknown> =>
  Object.fromEntries(names.filter((name) => object.has(name)).map((name) => [name, object.value(name)]))

/** The members of a body that every API is checked for. */
export const checkedMembers = (body: RawObject): Record<string, unknown> => valuesIn(body, OF_ALL_APIS)

export const apiRequest = Effect.fnUntraced(function* ({
  api,
  body,
  headers,
  raw,
}: UncheckedRequest): Effect.fn.Return<ApiQuestion, Refused | Schema.SchemaError> {
  const wrong = Object.entries(headers).flatMap(([name, value]) => misfitOf(api, name, value))
  if (wrong.length > 0) return yield* misshapen(wrong)
  const { model } = (yield* decodeBody[api]({ body })).body
  if (api !== CHAT_COMPLETIONS) return { api, headers, model, body: raw ?? RawObject.of({}) }
  if (raw !== undefined && isAsProvidersHaveIt(raw)) {
    return { api, headers, model, body: raw, completion: once(() => chatIn(parseJson(raw.text))) }
  }
  const chat = chatIn(raw === undefined ? body : parseJson(raw.text))
  if (Result.isFailure(chat)) return yield* misshapen(chat.failure)
  return { api, headers, model, body: RawObject.of(chat.success), completion: () => chat }
})

const misshapen = (errors: ReadonlyArray<ProblemIssue>): Refused =>
  invalidRequest("The request does not have the expected shape.", { errors: Redacted.make(errors) })

/** Whether a chat is a plain Chat Completions body, without sealgate's shorthand for one prompt. */
const isAsProvidersHaveIt = (raw: RawObject): boolean =>
  raw.isFilledArray("messages") && !raw.has("prompt") && !raw.has("system")

const chatIn = (body: unknown): Result.Result<ChatRequest, ReadonlyArray<ProblemIssue>> =>
  Result.mapBoth(decodeChat({ body }), {
    onSuccess: (decoded) => normalize(decoded.body),
    onFailure: ({ issue }) => schemaIssues(issue),
  })

const once = <A>(make: () => A): (() => A) => {
  let made: { readonly value: A } | undefined
  return () => (made ??= { value: make() }).value
}

/** Printable ASCII, long enough for the lists of beta features that agents send. */
const HEADER_VALUE = /^[\x20-\x7e]{1,1024}$/

const misfitOf = (api: ApiName, name: string, value: string): ReadonlyArray<ProblemIssue> => {
  const allowed = API_HEADERS[apiOf(api).vendor]
  const path = `headers.${name}`
  if (!allowed.includes(name)) return [{ path, message: `Expected ${allowed.join(" or ")}, in lower case` }]
  return HEADER_VALUE.test(value) ? [] : [{ path, message: "Expected up to 1024 printable ASCII characters" }]
}
