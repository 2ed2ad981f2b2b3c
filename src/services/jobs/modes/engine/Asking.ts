/** Asks models for a mode. Each call is a durable step: a resumed job finds its answer and does not pay again. */
import { DateTime, Effect, Option, Schema, Struct } from "effect"
import type { ResponseFormat } from "../../../../domain/chat/chat.ts"
import { withoutUndefined } from "../../../../domain/json/withoutUndefined.ts"
import { messagesOf } from "../../../../domain/jobs/job.ts"
import type { ModelRole } from "../../../../domain/routing/routing.ts"
import { type Step, stepName } from "../../../../domain/jobs/step.ts"
import type { Allowance } from "../../../routing/Spending.ts"
import type { Ledger } from "../../../routing/Ledger.ts"
import type { Routed } from "../../../routing/askChat.ts"
import type { Router } from "../../../routing/Router.ts"
import type { JobContext, JobFailure } from "../../JobProgram.ts"
import type { LiveStep, LiveSteps } from "../../LiveSteps.ts"
import { type Ask, type ConversationAnswer, makeConverse, type Manner, type ModelCall } from "./conversation.ts"
import { emptyAnswer, noToolsOffered, refusal, turnsUsedUp, withToolOutput } from "./jobFailures.ts"
import { jsonIn, MAX_JSON_CHARS, onlyOf } from "./jsonIn.ts"
import { EXECUTE, persona, REPAIR, shape } from "./prompts.ts"
import { isEcho, ModelAnswer } from "./ModelAnswer.ts"
import { picturesOf, quoted, type Section, taskSections } from "./quoted.ts"
import { makeWithinLimits } from "./withinLimits.ts"

export interface ProposerQuestion extends Manner {
  /** An instruction that follows the task, and the texts it refers to. */
  readonly about?: { readonly instruction: string; readonly sections: ReadonlyArray<Section> } | undefined
  readonly format?: ResponseFormat | undefined
  /**
   * Whether a refusal or an empty answer counts as an answer. If not, the job fails, because there is nothing to
   * examine.
   */
  readonly optional?: boolean | undefined
}

export interface ExaminerQuestion extends Manner {
  readonly role: Exclude<ModelRole, "proposer">
  readonly instruction: string
  readonly sections: ReadonlyArray<Section>
}

/** A decoded answer; `value` is `undefined` if it could not be decoded. */
export interface Decision<A> {
  readonly value: A | undefined
  readonly said: ModelAnswer
}

export interface Asking {
  /** Asks the proposer for text, which the job's followers get while it is written. */
  readonly propose: (step: Step, question: ProposerQuestion) => Effect.Effect<ConversationAnswer, JobFailure>
  /** Asks the proposer for a value of `schema`, and once more if the answer does not decode. */
  readonly respond: <A, I>(
    step: Step,
    schema: Schema.Codec<A, I>,
    question: ProposerQuestion,
  ) => Effect.Effect<Decision<A>, JobFailure>
  /** Asks an examiner for text. */
  readonly examine: (step: Step, question: ExaminerQuestion) => Effect.Effect<ConversationAnswer, JobFailure>
  /** Asks an examiner for a value of `schema`, and once more if the answer does not decode. */
  readonly decide: <A, I>(
    step: Step,
    schema: Schema.Codec<A, I>,
    question: ExaminerQuestion,
  ) => Effect.Effect<Decision<A>, JobFailure>
}

interface Services {
  readonly router: Router["Service"]
  readonly ledger: Ledger["Service"]
  readonly live: LiveSteps
}

export const makeAsking = (context: JobContext, { ledger, live, router }: Services): Asking => {
  const { agent, budgeted, jobId, key, labels, mode, models, tenant } = context
  const withinLimits = makeWithinLimits(context, ledger)

  /** Calls a model once, and announces the step as soon as its target is chosen. */
  const route = (
    step: Step,
    { authors, extra, followed, format, independentOf, messages, preferred, role, tier, tools }: ModelCall,
    allowance: Allowance | undefined,
  ) => {
    let underWay: LiveStep | undefined
    const call = router.call({
      tenant,
      job: jobId,
      agent: agent.id,
      mode,
      role,
      policy: agent.model_policy,
      keyPolicy: models,
      key,
      labels,
      budgeted,
      allowance,
      authors,
      completion: { messages, ...tools, ...withoutUndefined({ response_format: format }) },
      independentOf,
      preferred,
      tier,
      extra,
      onChosen: Effect.fnUntraced(function* ({ model, provider }) {
        const started_at = yield* DateTime.now
        const begun = { name: stepName(step), ...step, provider, model, started_at }
        underWay = yield* live.begin(jobId, begun, followed)
      }),
      ...(followed === true && {
        heard: { add: (text) => underWay?.add(text), restart: () => underWay?.restart() },
      }),
    })
    return call.pipe(
      Effect.map((answer) => {
        // The text of a refusal replaces what was written before it.
        if (answer.refused) underWay?.restart()
        return { ...answer, since: followed === true ? underWay?.since() : undefined }
      }),
      Effect.ensuring(Effect.sync(() => underWay?.end())),
    )
  }

  const ask: Ask = (step, asked) => {
    const answered = Effect.flatMap(
      Effect.suspend(() => withinLimits((allowance) => route(step, asked, allowance))),
      (answer) => {
        const { call, receipt, since, state, toolCalls } = answer
        const failure = failureIn(asked, answer)
        if (failure !== undefined) return Effect.fail(failure)
        const value = {
          ...Struct.pick(answer, ["text", "refused", "cut", "target", "independent", "escalateBelow"]),
          model: call.model,
          ...withoutUndefined({ since, toolCalls, state: asked.tools && state }),
        }
        return Effect.succeed({ value, call, receipt })
      },
    )
    return context.step(step, ModelAnswer, Effect.mapError(answered, withToolOutput(asked.messages)))
  }

  const converse = makeConverse(ask)
  const valueOf = makeValueOf(converse)
  return {
    propose: (step, question) => converse(step, { ...proposing(context, question), followed: true }),
    respond: (step, schema, question) => valueOf(step, schema, (form) => proposing(context, question, form)),
    examine: (step, question) => converse(step, examining(context, question)),
    decide: (step, schema, question) => valueOf(step, schema, (form) => examining(context, question, form)),
  }
}

