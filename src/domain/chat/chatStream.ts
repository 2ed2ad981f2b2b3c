/** Joins the pieces of a streamed answer into the whole answer. Pure, and free of imports: browsers run it too. */
import { isObject } from "../json/json.ts"
import type {
  AssistantMessage,
  ChatChunk,
  ChatCompletion,
  Delta,
  FunctionCall,
  ToolCall,
  ToolCallDelta,
  Usage,
} from "./chatTypes.ts"

/** Finish reason of a choice without one; no provider reports it. */
export const UNFINISHED = "unfinished"

/**
 * Combines `chunks` into an answer: joins choices and tool calls by index, concatenates texts, keeps the last usage, and
 * joins unknown members by type. A choice without a finish reason gets {@link UNFINISHED}, so a broken stream does not pass
 * for an answer.
 */
export const accumulate = (chunks: Iterable<ChatChunk>): ChatCompletion => {
  const answer = new ChatAccumulator()
  for (const chunk of chunks) answer.add(chunk)
  return answer.completion
}

/** {@link accumulate}, one chunk at a time, for callers that show a growing answer. */
export class ChatAccumulator {
  private id = ""
  private created = 0
  private model = ""
  private usage: Usage | null = null
  private readonly rest = new Members()
  private readonly choices = new Map<number, ChoiceAccumulator>()

  add(chunk: ChatChunk): void {
    // `obfuscation` pads the single chunk and is not part of the answer.
    const { id, object: _object, created, model, choices, usage, obfuscation: _padding, ...rest } = chunk
    this.id = id || this.id
    this.created ||= created
    this.model = model || this.model
    this.usage = usage ?? this.usage
    for (const name of Object.keys(rest)) this.rest.replace(name, rest[name])
    for (const choice of choices) {
      let into = this.choices.get(choice.index)
      if (into === undefined) this.choices.set(choice.index, (into = new ChoiceAccumulator()))
      into.add(choice)
    }
  }

  get completion(): ChatCompletion {
    return {
      ...this.rest.object,
      id: this.id,
      object: "chat.completion",
      created: this.created,
      model: this.model,
      choices: byIndex(this.choices).map(([index, choice]) => choice.choice(index)),
      usage: this.usage,
    }
  }
}

class ChoiceAccumulator {
  private content: string | null = null
  private refusal: string | null = null
  private finishReason: string = UNFINISHED
  private readonly calls = new Map<number, CallAccumulator>()
  private readonly messageRest = new Members()
  private readonly rest = new Members()

  add({ index: _index, delta, finish_reason, ...rest }: ChatChunk["choices"][number]): void {
    this.addDelta(delta)
    if (finish_reason != null) this.finishReason = finish_reason
    this.rest.joinAll(rest)
  }

  private addDelta({ role: _role, content, refusal, tool_calls, ...rest }: Delta): void {
    if (content != null) this.content = (this.content ?? "") + content
    if (refusal != null) this.refusal = (this.refusal ?? "") + refusal
    for (const { index, id, type, function: piece, ...members } of tool_calls ?? []) {
      let call = this.calls.get(index)
      if (call === undefined) this.calls.set(index, (call = new CallAccumulator()))
      call.id ||= id ?? ""
      call.type = type || call.type
      if (piece !== undefined) call.addFunction(piece)
      call.rest.joinAll(members)
    }
    this.messageRest.joinAll(rest)
  }

  choice(index: number): ChatCompletion["choices"][number] {
    const message: AssistantMessage = {
      ...this.messageRest.object,
      role: "assistant",
      content: this.content,
      refusal: this.refusal,
      ...(this.calls.size > 0
        ? { tool_calls: byIndex(this.calls).map(([at, call]) => call.toolCall(`call_${index}_${at}`)) }
        : {}),
    }
    return { ...this.rest.object, index, message, finish_reason: this.finishReason }
  }
}

class CallAccumulator {
  id = ""
  type = "function"
  readonly rest = new Members()
  private name = ""
  private args = ""
  private readonly functionRest = new Members()

  addFunction({ name, arguments: args, ...rest }: NonNullable<ToolCallDelta["function"]>): void {
    this.name ||= name ?? ""
    this.args += args ?? ""
    this.functionRest.joinAll(rest)
  }

  get function(): FunctionCall {
    return { ...this.functionRest.object, name: this.name, arguments: this.args }
  }

  toolCall(fallbackId: string): ToolCall {
    const call = { ...this.rest.object, id: this.id || fallbackId }
    if (this.type === "function") return { ...call, type: this.type, function: this.function }
    // Only requests with tools of this type get such a call.
    return { ...call, type: this.type } as object as ToolCall
  }
}

/** Unknown members, which grow in place, in linear time. A map, because a name may even be `__proto__`. */
class Members {
  private readonly values: Map<string, unknown>

  constructor(members: object = {}) {
    this.values = new Map(Object.entries(members))
  }

  replace(name: string, value: unknown): void {
    if (value != null || !this.values.has(name)) this.values.set(name, value)
  }

  join(name: string, value: unknown): void {
    this.values.set(name, joined(name, this.values.get(name), value))
  }

  joinAll(members: object): this {
    for (const [name, value] of Object.entries(members)) this.join(name, value)
    return this
  }

  get object(): Record<string, unknown> {
    return Object.fromEntries(Array.from(this.values, ([name, value]) => [name, plain(value)]))
  }
}

/** An unknown list, which grows in place too. */
class Items {
  private readonly items: Array<unknown> = []

  append(items: ReadonlyArray<unknown>): this {
    for (const item of items) this.items.push(item)
    return this
  }

  get array(): ReadonlyArray<unknown> {
    return [...this.items]
  }
}

/** The JSON of a value that may have grown. */
const plain = (value: unknown): unknown =>
  value instanceof Members ? value.object : value instanceof Items ? value.array : value

/** Strings that are names or whole values, so a second one replaces the first. */
export const WHOLE: ReadonlySet<string> = new Set([
  "id",
  "type",
  "index",
  "name",
  "format",
  "signature",
  "thought_signature",
  "native_finish_reason",
])

/** Joins two values of a member: concatenates texts and lists, joins objects by member, replaces anything else. */
const joined = (name: string, current: unknown, next: unknown): unknown => {
  if (current == null || next == null) return next ?? current ?? null
  if (typeof current === "string" && typeof next === "string") return WHOLE.has(name) ? next : current + next
  if (Array.isArray(next)) {
    if (current instanceof Items) return current.append(next)
    return Array.isArray(current) ? new Items().append(current).append(next) : next
  }
  if (!isObject(next) || !isObject(current) || current instanceof Items) return next
  return (current instanceof Members ? current : new Members(current)).joinAll(next)
}

const byIndex = <A>(items: ReadonlyMap<number, A>): ReadonlyArray<readonly [number, A]> =>
  [...items].sort(([a], [b]) => a - b)
