/** A conversation with a model, which may call tools, until it answers. Every turn and tool call is a step. */
import { Effect } from "effect"
import type { ChatRequest, Message, ResponseFormat, Tool, ToolCall } from "../../../../domain/chat/chat.ts"
import { withoutUndefined } from "../../../../domain/json/withoutUndefined.ts"
import type { Step } from "../../../../domain/jobs/step.ts"
import type { ModelRole } from "../../../../domain/routing/routing.ts"
import type { TargetName } from "../../../../domain/upstream/targets.ts"
import type { JobFailure } from "../../JobProgram.ts"
import type { ModelAnswer } from "./ModelAnswer.ts"
import { asMessage } from "./prompts.ts"
import { argumentsIn } from "./toolArguments.ts"
import type { Toolbox } from "./toolUse.ts"

export interface Kit {
  readonly tools: ReadonlyArray<Tool>
  /** Maximum number of turns. In the last one, the model can call no tool. */
  readonly turns: number
  readonly call: Toolbox["call"]
}

export interface Manner {
  /** Absent if the model may call no tool: then the only turn has no number. */
  readonly kit?: Kit | undefined
  readonly independentOf?: ReadonlyArray<TargetName> | undefined
  readonly tier?: number | undefined
  readonly extra?: boolean | undefined
}

export interface ModelCall extends Manner {
  readonly role: ModelRole
  readonly messages: ReadonlyArray<Message>
  /** The targets that wrote messages. */
  readonly authors?: ReadonlyMap<Message, TargetName> | undefined
  readonly tools?: Pick<ChatRequest, "tools" | "tool_choice"> | undefined
  /** Left out beside tools, because some providers refuse both. */
  readonly format?: ResponseFormat | undefined
  /** The target of the turns before. */
  readonly preferred?: TargetName | undefined
  /** Whether a refusal or an empty answer is an answer. */
  readonly optional?: boolean | undefined
  /** Whether the job's followers get the answer while it is written. */
  readonly followed?: boolean | undefined
}

export type Ask = (step: Step, call: ModelCall) => Effect.Effect<ModelAnswer, JobFailure>

/** How a model arrived at its answer. */
export interface Course {
  readonly turns: number
  /** Calls of tools that were carried out, failed ones included. */
  readonly calls: number
  readonly succeeded: number
  /** Asks once more because the answer cannot be used. */
  readonly again: (why: string) => Effect.Effect<ModelAnswer, JobFailure>
}

export interface ConversationAnswer extends ModelAnswer {
  readonly course: Course
}

/** Calls of one turn that are carried out. */
const MAX_CALLS = 16
const TOO_MANY = `Not carried out: a turn may make at most ${MAX_CALLS} calls.`

/** Returns the function that asks until there is an answer. */
export const makeConverse = (ask: Ask) =>
  Effect.fnUntraced(function* (step: Step, { format, kit, ...call }: ModelCall) {
    const said: Array<Message> = []
    const authors = new Map<Message, TargetName>()
    const saidBy = ({ state, target, text }: ModelAnswer, calls: ReadonlyArray<ToolCall> = []): Message => {
      const message: Message = {
        ...state,
        role: "assistant",
        ...(calls.length === 0
          ? { content: asMessage(text) }
          : { content: text.trim() === "" ? null : text, tool_calls: calls }),
      }
      authors.set(message, target)
      return message
    }
    let calls = 0
    let succeeded = 0
    let preferred: TargetName | undefined
    for (let turn = 1; ; turn++) {
      const at = kit === undefined ? step : { ...step, turn }
      const isLast = turn === (kit?.turns ?? 1)
      const messages = [...call.messages, ...said]
      const asked = { ...call, ...offering(kit, isLast, format), preferred, authors, messages }
      const answer = yield* ask(at, asked)
      const wanted = isLast ? [] : (answer.toolCalls ?? [])
      if (kit === undefined || wanted.length === 0) {
        const again: Course["again"] = (why) =>
          ask(
            { ...at, repair: true },
            {
              ...asked,
              // Another model might not have needed this repair, so the call has a cost but no baseline.
              extra: true,
              ...offering(kit, true, format),
              preferred: answer.target,
              messages: [...messages, saidBy(answer), { role: "user", content: why }],
            },
          )
        const answered: ConversationAnswer = { ...answer, course: { turns: turn, calls, succeeded, again } }
        return answered
      }
      said.push(saidBy(answer, wanted.map(resent)))
      for (const [index, { id, function: called }] of wanted.entries()) {
        const isCarriedOut = index < MAX_CALLS
        const output = isCarriedOut ? yield* kit.call(toolStep(step, turn, index + 1), called) : undefined
        said.push({ role: "tool", tool_call_id: id, content: output?.content ?? TOO_MANY })
        calls += isCarriedOut ? 1 : 0
        succeeded += output?.is_error === false ? 1 : 0
      }
      preferred = answer.target
    }
  })

/** A call as later turns repeat it. Some providers take only an object, and long arguments would be sent every turn. */
const resent = (call: ToolCall, index: number): ToolCall =>
  index < MAX_CALLS && argumentsIn(call.function.arguments) !== undefined
    ? call
    : { ...call, function: { ...call.function, arguments: "{}" } }

/** The members of a turn's call that offer tools, or ask for a format. */
const offering = (kit: Kit | undefined, isLast: boolean, format: ResponseFormat | undefined) =>
  kit === undefined || kit.tools.length === 0
    ? { format }
    : { tools: { tools: kit.tools, tool_choice: isLast ? ("none" as const) : ("auto" as const) } }

/** In the direct mode, whose only conversation is the job's, the kind identifies the step. */
const toolStep = ({ kind, ...step }: Step, turn: number, call: number): Step => ({
  ...step,
  kind: "tool",
  ...withoutUndefined({ within: kind === "turn" ? undefined : kind }),
  turn,
  call,
})
