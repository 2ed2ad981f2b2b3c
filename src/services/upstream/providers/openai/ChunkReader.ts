/** Streamed answers of OpenAI-compatible servers. */
import { Option, Result, Schema } from "effect"
import type { ChatChunk, Delta, ToolCallDelta, Usage } from "../../../../domain/chat.ts"
import type { ProviderFailure } from "../../Provider.ts"
import { reportsError } from "../shared/ErrorBody.ts"
import { failure, failureOfEvent, garbage } from "../shared/Failures.ts"
import { FinishTracker } from "../shared/FinishTracker.ts"
import { parseJson } from "../shared/ResponseBody.ts"
import type { Call, ChunkReader } from "../shared/WireFormat.ts"
import * as Wire from "./Wire.ts"
import { FAILED } from "./fromResponse.ts"
import { usageOf } from "./usage.ts"

/** The last event of a stream; not every server sends it. */
const SENTINEL = "[DONE]"

const decode = Schema.decodeUnknownOption(Wire.Chunk)

export class OpenAiChunkReader implements ChunkReader {
  usage: Usage | undefined
  /** Reasoning is in the chunks. */
  readonly thoughts = 0
  /** Some servers count in every chunk: the count that comes with the finish, or behind it, is the whole one. */
  private usageIsFinal = false
  private sentinel = false
  private id: string
  private model: string
  private readonly created: number
  private readonly finish: FinishTracker
  private readonly calls = new Map<number, CallIds>()

  constructor(call: Call) {
    this.id = call.id
    this.model = call.model
    this.created = call.created
    this.finish = new FinishTracker(call.choices)
  }

  get state(): ChunkReader["state"] {
    if (this.sentinel) return this.finish.settled ? "closed" : "open"
    if (!this.finish.complete) return "open"
    return this.usageIsFinal ? "closed" : "finished"
  }

  read(data: string, event: string): Result.Result<ReadonlyArray<ChatChunk>, ProviderFailure> {
    if (data.trim() === SENTINEL) {
      this.sentinel = true
      return this.finish.settled
        ? Result.succeed([])
        : Result.fail(failure("truncated", "the provider closed the stream without a finish reason"))
    }
    const json = parseJson(data)
    if (Option.isNone(json)) return Result.fail(garbage("an event is not JSON"))
    if (reportsError(json.value)) return Result.fail(failureOfEvent(json.value))
    if (event === "error") return Result.fail(failureOfEvent({ error: json.value }))
    const wire = Option.getOrUndefined(decode(json.value))
    if (wire === undefined || (wire.choices == null && wire.usage == null)) {
      return Result.fail(garbage("an event is not a chunk"))
    }
    const failed = wire.choices?.find((choice) => choice.finish_reason === FAILED)
    return failed === undefined
      ? Result.succeed([this.chunk(wire)])
      : Result.fail(failureOfEvent({ error: failed["error"] ?? FAILED }))
  }

  private chunk(wire: Wire.Chunk): ChatChunk {
    this.id = wire.id || this.id
    this.model = wire.model || this.model
    const choices = (wire.choices ?? []).map(({ delta, index: given, finish_reason, ...choice }) => {
      const index = given ?? 0
      // Some servers send an empty text where the format wants `null`.
      const reason = finish_reason || null
      this.finish.see(index, reason)
      return { ...choice, index, delta: this.delta(index, delta ?? {}), finish_reason: reason }
    })
    const usage = usageOf(wire.usage)
    if (usage !== null) {
      this.usage = usage
      this.usageIsFinal = this.finish.complete
    }
    return {
      ...wire,
      id: this.id,
      object: "chat.completion.chunk",
      created: Math.trunc(wire.created ?? this.created),
      model: this.model,
      choices,
      usage,
    }
  }

  private delta(choice: number, wire: Wire.ChunkDelta): Delta {
    const { role, tool_calls: pieces, function_call: call, ...rest } = wire
    return {
      ...rest,
      ...(role == null ? {} : { role }),
      ...(pieces == null ? {} : { tool_calls: pieces.map((piece) => this.piece(choice, piece)) }),
      ...(call == null ? {} : { function_call: withoutNulls(call) }),
    }
  }

  /** Servers that leave out the index send each call in one piece, or repeat its id. */
  private piece(choice: number, wire: Wire.ToolCallPiece): ToolCallDelta {
    const { index: given, id, type: _type, function: called, ...rest } = wire
    const calls = this.calls.get(choice) ?? new CallIds()
    this.calls.set(choice, calls)
    const index = given ?? calls.indexOf(id)
    const begun = calls.begin(index, id || `${this.id}_${choice}_${index}`)
    return {
      ...rest,
      index,
      ...(begun === undefined ? {} : { id: begun, type: "function" as const }),
      ...(called == null ? {} : { function: withoutNulls(called) }),
    }
  }
}

/** The tool calls of one choice. The provider numbers them, so nothing here takes as long as a number is large. */
class CallIds {
  private readonly begun = new Set<number>()
  private readonly indexes = new Map<string, number>()
  private last = -1

  /** The index of a piece that has none: that of the call with its `id`, a new one, or without an id the last. */
  indexOf(id: string | null | undefined): number {
    return id ? (this.indexes.get(id) ?? this.last + 1) : Math.max(this.last, 0)
  }

  /** `id` if no piece of the call at `index` came before. */
  begin(index: number, id: string): string | undefined {
    if (this.begun.has(index)) return undefined
    this.begun.add(index)
    this.indexes.set(id, index)
    this.last = Math.max(this.last, index)
    return id
  }
}

const withoutNulls = ({
  name,
  arguments: args,
  ...rest
}: Wire.FunctionPiece): NonNullable<ToolCallDelta["function"]> => ({
  ...rest,
  ...(name == null ? {} : { name }),
  ...(args == null ? {} : { arguments: args }),
})
