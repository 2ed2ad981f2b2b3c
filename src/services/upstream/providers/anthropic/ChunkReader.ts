/** Streamed answers of the Messages API. */
import { Option, Result, Schema } from "effect"
import type { ChatChunk, Delta, ToolCallDelta, Usage } from "../../../../domain/chat.ts"
import type { ProviderFailure } from "../../Provider.ts"
import { extraContent } from "../shared/ExtraContent.ts"
import { failure, failureOfEvent, garbage } from "../shared/Failures.ts"
import { parseJson } from "../shared/ResponseBody.ts"
import type { Call, ChunkReader } from "../shared/WireFormat.ts"
import type { ThinkingBlock } from "./Request.ts"
import * as Wire from "./Wire.ts"
import { finishReason, mergeUsage, usageOf } from "./meaning.ts"

const decodeEvent = Schema.decodeUnknownOption(Wire.Event)
const decodeMessageStart = Schema.decodeUnknownOption(Wire.MessageStart)
const decodeBlockStart = Schema.decodeUnknownOption(Wire.BlockStart)
const decodeBlockDelta = Schema.decodeUnknownOption(Wire.BlockDelta)
const decodeBlockStop = Schema.decodeUnknownOption(Wire.BlockStop)
const decodeMessageDelta = Schema.decodeUnknownOption(Wire.MessageDelta)

type Chunks = ReadonlyArray<ChatChunk>
type Read = Result.Result<Chunks, ProviderFailure>

/** A block that has begun: the tool call that it is, with what it was given so far, or thinking. */
type OpenBlock =
  | { readonly _tag: "Tool"; readonly index: number; readonly input: unknown; empty: boolean }
  | { readonly _tag: "Thinking"; thinking: string; signature: string }

export class AnthropicChunkReader implements ChunkReader {
  usage: Usage | undefined
  thoughts = 0
  private id: string
  private model: string
  private readonly created: number
  private started = false
  private finished = false
  private wireUsage: Wire.Usage | undefined
  private calls = 0
  private readonly blocks = new Map<number, OpenBlock>()
  /** Thinking that led to nothing yet. */
  private thinking: Array<ThinkingBlock> = []

  constructor(call: Call) {
    this.id = call.id
    this.model = call.model
    this.created = call.created
  }

  /** The event that has the stop reason has the usage as well, so nothing is worth waiting for. */
  get state(): ChunkReader["state"] {
    return this.finished ? "closed" : "open"
  }

  read(data: string): Read {
    const json = Option.getOrUndefined(parseJson(data))
    const event = Option.getOrUndefined(decodeEvent(json))
    if (event === undefined) return Result.fail(garbage("an event is not a JSON object with a type"))
    switch (event.type) {
      case "message_start":
        return this.decoded(decodeMessageStart(json), event.type, ({ message }) => {
          this.started = true
          this.id = message.id
          this.model = message.model
          this.count(message.usage)
          return [this.chunk({ role: "assistant" })]
        })
      case "content_block_start":
        return this.decoded(decodeBlockStart(json), event.type, (start) => this.begin(start))
      case "content_block_delta":
        return this.decoded(decodeBlockDelta(json), event.type, ({ index, delta }) => this.grow(index, delta))
      case "content_block_stop":
        return this.decoded(decodeBlockStop(json), event.type, ({ index }) => this.end(index))
      case "message_delta":
        return this.decoded(decodeMessageDelta(json), event.type, (delta) => this.finish(delta))
      case "message_stop":
        return Result.fail(failure("truncated", "the message stopped without a stop reason"))
      case "error":
        return Result.fail(failureOfEvent(json))
      default:
        return Result.succeed([])
    }
  }

  private decoded<A>(event: Option.Option<A>, type: string, use: (event: A) => Chunks): Read {
    if (Option.isNone(event)) return Result.fail(garbage(`malformed ${type}`))
    if (!this.started && type !== "message_start") return Result.fail(garbage(`${type} before message_start`))
    return Result.succeed(use(event.value))
  }

  private begin({ index, content_block: block }: typeof Wire.BlockStart.Type): Chunks {
    if (!Wire.isKnown(block)) return []
    switch (block.type) {
      case "text":
        return [...this.flushThinking(), ...this.text(block.text)]
      case "redacted_thinking":
        this.thoughts++
        this.thinking.push(block)
        return []
      case "thinking":
        this.blocks.set(index, { _tag: "Thinking", thinking: block.thinking, signature: block.signature })
        return []
      case "tool_use": {
        const at = this.calls++
        this.blocks.set(index, { _tag: "Tool", index: at, input: block.input, empty: true })
        const extra = extraContent("anthropic", this.takeThinking())
        return [
          this.toolCall({
            index: at,
            id: block.id,
            type: "function",
            function: { name: block.name, arguments: "" },
            ...extra,
          }),
        ]
      }
    }
  }

  private grow(index: number, delta: (typeof Wire.BlockDelta.Type)["delta"]): Chunks {
    const block = this.blocks.get(index)
    if (delta.type === "text_delta") return this.text(delta.text ?? "")
    if (block?._tag === "Thinking") {
      if (delta.thinking || delta.signature) this.thoughts++
      block.thinking += delta.thinking ?? ""
      block.signature += delta.signature ?? ""
      return []
    }
    if (block === undefined || delta.type !== "input_json_delta" || !delta.partial_json) return []
    block.empty = false
    return [this.toolCall({ index: block.index, function: { arguments: delta.partial_json } })]
  }

  private end(index: number): Chunks {
    const block = this.blocks.get(index)
    this.blocks.delete(index)
    if (block?._tag === "Thinking") {
      this.thinking.push({ type: "thinking", thinking: block.thinking, signature: block.signature })
    }
    if (block?._tag !== "Tool" || !block.empty) return []
    // Without pieces the input is what the block began with: an empty object, for a tool without parameters.
    return [this.toolCall({ index: block.index, function: { arguments: JSON.stringify(block.input ?? {}) } })]
  }

  private finish({ delta, usage }: typeof Wire.MessageDelta.Type): Chunks {
    this.count(usage)
    const stopReason = delta.stop_reason
    if (stopReason == null) return []
    this.finished = true
    const refusal = delta.stop_details?.explanation
    const finish = {
      index: 0,
      delta: refusal == null ? {} : { refusal },
      finish_reason: finishReason(stopReason),
      native_finish_reason: stopReason,
    }
    return [...this.flushThinking(), this.envelope([finish]), { ...this.envelope([]), usage: this.usage ?? null }]
  }

  private count(usage: Wire.Usage | null | undefined): void {
    if (usage == null) return
    this.wireUsage = mergeUsage(this.wireUsage, usage)
    this.usage = usageOf(this.wireUsage)
  }

  private text(text: string): Chunks {
    return text === "" ? [] : [this.chunk({ content: text })]
  }

  private toolCall(piece: ToolCallDelta): ChatChunk {
    return this.chunk({ tool_calls: [piece] })
  }

  private flushThinking(): Chunks {
    const state = this.takeThinking()
    return state === undefined ? [] : [this.chunk(extraContent("anthropic", state))]
  }

  private takeThinking(): Wire.ThinkingState | undefined {
    const blocks = this.thinking
    this.thinking = []
    return blocks.length > 0 ? { thinking_blocks: blocks } : undefined
  }

  private chunk(delta: Delta): ChatChunk {
    return this.envelope([{ index: 0, delta, finish_reason: null }])
  }

  private envelope(choices: ChatChunk["choices"]): ChatChunk {
    return { id: this.id, object: "chat.completion.chunk", created: this.created, model: this.model, choices }
  }
}
