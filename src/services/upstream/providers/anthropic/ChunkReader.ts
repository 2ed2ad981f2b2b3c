/** Answers of the Messages API, streamed or whole. */
import { Option, Result, Schema } from "effect"
import type { ChatChunk, Delta, ToolCallDelta, Usage } from "../../../../domain/chat/chat.ts"
import type { ProviderFailure } from "../../Provider.ts"
import { AnswerHead } from "../shared/AnswerHead.ts"
import { DistinctIds } from "../shared/DistinctIds.ts"
import { extraContent } from "../shared/ExtraContent.ts"
import { failure, garbage } from "../shared/providerFailures.ts"
import { argumentsOf } from "../shared/argumentsOf.ts"
import type { ChunkReader } from "../shared/WireFormat.ts"
import type { ThinkingBlock } from "./Request.ts"
import * as Wire from "./Wire.ts"
import { finishReason, stopOf } from "./finishReason.ts"
import { type Counts, countsOf, firstCountsOf, mergeUsage, usageOf } from "./usage.ts"

const decodeMessageStart = Schema.decodeUnknownOption(Wire.MessageStart)
const decodeBlockStart = Schema.decodeUnknownOption(Wire.BlockStart)
const decodeBlockDelta = Schema.decodeUnknownOption(Wire.BlockDelta)
const decodeBlockStop = Schema.decodeUnknownOption(Wire.BlockStop)
const decodeMessageDelta = Schema.decodeUnknownOption(Wire.MessageDelta)

type Chunks = ReadonlyArray<ChatChunk>
type Read = Result.Result<Chunks, ProviderFailure>

const NOTHING: Read = Result.succeed([])

/** A block that has begun: a tool call with its input so far, a thought, or another block. */
type OpenBlock =
  | { readonly _tag: "Tool"; readonly index: number; readonly input: unknown; empty: boolean }
  | { readonly _tag: "Thinking"; thinking: string; signature: string }
  | { readonly _tag: "Other" }

export class AnthropicChunkReader extends AnswerHead implements ChunkReader {
  usage: Usage | undefined
  thoughts = 0
  private started = false
  private answering = false
  private finished = false
  private closed = false
  private counts: Counts | undefined
  private calls = 0
  private readonly ids = new DistinctIds()
  /** The block that began last. */
  private block = -1
  private readonly blocks = new Map<number, OpenBlock>()
  /** Thoughts that await the tool call or text that follows them. */
  private thinking: Array<ThinkingBlock> = []

  get state(): ChunkReader["state"] {
    if (!this.finished) return "open"
    return this.closed ? "closed" : "finished"
  }

  close(): boolean {
    this.closed = true
    return this.finished
  }

  read(json: { readonly [member: string]: unknown }, event: string): Read {
    const type = json["type"] ?? event
    if (typeof type !== "string") return Result.fail(garbage("the type of an event is no text"))
    switch (type) {
      case "message_start":
        return this.decoded(decodeMessageStart(json), type, ({ message }) => this.start(message))
      case "content_block_start":
        return this.decoded(decodeBlockStart(json), type, (start) => Result.succeed(this.begin(start)))
      case "content_block_delta":
        return this.decoded(decodeBlockDelta(json), type, (delta) => this.grow(delta))
      case "content_block_stop":
        return this.decoded(decodeBlockStop(json), type, ({ index }) => Result.succeed(this.end(index ?? this.block)))
      case "message_delta":
        return this.decoded(decodeMessageDelta(json), type, (delta) => Result.succeed(this.finish(delta)))
      case "message_stop":
        return this.close() ? NOTHING : Result.fail(failure("unfinished", "the message stopped without a stop reason"))
      default:
        return NOTHING
    }
  }

  message(message: typeof Wire.Message.Type): Read {
    const { usage } = message
    return Result.map(this.start(message), (chunks) => [...chunks, ...this.finish({ delta: message, usage })])
  }

  private decoded<A>(event: Option.Option<A>, type: string, use: (event: A) => Read): Read {
    if (Option.isNone(event)) return Result.fail(garbage(`malformed ${type}`))
    if (!this.started && type !== "message_start") return Result.fail(garbage(`${type} before message_start`))
    return use(event.value)
  }

