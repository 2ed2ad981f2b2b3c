/** Providers in memory that answer by script and remember when they were called, for tests of the fault policy. */
import { Clock, Context, type Duration, Effect, Exit, Fiber, Layer, type Scope, Stream } from "effect"
import { TestClock } from "effect/testing"
import type { ChatChunk, ChatCompletion, ChatRequest, Usage } from "../../../src/domain/chat/chat.ts"
import type { FailureKind } from "../../../src/domain/upstream/failures.ts"
import type { ProviderId, UpstreamRequest } from "../../../src/domain/upstream/upstream.ts"
import { type Provider, ProviderFailure, type StreamWatch } from "../../../src/services/upstream/Provider.ts"
import { Upstream } from "../../../src/services/upstream/Upstream.ts"
import { defaultUpstreamSettings, type UpstreamSettings } from "../../../src/services/upstream/UpstreamSettings.ts"

/** Jitter never shortens a delay below this part of it, and never makes it longer by more than the same. */
export const JITTER_FLOOR = 0.8

/** A provider's next step. A script that does not end with `finish` or a failure just ends. */
export type Step = (model: string, watch: StreamWatch | undefined) => Stream.Stream<ChatChunk, ProviderFailure>

export type Script = ReadonlyArray<Step>

const after = (effect: Effect.Effect<unknown>) => Stream.drain(Stream.fromEffect(effect))

export const wait =
  (ms: number): Step =>
  () =>
    after(Effect.sleep(ms))
export const hang: Step = () => Stream.never
/** A defect, as of a translation that cannot make sense of what it reads. */
export const dies: Step = () => Stream.die(new Error("not understood"))
/** A thought that is in no chunk. */
export const thinks: Step = (_, watch) => after(Effect.sync(() => watch?.thinking()))
/** Something that is no chunk and no thought, such as a comment. */
export const pings: Step = (_, watch) => after(Effect.sync(() => watch?.alive()))
/** Word of what the answer has cost so far, before the chunk that says what it cost in all. */
export const spends =
  (prompt: number, completion: number): Step =>
  (_, watch) =>
    after(Effect.sync(() => watch?.spent(tokens(prompt, completion))))
export const fails =
  (kind: FailureKind, more: Omit<ConstructorParameters<typeof ProviderFailure>[0], "kind"> = {}): Step =>
  () =>
    Stream.fail(new ProviderFailure({ kind, ...more }))

export const tokens = (prompt: number, completion: number): Usage => ({
  prompt_tokens: prompt,
  completion_tokens: completion,
  total_tokens: prompt + completion,
})

/** A chunk, of the model that was asked unless it names another. */
export const chunkOf =
  (choices: ChatChunk["choices"], more: { readonly model?: string; readonly usage?: Usage } = {}): Step =>
  (model) =>
    Stream.succeed({ id: "chunk", object: "chat.completion.chunk", created: 0, model, choices, ...more })

/** The first chunk of most providers: a role and nothing to read. */
export const role = chunkOf([{ index: 0, delta: { role: "assistant", content: "" } }])
export const text = (content: string): Step => chunkOf([{ index: 0, delta: { content } }])
export const finish = (reason = "stop"): Step => chunkOf([{ index: 0, delta: {}, finish_reason: reason }])
export const usage = (prompt: number, completion: number): Step => chunkOf([], { usage: tokens(prompt, completion) })
export const says = (...words: ReadonlyArray<string>): Script => [role, ...words.map(text), finish()]

export interface Called {
  readonly model: string | undefined
  readonly request: ChatRequest
  readonly at: number
  endedAt: number | undefined
  ended: "success" | "failure" | "interrupted" | undefined
}

export interface Scripted extends Provider {
  readonly calls: ReadonlyArray<Called>
  /** Adds scripts, taken in order by the calls to come. */
  readonly script: (...scripts: ReadonlyArray<Script>) => void
  /** The reply when no script is left; "ok" at first. */
  readonly always: (script: Script) => void
}