/** Why a model's answer cannot be used; `undefined` if it can. */
const failureIn = (
  { optional, tools }: ModelCall,
  { call, refused, text, toolCalls }: Pick<Routed, "call" | "refused" | "text" | "toolCalls">,
): JobFailure | undefined => {
  if (optional === true) return undefined
  if (refused) return refusal(text, call)
  if (text.trim() !== "") return undefined
  if (toolCalls === undefined) return emptyAnswer(call)
  if (tools === undefined) return noToolsOffered(call)
  return tools.tool_choice === "none" ? turnsUsedUp(call) : undefined
}

/** Returns a function that asks for a value of a schema, and once more if the answer does not decode. */
const makeValueOf = (converse: ReturnType<typeof makeConverse>) =>
  Effect.fnUntraced(function* <A, I>(step: Step, schema: Schema.Codec<A, I>, callWith: (form: string) => ModelCall) {
    const { document, form } = jsonSchemaOf(schema)
    const format: ResponseFormat = {
      type: "json_schema",
      json_schema: { name: step.kind, strict: true, schema: document },
    }
    const first = yield* converse(step, { ...callWith(form), optional: true, format })
    const value = decodeAnswer(schema, first)
    // An overlong answer is not sent again for repair.
    const hopeless = first.refused || isEcho(first) || first.text.length > MAX_JSON_CHARS
    if (value !== undefined || hopeless) return { value, said: first }
    const second = yield* first.course.again(REPAIR)
    return { value: decodeAnswer(schema, second), said: second }
  })

/** The proposer gets the conversation unchanged, and answers as the agent. */
const proposing = ({ agent, task }: JobContext, { about, ...question }: ProposerQuestion, form = ""): ModelCall => {
  const system = persona(agent)
  return {
    ...question,
    role: "proposer",
    messages: [
      ...(system === "" ? [] : [{ role: "system" as const, content: system }]),
      ...messagesOf(task),
      ...(about === undefined
        ? []
        : [
            {
              role: "user" as const,
              content: paragraphs(about.instruction, form, about.sections.length === 0 ? "" : quoted(about.sections)),
            },
          ]),
    ],
  }
}

/** An examiner gets our instruction; everything else is a quoted document. */
const examining = ({ task }: JobContext, question: ExaminerQuestion, form = ""): ModelCall => {
  const { instruction, sections, ...rest } = question
  const text = quoted([...taskSections(messagesOf(task)), ...sections])
  const pictures = picturesOf(messagesOf(task))
  return {
    ...rest,
    optional: true,
    messages: [
      { role: "system", content: paragraphs(instruction, question.kit === undefined ? "" : EXECUTE, form) },
      { role: "user", content: pictures.length === 0 ? text : [{ type: "text", text }, ...pictures] },
    ],
  }
}

const paragraphs = (...texts: ReadonlyArray<string>): string => texts.filter((text) => text !== "").join("\n\n")

/**
 * The value in an answer; `undefined` if it has none, or different ones. All objects must decode: if the examiner's own
 * object does not, the only other one may be quoted from the examined text.
 */
const decodeAnswer = <A, I>(schema: Schema.Codec<A, I>, said: ModelAnswer): A | undefined => {
  const decode = Schema.decodeUnknownOption(schema)
  if (said.refused || isEcho(said)) return undefined
  return Option.getOrUndefined(Option.map(Option.all(jsonIn(said.text).map((value) => decode(value))), onlyOf))
}

/** Bounds that some providers reject. They are checked when the answer is decoded. */
const NOT_SENT = new Set(["minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems"])

/** A schema as providers accept it, and in words for the prompt. */
interface Form {
  readonly document: Readonly<Record<string, unknown>>
  readonly form: string
}

const jsonSchemaOf = <A, I>(schema: Schema.Codec<A, I>): Form => {
  const { schema: whole } = Schema.toJsonSchemaDocument(schema, { onExcessProperty: "error" })
  const document = Object.fromEntries(Object.entries(whole).map(([name, value]) => [name, withoutBounds(value)]))
  return { document, form: shape(document) }
}

const withoutBounds = (schema: unknown): unknown => {
  if (Array.isArray(schema)) return schema.map(withoutBounds)
  if (typeof schema !== "object" || schema === null) return schema
  return Object.fromEntries(
    Object.entries(schema)
      .filter(([name]) => !NOT_SENT.has(name))
      .map(([name, value]) => [name, withoutBounds(value)]),
  )
}