  private start({ content, id, model, usage }: (typeof Wire.MessageStart.Type)["message"]): Read {
    // A second message would be appended to the first, as if both were one answer.
    if (this.answering) return Result.fail(garbage("a second message_start"))
    const again = this.started
    this.started = true
    this.named(id, model)
    this.count(firstCountsOf(usage))
    const role = again ? [] : [this.chunk({ role: "assistant" })]
    const blocks = (content ?? []).flatMap((block, index) => [
      ...this.begin({ index, content_block: block }),
      ...this.end(index),
    ])
    return Result.succeed([...role, ...blocks])
  }

  private begin({ index: given, content_block: block }: typeof Wire.BlockStart.Type): Chunks {
    const index = given ?? this.block + 1
    // A block that was never stopped ends when another takes its index.
    const before = this.end(index)
    this.block = index
    this.answering = true
    this.blocks.set(index, { _tag: "Other" })
    if (!Wire.isKnown(block)) return before
    switch (block.type) {
      case "text":
        return [...before, ...this.flushThinking(), ...this.text(block.text ?? "")]
      case "redacted_thinking":
        this.thoughts++
        this.thinking.push(block)
        return before
      case "thinking": {
        const { thinking, signature } = block
        this.thoughts++
        this.blocks.set(index, { _tag: "Thinking", thinking: thinking ?? "", signature: signature ?? "" })
        return before
      }
      case "tool_use": {
        const at = this.calls++
        this.blocks.set(index, { _tag: "Tool", index: at, input: block.input, empty: true })
        const extra = extraContent("anthropic", this.takeThinking())
        const call = this.toolCall({
          index: at,
          // Servers that imitate the API may send no id.
          id: this.ids.take(block.id, `${this.id}_${at}`),
          type: "function",
          function: { name: block.name, arguments: "" },
          ...extra,
        })
        return [...before, call]
      }
    }
  }

  private grow({ index: given, delta }: typeof Wire.BlockDelta.Type): Read {
    const block = this.blocks.get(given ?? this.block)
    const type = delta.type ?? (delta.partial_json == null ? "text_delta" : "input_json_delta")
    this.answering = true
    if (type === "text_delta") return Result.succeed(this.text(delta.text ?? ""))
    if (block?._tag === "Thinking") {
      if (delta.thinking || delta.signature) this.thoughts++
      block.thinking += delta.thinking ?? ""
      block.signature += delta.signature ?? ""
      return NOTHING
    }
    if (type !== "input_json_delta" || !delta.partial_json) return NOTHING
    if (block === undefined) return Result.fail(garbage("arguments of a tool call that did not begin"))
    if (block._tag !== "Tool") return NOTHING
    block.empty = false
    return Result.succeed([this.toolCall({ index: block.index, function: { arguments: delta.partial_json } })])
  }

  private end(index: number): Chunks {
    const block = this.blocks.get(index)
    this.blocks.delete(index)
    if (block?._tag === "Thinking") {
      this.thinking.push({ type: "thinking", thinking: block.thinking, signature: block.signature })
    }
    if (block?._tag !== "Tool" || !block.empty) return []
    // Without pieces, the input is the one in the beginning of the block, which is empty for a tool without parameters.
    return [this.toolCall({ index: block.index, function: { arguments: argumentsOf(block.input) } })]
  }

  private finish({ delta, usage }: typeof Wire.MessageDelta.Type): Chunks {
    this.count(countsOf(usage))
    const stop = stopOf(delta)
    if (stop === undefined) return []
    this.finished = true
    const finish = {
      index: 0,
      delta: stop.refusal === undefined ? {} : { refusal: stop.refusal },
      finish_reason: finishReason(stop.reason),
      native_finish_reason: stop.reason,
    }
    return [
      ...[...this.blocks.keys()].flatMap((index) => this.end(index)),
      ...this.flushThinking(),
      this.envelope([finish]),
      { ...this.envelope([]), usage: this.usage ?? null },
    ]
  }

  private count(counts: Counts | undefined): void {
    if (counts === undefined) return
    this.counts = mergeUsage(this.counts, counts)
    this.usage = usageOf(this.counts)
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
}
