/** A connector before a proxy before a fake vendor, and the fake alone, for comparing both. */
import { assert } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import type { SealedFetchOptions } from "../../src/client/index.ts"
import { startConnector } from "./connector.ts"
import { type AnswerOf, type NativeReply, startNative } from "./nativeUpstream.ts"
import { sealedSetup } from "./sealedSetup.ts"

const OK: AnswerOf = () => ({ body: "{}" })

const OPERATOR_KEY = "operator-key"

export const nativeSetup = Effect.fnUntraced(function* (options: Partial<SealedFetchOptions> = {}) {
  const native = yield* startNative(OK)
  const sealed = yield* sealedSetup({
    provider1ApiKey: Redacted.make(OPERATOR_KEY),
    provider1BaseUrl: new URL(`${native.url}/v1`),
    provider3ApiKey: Redacted.make(OPERATOR_KEY),
    provider3BaseUrl: new URL(native.url),
  })
  const connector = yield* startConnector({ sealed: sealed.options(options) })
  return { ...sealed, native, connector }
})

interface Outcome {
  readonly value?: unknown
  readonly error?: unknown
}

/** An SDK's result in comparable form. */
const outcomeOf = async (ask: Promise<unknown>): Promise<Outcome> => {
  try {
    // Members that are not JSON, such as the request's id, are not compared.
    return { value: JSON.parse(JSON.stringify(await ask)) }
  } catch (error) {
    const { code, error: body, name, status, type } = Object(error) as Readonly<Record<string, unknown>>
    return { error: { name, kind: Object(error).constructor.name, status, type, code, body: withoutId(body) } }
  }
}

const withoutId = (body: unknown): unknown =>
  typeof body === "object" && body !== null ? { ...body, request_id: undefined } : body

/**
 * Calls the fake directly and through the connector, and fails unless request bytes, `headers` and the SDK's result are equal.
 * The caller's key must not arrive.
 */
export const sameThroughConnector = Effect.fnUntraced(function* (
  reply: NativeReply,
  callersKey: string,
  headers: ReadonlyArray<string>,
  ask: (url: string) => Promise<unknown>,
) {
  const { connector, native, wire } = yield* nativeSetup()
  native.answer(() => reply)
  const straight = yield* Effect.promise(() => outcomeOf(ask(native.url)))
  const sealed = yield* Effect.promise(() => outcomeOf(ask(connector.url)))
  assert.deepStrictEqual(sealed, straight)
  const [once, again, ...more] = native.requests
  assert.deepStrictEqual(more, [])
  assert.strictEqual(again?.body, once?.body)
  assert.strictEqual(`${again?.method} ${again?.path.split("?")[0]}`, `${once?.method} ${once?.path.split("?")[0]}`)
  for (const name of headers) assert.strictEqual(again?.headers[name], once?.headers[name], name)
  const sent = JSON.stringify(again?.headers)
  assert.include(sent, OPERATOR_KEY)
  assert.notInclude(sent, callersKey)
  assert.notInclude(wire.seen(), callersKey)
  return sealed
})
