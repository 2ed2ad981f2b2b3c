/** Answers of the Gemini API. A whole answer has the form of a stream's event, so one reader serves both. */
import { Option, Result, Schema } from "effect"
import type { ChatChunk, Delta, Usage } from "../../../../domain/chat/chat.ts"
import type { ProviderFailure } from "../../Provider.ts"
import { AnswerHead } from "../shared/AnswerHead.ts"
import { DistinctIds } from "../shared/DistinctIds.ts"
import { extraContent } from "../shared/ExtraContent.ts"
import { failure, garbage } from "../shared/providerFailures.ts"
import { FinishTracker } from "../shared/FinishTracker.ts"
import { argumentsOf } from "../shared/argumentsOf.ts"
import type { AnswerDefaults, ChunkReader } from "../shared/WireFormat.ts"
import * as Wire from "./Wire.ts"
import { ownId } from "./callIds.ts"
import { BROKEN, finishReason, given } from "./finishReason.ts"
import { plausibleUsage } from "../shared/plausibleUsage.ts"

/** Thoughts are billed as output. `promptTokenCount` includes what came from a cache. */
const usageOf = (value: unknown): Usage | undefined => {
  const wire = Option.getOrUndefined(decodeUsage(value))
  if (wire?.promptTokenCount == null) return undefined
  const prompt = wire.promptTokenCount + (wire.toolUsePromptTokenCount ?? 0)
  const thoughts = wire.thoughtsTokenCount ?? 0
  const completion = (wire.candidatesTokenCount ?? 0) + thoughts
  return plausibleUsage({
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: prompt + completion,
    prompt_tokens_details: { cached_tokens: wire.cachedContentTokenCount ?? 0 },
    completion_tokens_details: { reasoning_tokens: thoughts },
  })
}
const decodeUsage = Schema.decodeUnknownOption(Wire.Usage)

const decode = Schema.decodeUnknownOption(Wire.Response)

type Read = Result.Result<ReadonlyArray<ChatChunk>, ProviderFailure>

export class GeminiChunkReader extends AnswerHead implements ChunkReader {
  usage: Usage | undefined
  thoughts = 0
  private readonly finish: FinishTracker
  /** The number of tool calls of each choice so far. A choice that has not begun is absent. */
  private readonly calls = new Map<number, number>()
  private readonly ids = new Map<number, DistinctIds>()

  constructor(call: AnswerDefaults) {
    super(call)
    this.finish = new FinishTracker(call.choices)
  }

  get state(): ChunkReader["state"] {
    if (!this.finish.settled) return "open"
    // There may be fewer candidates than requested.
    return this.finish.complete ? "finished" : "settled"
  }

  close(): boolean {
    return this.finish.settled
  }

  read(json: unknown): Read {
    const response = Option.getOrUndefined(decode(json))
    if (response === undefined) return Result.fail(garbage("not a response of the Gemini API"))
    this.named(response.responseId, response.modelVersion)
    const usage = usageOf(response.usageMetadata)
    this.usage = usage ?? this.usage
    const candidates = response.candidates ?? []
    const blocked = given(response.promptFeedback?.blockReason)
    if (candidates.length === 0 && blocked !== undefined) {
      const message = response.promptFeedback?.blockReasonMessage
      return Result.fail(failure("content-filtered", message == null ? blocked : `${blocked}: ${message}`))
    }
    const chunks: Array<ChatChunk> = []
    for (const [position, candidate] of candidates.entries()) {
      const read = this.candidate(candidate, candidate.index ?? position)
      if (Result.isFailure(read)) return Result.fail(read.failure)
      for (const chunk of read.success) chunks.push(chunk)
    }
    if (this.finish.settled && usage !== undefined) chunks.push({ ...this.envelope([]), usage })
    return Result.succeed(chunks)
  }

  private candidate(candidate: Wire.Candidate, index: number): Read {
    const reason = given(candidate.finishReason)
    if (reason !== undefined && BROKEN.has(reason)) {
      return Result.fail(failure("broken", candidate.finishMessage ?? reason, { reason: `finish reason ${reason}` }))
    }
    this.finish.see(index, reason)
    const deltas: Array<Delta> = []
    if (!this.calls.has(index)) {
      this.calls.set(index, 0)
      deltas.push({ role: "assistant" })
    }
    for (const part of candidate.content?.parts ?? []) {
      if (part.inlineData != null || part.fileData != null)
        return Result.fail(garbage("an answer with media, which chat cannot carry"))
      const delta = this.delta(part, index)
      if (delta !== undefined) deltas.push(delta)
    }
    const chunks = deltas.map((delta) => this.envelope([{ index, delta, finish_reason: null }]))
    if (reason === undefined) return Result.succeed(chunks)
    const finish = finishReason(reason, (this.calls.get(index) ?? 0) > 0)
    // The message of an ordinary finish adds no information.
    const refusal = finish === "content_filter" ? candidate.finishMessage : undefined
    const choice = {
      index,
      delta: refusal == null ? {} : { refusal },
      finish_reason: finish,
      native_finish_reason: reason,
    }
    return Result.succeed([...chunks, this.envelope([choice])])
  }

  /** Thoughts are not part of the answer, but their signatures are if they stand on parts that are. */
  private delta(part: Wire.Part, choice: number): Delta | undefined {
    const signature = part.thoughtSignature
    const extra = extraContent("google", signature == null ? undefined : { thought_signature: signature })
    const called = part.functionCall
    if (called != null) {
      const index = this.calls.get(choice) ?? 0
      this.calls.set(choice, index + 1)
      const ids = this.ids.get(choice) ?? new DistinctIds()
      this.ids.set(choice, ids)
      const id = ids.take(called.id, ownId(this.id, choice, index))
      const args = argumentsOf(called.args)
      return {
        ...(part.text && part.thought !== true ? { content: part.text } : {}),
        tool_calls: [{ index, id, type: "function", function: { name: called.name, arguments: args }, ...extra }],
      }
    }
    if (part.thought === true) {
      if (part.text) this.thoughts++
      return undefined
    }
    if (part.text) return { content: part.text, ...extra }
    return signature == null ? undefined : extra
  }
}
