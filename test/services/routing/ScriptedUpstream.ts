/** An upstream in memory that answers by script and remembers what it was asked, for tests of what stands above it. */
import { Clock, Effect, Layer, Option, Stream } from "effect"
import type { ToolCall, Usage } from "../../../src/domain/chat/chat.ts"
import {
  type Answered,
  type ApiRequest,
  type Attempt,
  type ProviderId,
  UpstreamError,
  type UpstreamRequest,
  type UpstreamTarget,
} from "../../../src/domain/upstream/upstream.ts"
import { type ProviderStatus, Upstream } from "../../../src/services/upstream/Upstream.ts"
import type { UpstreamSettings } from "../../../src/services/upstream/UpstreamSettings.ts"
import { type StreamedEvent, streaming } from "../../support/streamed.ts"

export interface Reply {
  readonly text?: string
  readonly refusal?: string
  readonly toolCalls?: ReadonlyArray<ToolCall>
  /** Other members of the message. */
  readonly members?: Readonly<Record<string, unknown>>
  readonly finishReason?: string
  readonly usage?: Usage | null
  /** Milliseconds until the first token. */
  readonly ttft?: number
  readonly servedModel?: string
  /** How the targets before this one failed; each takes one target of the request. */
  readonly failing?: ReadonlyArray<Pick<Attempt, "outcome"> & Partial<Attempt>>
  /** Never answers. */
  readonly hangs?: boolean
}

export type Script = (request: UpstreamRequest, index: number) => Reply | UpstreamError

export const usage = (input: number, output: number, cached?: number): Usage => ({
  prompt_tokens: input,
  completion_tokens: output,
  total_tokens: input + output,
  ...(cached === undefined ? {} : { prompt_tokens_details: { cached_tokens: cached } }),
})

export const status = (
  provider: ProviderId,
  model = `${provider}-model`,
  circuit: ProviderStatus["circuit"] = "closed",
): ProviderStatus => ({ provider, model, circuit, lastSuccess: Option.none(), fault: undefined, targets: [] })

export class ScriptedUpstream {
  readonly requests: Array<UpstreamRequest> = []
  readonly configured: Array<UpstreamSettings> = []
  statuses: ReadonlyArray<ProviderStatus>
  script: Script

  constructor(statuses: ReadonlyArray<ProviderStatus>, script: Script = () => ({ text: "ok" })) {
    this.statuses = statuses
    this.script = script
  }

  /** The targets that each request was offered to, as `provider/model`. */
  get offered(): ReadonlyArray<ReadonlyArray<string>> {
    return this.requests.map((request) => (request.targets ?? []).map(nameOf))
  }

  get layer(): Layer.Layer<Upstream> {
    return Layer.succeed(
      Upstream,
      Upstream.of({
        complete: () => Effect.die("not used"),
        request: (request) => this.whole(request),
        requestStreamTo: () => Effect.die("not used"),
        configured: Effect.sync(() => new Map(this.statuses.map(({ provider }) => [provider, "operator"]))),
        offering: Effect.sync(() =>
          this.statuses.map(({ model, provider }) => ({ provider, offers: [{ name: model }] })),
        ),
        status: Effect.sync(() => this.statuses),
        configure: (settings) => Effect.sync(() => void this.configured.push(settings)),
        streamTo: streaming((request) => Stream.unwrap(this.answer(request))),
      }),
    )
  }

  /** A whole answer by the same script, which sees no messages. */
  private whole(request: ApiRequest): Effect.Effect<Answered, UpstreamError> {
    const onAttempt = (attempt: Attempt) => request.onAttempt?.({ ...attempt, timeToFirstTokenMs: null })
    return this.answer({ ...request, completion: { messages: [] }, onAttempt }).pipe(
      Effect.flatMap(Stream.runCollect),
      Effect.map((events) => events.find((event) => event._tag === "Finished")),
      Effect.flatMap((finished) =>
        finished === undefined ? Effect.die("did not finish") : Effect.succeed({ ...finished, json: "{}" }),
      ),
    )
  }

  private answer(request: UpstreamRequest): Effect.Effect<Stream.Stream<StreamedEvent, UpstreamError>> {
    return Effect.map(Clock.currentTimeMillis, (now) => {
      const reply = this.script(request, this.requests.push(request) - 1)
      const tell = (attempts: ReadonlyArray<Attempt>) => attempts.forEach((each) => request.onAttempt?.(each))
      if (reply instanceof UpstreamError) {
        tell(reply.attempts ?? [])
        return Stream.fail(reply)
      }
      const failing = reply.failing ?? []
      const targets = request.targets ?? []
      const served = targets[failing.length] ?? targets.at(-1)
      if (served === undefined) return Stream.die("asked without targets")
      if (reply.hangs === true) {
        return Stream.onExit(Stream.never, () => Effect.sync(() => tell([attempt(served, { outcome: "interrupted" })])))
      }
      const model = reply.servedModel ?? served.model
      const attempts = [
        ...failing.map((failed, i) => attempt(targets[i] ?? served, { startedAt: now, finishedAt: now, ...failed })),
        attempt(served, {
          startedAt: now,
          finishedAt: now + 100,
          servedModel: model,
          timeToFirstTokenMs: reply.ttft ?? 10,
          usage: reply.usage === undefined ? usage(10, 5) : reply.usage,
        }),
      ]
      tell(attempts)
      const delta = {
        ...reply.members,
        content: reply.text ?? null,
        ...(reply.refusal === undefined ? {} : { refusal: reply.refusal }),
        ...(reply.toolCalls === undefined
          ? {}
          : { tool_calls: reply.toolCalls.map((call, index) => ({ index, ...call })) }),
      }
      const finishReasons = [reply.finishReason ?? "stop"]
      return Stream.make<ReadonlyArray<StreamedEvent>>(
        {
          _tag: "Delta",
          provider: served.provider,
          chunk: { id: "c", object: "chat.completion.chunk", created: 0, model, choices: [{ index: 0, delta }] },
        },
        {
          _tag: "Finished",
          served: { provider: served.provider, model, finishReasons, usage: reply.usage ?? null },
          attempts,
        },
      )
    })
  }
}

export const nameOf = ({ model, provider }: UpstreamTarget): string => `${provider}/${model}`

export const attempt = (target: UpstreamTarget, members: Partial<Attempt>): Attempt => ({
  provider: target.provider,
  model: target.model,
  servedModel: null,
  cause: "first",
  outcome: "success",
  startedAt: 0,
  finishedAt: 0,
  timeToFirstTokenMs: null,
  usage: null,
  ...members,
})
