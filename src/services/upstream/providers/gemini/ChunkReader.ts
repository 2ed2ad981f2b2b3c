/** Answers of the Gemini API. A whole answer has the form of a stream's event, so one reader serves both. */
import { Option, Result, Schema } from "effect"
import type { ChatChunk, Delta, Usage } from "../../../../domain/chat.ts"
import type { ProviderFailure } from "../../Provider.ts"
import { reportsError } from "../shared/ErrorBody.ts"
import { extraContent } from "../shared/ExtraContent.ts"
import { failure, failureOfEvent, garbage } from "../shared/Failures.ts"
import { FinishTracker } from "../shared/FinishTracker.ts"
import { parseJson } from "../shared/ResponseBody.ts"
import type { Call, ChunkReader } from "../shared/WireFormat.ts"
import * as Wire from "./Wire.ts"
import { ownId } from "./callIds.ts"
import { finishReason, usageOf } from "./meaning.ts"

const decode = Schema.decodeUnknownOption(Wire.Response)

/** A response has one of these; everything in it is optional otherwise. */
const MEMBERS = ["candidates", "promptFeedback", "usageMetadata"] as const

type Read = Result.Result<ReadonlyArray<ChatChunk>, ProviderFailure>

export class GeminiChunkReader implements ChunkReader {
  usage: Usage | undefined
  thoughts = 0
  private id: string
  private model: string
  private readonly created: number
  private readonly finish: FinishTracker
  private usageTold = false
  /** How many tools each choice has called so far; a choice is here once it has begun. */
  private readonly calls = new Map<number, number>()

  constructor(call: Call) {
    this.id = call.id
    this.model = call.model
    this.created = call.created
    this.finish = new FinishTracker(call.choices)
  }

  get state(): ChunkReader["state"] {
    // Fewer candidates may come than were asked for.
    if (!this.finish.complete) return this.finish.settled ? "settled" : "open"
    return this.usageTold ? "closed" : "finished"
  }

  read(data: string): Read {
    return Option.match(parseJson(data), {
      onNone: () => Result.fail(garbage("an event is not JSON")),
      onSome: (value) => this.readValue(value),
    })
  }

  /** {@link read} for a JSON value: an event, or the body of a whole answer. */
  readValue(value: unknown): Read {
    if (reportsError(value)) return Result.fail(failureOfEvent(value))
    const response = Option.getOrUndefined(decode(value))
    if (response === undefined || !MEMBERS.some((member) => response[member] != null)) {
      return Result.fail(garbage("not a response of the Gemini API"))
    }
    this.id = response.responseId ?? this.id
    this.model = response.modelVersion ?? this.model
    this.usage = usageOf(response.usageMetadata) ?? this.usage
    const candidates = response.candidates ?? []
    const blocked = response.promptFeedback?.blockReason
    if (candidates.length === 0 && blocked != null) {
      const message = response.promptFeedback?.blockReasonMessage
      return Result.fail(failure("content-filtered", message == null ? blocked : `${blocked}: ${message}`))
    }
    const chunks: Array<ChatChunk> = []
    for (const [position, candidate] of candidates.entries()) {
      const read = this.candidate(candidate, candidate.index ?? position)
      if (Result.isFailure(read)) return Result.fail(read.failure)
      chunks.push(...read.success)
    }
    const usage = usageOf(response.usageMetadata)
    if (this.finish.settled && !this.usageTold && usage !== undefined) {
      this.usageTold = this.finish.complete
      chunks.push({ ...this.envelope([]), usage })
    }
    return Result.succeed(chunks)
  }

  private candidate(candidate: Wire.Candidate, index: number): Read {
    const reason = candidate.finishReason
    this.finish.see(index, reason)
    const deltas: Array<Delta> = []
    if (!this.calls.has(index)) {
      this.calls.set(index, 0)
      deltas.push({ role: "assistant" })
    }
    for (const part of candidate.content?.parts ?? []) {
      if (part.inlineData !== undefined) return Result.fail(garbage("an answer with media, which chat cannot carry"))
      const delta = this.delta(part, index)
      if (delta !== undefined) deltas.push(delta)
    }
    const chunks = deltas.map((delta) => this.envelope([{ index, delta, finish_reason: null }]))
    if (reason == null) return Result.succeed(chunks)
    const finish = finishReason(reason, (this.calls.get(index) ?? 0) > 0)
    // The message of an ordinary finish only says that it is one.
    const refusal = finish === "content_filter" ? candidate.finishMessage : undefined
    const choice = {
      index,
      delta: refusal == null ? {} : { refusal },
      finish_reason: finish,
      native_finish_reason: reason,
    }
    return Result.succeed([...chunks, this.envelope([choice])])
  }

  /** Thoughts are not part of the answer; their signature is, where it stands on something that is. */
  private delta(part: Wire.Part, choice: number): Delta | undefined {
    const signature = part.thoughtSignature
    const extra = extraContent("google", signature == null ? undefined : { thought_signature: signature })
    const called = part.functionCall
    if (called != null) {
      const index = this.calls.get(choice) ?? 0
      this.calls.set(choice, index + 1)
      const id = called.id || ownId(this.id, choice, index)
      const args = JSON.stringify(called.args ?? {})
      return {
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

  private envelope(choices: ChatChunk["choices"]): ChatChunk {
    return { id: this.id, object: "chat.completion.chunk", created: this.created, model: this.model, choices }
  }
}
