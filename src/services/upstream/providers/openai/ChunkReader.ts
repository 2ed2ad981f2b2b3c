/** Streamed answers of OpenAI-compatible servers. */
import { Equal, Option, Result, Schema } from "effect"
import type { ChatChunk, Delta, ToolCallDelta, Usage } from "../../../../domain/chat/chat.ts"
import type { ProviderFailure } from "../../Provider.ts"
import { AnswerHead } from "../shared/AnswerHead.ts"
import { garbage } from "../shared/providerFailures.ts"
import { FinishTracker } from "../shared/FinishTracker.ts"
import { toDelta, toTexts } from "../shared/toChunk.ts"
import type { AnswerDefaults, ChunkReader } from "../shared/WireFormat.ts"
import { TextDigest } from "./TextDigest.ts"
import { ToolCalls } from "./ToolCalls.ts"
import * as Wire from "./Wire.ts"
import { isPlainChunk } from "./plain.ts"
import { failedFor, finishOf } from "./finishReason.ts"
import { argumentsOf, messageOf, secondsOr, withoutError } from "./fromResponse.ts"
import { usageOf } from "./usage.ts"

const decode = Schema.decodeUnknownOption(Wire.Chunk)
const decodeMessage = Schema.decodeUnknownOption(Wire.Message)

export class OpenAiChunkReader extends AnswerHead implements ChunkReader {
  usage: Usage | undefined
  /** The last counts that were passed on. */
  private passed: Usage | undefined
  /** The chunks hold the thoughts, except those in content of several parts. */
  thoughts = 0
  private ended = false
  private readonly finish: FinishTracker
  private readonly calls = new Map<number, ToolCalls>()
  private readonly digests = new Map<number, TextDigest>()
  private readonly isCounted: boolean

  constructor(call: AnswerDefaults) {
    super(call)
    // vLLM: usage in every chunk.
    this.isCounted = call.options["continuous_usage_stats"] === true
    this.finish = new FinishTracker(call.choices)
  }

  get state(): ChunkReader["state"] {
    if (this.ended) return this.finish.settled ? "closed" : "open"
    return this.finish.complete ? "finished" : "open"
  }

  close(): boolean {
    this.ended = true
    return this.finish.settled
  }

  read(json: unknown): Result.Result<ReadonlyArray<ChatChunk>, ProviderFailure> {
    const wire = isPlainChunk(json) ? json : Option.getOrUndefined(decode(json))
    if (wire === undefined) return Result.fail(garbage("an event is not a chunk"))
    if (wire.choices == null && wire.usage == null) return Result.succeed([])
    return Result.map(this.chunk(wire), (chunk) => [chunk])
  }

  private chunk(wire: Wire.Chunk): Result.Result<ChatChunk, ProviderFailure> {
    this.named(wire.id, wire.model)
    const usage = usageOf(wire.usage)
    this.usage = usage ?? this.usage
    const wasSettled = this.finish.settled
    const choices = Result.all((wire.choices ?? []).map((choice, position) => this.choice(choice, position)))
    return Result.map(choices, (choices) => {
      const ends = this.finish.settled && !wasSettled
      // Google counts in every chunk, others once more after the end, and clients would add them all up.
      const counted = ends ? this.usage : wasSettled || this.isCounted ? usage : null
      const isRepeated = !this.isCounted && Equal.equals(counted, this.passed)
      this.passed = counted ?? this.passed
      return {
        ...withoutError(wire),
        ...this.envelope(choices),
        created: secondsOr(this.created, wire.created),
        usage: isRepeated ? null : (counted ?? null),
      }
    })
  }

  private choice(wire: Wire.ChunkChoice, position: number): Result.Result<Choice, ProviderFailure> {
    const { delta, message, index: given, finish_reason, ...choice } = wire
    const index = given ?? position
    const reason = finishOf(finish_reason)
    const failed = reason === null ? undefined : failedFor(reason)
    if (failed !== undefined) return Result.fail(failed)
    this.finish.see(index, reason)
    // Chunks of plain completions have `text`.
    const piece = delta ?? (typeof choice["text"] === "string" ? { content: choice["text"] } : undefined)
    const read = piece === undefined && message != null ? this.whole(index, message) : this.delta(index, piece ?? {})
    if (reason !== null && this.calls.get(index)?.named === false)
      return Result.fail(garbage("a tool call has no name"))
    return Result.map(read, (delta) => ({ ...withoutError(choice), index, delta, finish_reason: reason }))
  }

  private delta(choice: number, wire: Wire.ChunkDelta): Result.Result<Delta, ProviderFailure> {
    const { role, content, refusal, tool_calls: pieces, ...rest } = wire
    return Result.map(toTexts(content), (texts) => {
      this.thoughts += texts.thoughts
      this.digestOf(choice).add(texts.content ?? "")
      return {
        ...rest,
        ...(role == null ? {} : { role }),
        ...(content === undefined ? {} : { content: texts.content }),
        ...(refusal === undefined && texts.refusal === null ? {} : { refusal: texts.refusal ?? refusal ?? null }),
        ...(pieces == null ? {} : { tool_calls: pieces.flatMap((piece) => this.piece(choice, piece)) }),
      }
    })
  }

  /** Returns the new part of a whole message. Some servers send one instead of pieces, others after them. */
  private whole(choice: number, json: unknown): Result.Result<Delta, ProviderFailure> {
    const wire = Option.getOrUndefined(decodeMessage(json))
    if (wire === undefined) return Result.fail(garbage("a choice has a malformed message"))
    const digest = this.digestOf(choice)
    const { length } = digest
    const begun = length > 0 || this.calls.has(choice)
    return Result.flatMap(toDelta(messageOf(wire, `${this.id}_${choice}`)), (delta) => {
      const content = delta.content ?? ""
      if (begun && content === "") return Result.succeed({})
      if (!digest.begins(content)) return Result.fail(garbage("a whole message is not what its pieces were"))
      digest.add(content.slice(length))
      return Result.succeed(begun ? { content: content.slice(length) } : delta)
    })
  }

  private digestOf(choice: number): TextDigest {
    const digest = this.digests.get(choice) ?? new TextDigest()
    this.digests.set(choice, digest)
    return digest
  }

  private piece(choice: number, wire: Wire.ToolCallPiece): ReadonlyArray<ToolCallDelta> {
    const { index, id, type, function: called, ...rest } = wire
    const { name, arguments: args, ...members } = called ?? {}
    const other = Wire.otherType(type)
    const piece = {
      index: index ?? undefined,
      id: id || undefined,
      // Tools of other types have their names elsewhere.
      name: name || other,
      arguments: argumentsOf(args),
    }
    const calls = this.calls.get(choice) ?? new ToolCalls(`${this.id}_${choice}`)
    const begun = calls.find(piece)
    if (begun === undefined && !piece.id && !piece.name && piece.arguments === "") return []
    this.calls.set(choice, calls)
    const call = begun ?? calls.begin(piece)
    // The name is passed on once, because some clients concatenate names as they do arguments.
    const named = call.name === undefined && piece.name !== undefined ? { name: piece.name } : {}
    calls.grow(call, piece)
    return [
      {
        ...rest,
        index: call.index,
        ...(begun === undefined ? { id: call.id, type: other ?? "function" } : {}),
        ...(called == null
          ? {}
          : { function: { ...members, ...named, ...(args == null ? {} : { arguments: piece.arguments }) } }),
      },
    ]
  }
}

type Choice = ChatChunk["choices"][number]