export const scripted = (id: ProviderId, defaultModel = `${id}-model`): Scripted => {
  const calls: Array<Called> = []
  const scripts: Array<Script> = []
  let otherwise: Script = says("ok")

  const begin = (request: ChatRequest) =>
    Effect.map(Clock.currentTimeMillis, (at) => {
      const call: Called = { model: request.model, request, at, endedAt: undefined, ended: undefined }
      calls.push(call)
      return { call, script: scripts.shift() ?? otherwise }
    })

  const end = (call: Called, exit: Exit.Exit<unknown, unknown>) =>
    Effect.map(Clock.currentTimeMillis, (now) => {
      call.endedAt = now
      call.ended = Exit.isSuccess(exit) ? "success" : Exit.hasInterrupts(exit) ? "interrupted" : "failure"
    })

  const perform = ({ model = defaultModel }: ChatRequest, script: Script, watch?: StreamWatch) =>
    Stream.flatMap(Stream.rechunk(Stream.fromIterable(script), 1), (step) => step(model, watch))

  const stream: Provider["stream"] = (request, watch) =>
    Stream.unwrap(
      Effect.map(begin(request), ({ call, script }) =>
        Stream.onExit(perform(request, script, watch), (exit) => end(call, exit)),
      ),
    )

  const complete: Provider["complete"] = (request) =>
    Stream.runFold(
      stream(request),
      (): ChatCompletion => ({
        id: "completion",
        object: "chat.completion",
        created: 0,
        model: request.model ?? defaultModel,
        choices: [{ index: 0, message: { role: "assistant", content: "" }, finish_reason: "stop" }],
        usage: null,
      }),
      (answer, chunk): ChatCompletion => ({
        ...answer,
        model: chunk.model,
        usage: chunk.usage ?? answer.usage ?? null,
        choices: answer.choices.map((choice) => ({
          ...choice,
          finish_reason: chunk.choices[0]?.finish_reason ?? choice.finish_reason,
          message: { ...choice.message, content: `${choice.message.content}${chunk.choices[0]?.delta.content ?? ""}` },
        })),
      }),
    )

  return {
    id,
    apiName: "anthropic",
    defaultModel,
    complete,
    stream,
    calls,
    script: (...more) => void scripts.push(...more),
    always: (script) => {
      otherwise = script
    },
  }
}

/** A virtual time without the rounding errors that jittered pauses leave in it. */
export const rounded = (ms: number): number => Math.round(ms * 1000) / 1000

/** Milliseconds between the end of each call and the begin of the next. */
export const gaps = ({ calls }: Scripted): ReadonlyArray<number> =>
  calls.slice(1).map((call, index) => rounded(call.at - (calls[index]?.endedAt ?? Number.NaN)))

export const ask = (more: Partial<UpstreamRequest> & { readonly model?: string } = {}): UpstreamRequest => {
  const { model, ...request } = more
  return {
    completion: { messages: [{ role: "user", content: "hi" }], ...(model === undefined ? {} : { model }) },
    ...request,
  }
}

export type Overrides = { readonly [Group in keyof UpstreamSettings]?: Partial<UpstreamSettings[Group]> }

export const settingsWith = (overrides: Overrides, base = defaultUpstreamSettings): UpstreamSettings => ({
  timeouts: { ...base.timeouts, ...overrides.timeouts },
  retry: { ...base.retry, ...overrides.retry },
  bulkhead: { ...base.bulkhead, ...overrides.bulkhead },
  circuit: { ...base.circuit, ...overrides.circuit },
})

/** The service under test over these providers, alive as long as the test. */
export const upstreamOf = (
  providers: ReadonlyArray<Provider>,
  overrides: Overrides = {},
): Effect.Effect<Upstream["Service"], never, Scope.Scope> =>
  Effect.map(Layer.build(Upstream.layer({ providers, settings: settingsWith(overrides) })), (services) =>
    Context.get(services, Upstream),
  )

/** One provider, and its upstream. */
export const oneProvider = (overrides?: Overrides) =>
  Effect.suspend(() => {
    const provider = scripted("provider1")
    return Effect.map(upstreamOf([provider], overrides), (upstream) => ({ provider, upstream }))
  })

/** The same, and the provider always answers by this script. */
export const upstreamSaying = (script: Script, overrides?: Overrides) =>
  Effect.tap(oneProvider(overrides), ({ provider }) => Effect.sync(() => provider.always(script)))

/** Runs an effect to its end while virtual time passes as fast as it can, at most `limit` of it. */
export const passingTime = <A, E, R>(
  effect: Effect.Effect<A, E, R>,
  limit: Duration.Input = "1 hour",
): Effect.Effect<A, E, R> =>
  Effect.gen(function* () {
    const fiber = yield* Effect.forkChild(effect, { startImmediately: true })
    yield* TestClock.adjust(limit)
    return yield* Fiber.join(fiber)
  })

/** Like {@link passingTime}, with how many virtual milliseconds the effect took. */
export const timed = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  passingTime(
    Effect.gen(function* () {
      const startedAt = yield* Clock.currentTimeMillis
      const exit = yield* Effect.exit(effect)
      return { exit, ms: (yield* Clock.currentTimeMillis) - startedAt }
    }),
  )
