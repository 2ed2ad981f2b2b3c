/** Providers over a real client pipeline whose last step, the network, answers with what a test hands it. */
import { Effect, Redacted, type Scope } from "effect"
import type { Provider } from "../../../../../src/services/upstream/Provider.ts"
import { ConnectionFailed, type ProviderResponse } from "../../../../../src/services/upstream/HttpExchange.ts"
import { ProviderHttp } from "../../../../../src/services/upstream/ProviderHttp.ts"
import { makeHttpProvider } from "../../../../../src/services/upstream/providers/http/HttpProvider.ts"
import type { ProviderFormat } from "../../../../../src/services/upstream/providers/shared/Descriptor.ts"
import type { Limits } from "../../../../../src/services/upstream/providers/shared/Limits.ts"
import { PROVIDERS } from "../../../../../src/services/upstream/Slots.ts"
import { anthropic } from "../../../../support/fake-upstream/Anthropic.ts"
import { OK } from "../../../../support/fake-upstream/FullAnswer.ts"
import { gemini } from "../../../../support/fake-upstream/Gemini.ts"
import { openAi } from "../../../../support/fake-upstream/OpenAi.ts"

export const VENDORS = {
  openai: {
    format: PROVIDERS.provider1.format,
    id: "provider1",
    baseUrl: "https://openai.example/v1",
    model: "gpt-default",
  },
  anthropic: {
    format: PROVIDERS.provider3.format,
    id: "provider3",
    baseUrl: "https://anthropic.example",
    model: "claude-default",
  },
  gemini: {
    format: PROVIDERS.provider4.format,
    id: "provider4",
    baseUrl: "https://gemini.example",
    model: "gemini-3-default",
  },
} as const
export type Vendor = keyof typeof VENDORS
export const VENDOR_NAMES = ["openai", "anthropic", "gemini"] as const

/** A request as the network saw it. */
export interface Sent {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: unknown
}

export interface Canned {
  readonly provider: Provider
  readonly sent: ReadonlyArray<Sent>
}

export interface CannedOptions {
  readonly baseUrl?: string
  readonly limits?: Partial<Limits>
  /** Default: the vendor's. */
  readonly format?: ProviderFormat
}

/** Converts a response as a client does. The scope cancels it. */
const received = (response: Response): Effect.Effect<ProviderResponse, never, Scope.Scope> =>
  Effect.map(
    Effect.acquireRelease(
      Effect.sync(() => response.body?.getReader()),
      (reader) => Effect.ignore(Effect.tryPromise(() => reader?.cancel() ?? Promise.resolve())),
    ),
    (reader) => ({
      hasEnded: () => false,
      status: response.status,
      headers: Object.fromEntries(response.headers),
      body: Effect.tryPromise({
        try: () => reader?.read() ?? Promise.resolve({ done: true as const, value: undefined }),
        catch: (error) => new ConnectionFailed({ code: (error as { readonly code?: string }).code }),
      }).pipe(Effect.map(({ done, value }) => (done ? undefined : [value]))),
    }),
  )

/** A provider of `vendor` whose every call is answered by `respond`. */
export const canned = (
  vendor: Vendor,
  respond: (sent: Sent) => Response | ProviderResponse,
  options: CannedOptions = {},
): Effect.Effect<Canned> => {
  const sent: Array<Sent> = []
  const http = ProviderHttp.of({
    post: ({ body, headers, url }) =>
      Effect.suspend(() => {
        const seen: Sent = { url, headers, body: JSON.parse(Buffer.from(body).toString()) }
        sent.push(seen)
        const response = respond(seen)
        return response instanceof Response ? received(response) : Effect.succeed(response)
      }),
  })
  const { format, id, baseUrl, model } = VENDORS[vendor]
  return makeHttpProvider(options.format ?? format, {
    id,
    apiKey: Redacted.make("the-secret-key"),
    baseUrl: options.baseUrl ?? baseUrl,
    defaultModel: model,
    limits: options.limits,
  }).pipe(
    Effect.provideService(ProviderHttp, http),
    Effect.map((provider) => ({ provider, sent })),
  )
}

/** A response with a JSON value, or a text that stands for one. */
export const json = (body: unknown, init: ResponseInit = {}): Response =>
  new Response(typeof body === "string" ? body : JSON.stringify(body), {
    ...init,
    headers: { "content-type": "application/json; charset=utf-8", ...init.headers },
  })

/** A response that delivers `pieces` of an event stream one by one, and then ends. */
export const events = (pieces: ReadonlyArray<Uint8Array | string>): Response => {
  const left = [...pieces]
  const encoder = new TextEncoder()
  return new Response(
    new ReadableStream<Uint8Array>({
      pull: (controller) => {
        const piece = left.shift()
        if (piece === undefined) controller.close()
        else controller.enqueue(typeof piece === "string" ? encoder.encode(piece) : piece)
      },
    }),
    { headers: { "content-type": "text/event-stream" } },
  )
}

/** An event stream whose pieces each come some milliseconds after the one before, in virtual time. */
export const paced = (pieces: ReadonlyArray<readonly [afterMs: number, piece: string]>): ProviderResponse => {
  const left = [...pieces]
  return {
    hasEnded: () => left.length === 0,
    status: 200,
    headers: { "content-type": "text/event-stream" },
    body: Effect.suspend(() => {
      const next = left.shift()
      return next === undefined ? Effect.undefined : Effect.as(Effect.sleep(next[0]), [Buffer.from(next[1])])
    }),
  }
}

/** Whole answers with the text "ok". */
export const MINIMAL: Readonly<Record<Vendor, unknown>> = {
  openai: openAi.whole(OK),
  anthropic: anthropic.whole(OK),
  gemini: gemini.whole(OK),
}
