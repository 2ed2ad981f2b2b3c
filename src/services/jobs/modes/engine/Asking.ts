/**
 * How a mode asks models. Every call is one durable step: it keeps to the agent's limits and policy, and what came back
 * is stored before anything builds on it, so a job that resumes finds the same answers and pays for none of them again.
 */
import { DateTime, Effect, Option, Schema, Semaphore } from "effect"
import type { Message, ResponseFormat } from "../../../../domain/chat/chat.ts"
import { withoutUndefined } from "../../../../domain/json/withoutUndefined.ts"
import type { JobStepBegun } from "../../../../domain/jobs/job.ts"
import type { Role } from "../../../../domain/routing/routing.ts"
import { type Step, stepName } from "../../../../domain/jobs/step.ts"
import { TargetName } from "../../../../domain/upstream/targets.ts"
import type { Allowance } from "../../../routing/Allowance.ts"
import type { Ledger } from "../../../routing/Ledger.ts"
import type { Router } from "../../../routing/Router.ts"
import type { RouterError } from "../../../routing/RoutingErrors.ts"
import type { JobContext, JobFailure } from "../../JobProgram.ts"
import type { StepsBegun } from "../../StepsBegun.ts"
import {
  allowanceOf,
  emptyAnswer,
  isLimited,
  limitFailure,
  limitReached,
  refusal,
  routingFailure,
} from "./jobFailures.ts"
import { jsonIn, MAX_JSON_CHARS } from "./jsonIn.ts"
import { persona, REPAIR, shape } from "./prompts.ts"
import { picturesOf, quoted, type Section, taskSections } from "./quoted.ts"
import { saysNothing } from "./saysNothing.ts"

/** What a step keeps of an answer. */
export const ModelAnswer = Schema.Struct({
  text: Schema.String,
  refused: Schema.Boolean,
  cut: Schema.Boolean,
  /** Who answered: the configured target, and the model as it calls itself. */
  target: TargetName,
  model: Schema.String,
  independent: Schema.Boolean,
  /** The threshold below which a cascade escalates this answer; `null` if there is nothing to escalate to. */
  escalateBelow: Schema.NullOr(Schema.Finite),
})
export type ModelAnswer = typeof ModelAnswer.Type

interface Routing {
  readonly independentOf?: ReadonlyArray<TargetName> | undefined
  readonly tier?: number | undefined
  readonly extra?: boolean | undefined
}

/** To whoever does the task: the conversation as it is, in the agent's person. */
interface ProposerQuestion extends Routing {
  /** ModelAnswer after the task, and what it is about. */
  readonly about?: { readonly instruction: string; readonly sections: ReadonlyArray<Section> } | undefined
  /** Whether a refusal or an empty answer is an answer; otherwise the job fails, because there is nothing to examine. */
  readonly optional?: boolean | undefined
}

/** To whoever examines an answer: instructions of ours, and everything else as a quoted document. */
interface ExaminerQuestion extends Routing {
  readonly role: Exclude<Role, "proposer">
  readonly instruction: string
  readonly sections: ReadonlyArray<Section>
}

/** A verdict that was asked for; `undefined` if none could be decoded. */
interface Decision<A> {
  readonly value: A | undefined
  readonly said: ModelAnswer
}

export interface Asking {
  /** Asks the proposer for text. */
  readonly propose: (step: Step, question: ProposerQuestion) => Effect.Effect<ModelAnswer, JobFailure>
  /** Asks the proposer for a value of `schema`, a second time if the first answer is none. */
  readonly respond: <A, I>(
    step: Step,
    schema: Schema.Codec<A, I>,
    question: ProposerQuestion,
  ) => Effect.Effect<Decision<A>, JobFailure>
  /** Asks an examiner for text. */
  readonly examine: (step: Step, question: ExaminerQuestion) => Effect.Effect<ModelAnswer, JobFailure>
  /** Asks an examiner for a value of `schema`, a second time if the first answer is none. */
  readonly decide: <A, I>(
    step: Step,
    schema: Schema.Codec<A, I>,
    question: ExaminerQuestion,
  ) => Effect.Effect<Decision<A>, JobFailure>
}

interface Call extends Routing {
  readonly role: Role
  readonly messages: ReadonlyArray<Message>
  readonly optional?: boolean | undefined
}

/** What asking takes. */
interface Services {
  readonly router: Router["Service"]
  readonly ledger: Ledger["Service"]
  readonly begun: StepsBegun
}

export const makeAsking = (context: JobContext, { begun, ledger, router }: Services): Asking => {
  const { agent, jobId, mode, task, tenant } = context
  const taskMessages: ReadonlyArray<Message> = typeof task === "string" ? [{ role: "user", content: task }] : task

  const proposing = ({ about, ...question }: ProposerQuestion, form = ""): Call => {
    const system = persona(agent)
    return {
      ...question,
      role: "proposer",
      messages: [
        ...(system === "" ? [] : [{ role: "system" as const, content: system }]),
        ...taskMessages,
        ...(about === undefined
          ? []
          : [{ role: "user" as const, content: paragraphs(about.instruction, form, quoted(about.sections)) }]),
      ],
    }
  }

  const examining = ({ instruction, sections, ...question }: ExaminerQuestion, form = ""): Call => {
    const text = quoted([...taskSections(taskMessages), ...sections])
    const pictures = picturesOf(taskMessages)
    return {
      ...question,
      optional: true,
      messages: [
        { role: "system", content: paragraphs(instruction, form) },
        { role: "user", content: pictures.length === 0 ? text : [{ type: "text", text }, ...pictures] },
      ],
    }
  }

  const { limits } = agent
  const spent = Effect.map(Effect.mapError(ledger.spent([jobId]), routingFailure), (spent) => spent(jobId))
  // Calls of a limited job are made one after the other, so that each knows what is left.
  const turns = Semaphore.makeUnsafe(1)

  /** Calls with what is left of the limits, and tells a call that used them up from one that only failed. */
  const withinLimits = <A>(call: (allowance?: Allowance) => Effect.Effect<A, RouterError>) => {
    if (!isLimited(limits)) return Effect.mapError(call(), routingFailure)
    const limited = Effect.flatMap(spent, (before) => {
      const allowance = allowanceOf(limits, before)
      const limit = limitReached(allowance)
      if (limit !== undefined) return Effect.fail(limitFailure(limits, before, limit))
      return Effect.catch(call(allowance), (error) =>
        Effect.flatMap(spent, (after) => {
          const none = error._tag === "NoTarget" && (error.reason === "tokens" || error.reason === "cost")
          const reached = none ? error.reason : limitReached(allowanceOf(limits, after))
          if (reached === undefined) return Effect.fail(routingFailure(error))
          return Effect.fail(limitFailure(limits, after, reached, error._tag === "CallFailed" ? error.call : undefined))
        }),
      )
    })
    return turns.withPermit(limited)
  }

  const ask = (
    step: Step,
    { extra, independentOf, messages, optional, role, tier }: Call,
    response_format?: ResponseFormat,
  ) => {
    const asked = (allowance?: Allowance) => {
      let underWay: JobStepBegun | undefined
      const call = router.call({
        tenant,
        job: jobId,
        agent: agent.id,
        mode,
        role,
        policy: agent.model_policy,
        allowance,
        completion: { messages, ...withoutUndefined({ response_format }) },
        independentOf,
        tier,
        extra,
        onChosen: ({ model, provider }) =>
          Effect.clockWith((clock) => {
            const started_at = DateTime.makeUnsafe(clock.currentTimeMillisUnsafe())
            underWay = { name: stepName(step), ...step, provider, model, started_at }
            return begun.begin(jobId, underWay)
          }),
      })
      return Effect.onExitPrimitive(call, () => {
        if (underWay !== undefined) begun.end(jobId, underWay)
        return undefined
      })
    }
    const answered = Effect.flatMap(
      Effect.suspend(() => withinLimits(asked)),
      ({ call, cut, escalateBelow, independent, receipt, refused, target, text }) => {
        if (optional !== true && response_format === undefined) {
          if (refused) return Effect.fail(refusal(text, call))
          if (text.trim() === "") return Effect.fail(emptyAnswer(call))
        }
        const value = { text, refused, cut, target, model: call.model, independent, escalateBelow }
        return Effect.succeed({ value, call, receipt })
      },
    )
    return context.step(step, ModelAnswer, answered)
  }

  const valueOf = Effect.fnUntraced(function* <A, I>(
    step: Step,
    schema: Schema.Codec<A, I>,
    callWith: (form: string) => Call,
  ) {
    const { document, form } = jsonSchemaOf(schema)
    const call = callWith(form)
    const format: ResponseFormat = {
      type: "json_schema",
      json_schema: { name: step.kind, strict: true, schema: document },
    }
    const first = yield* ask(step, call, format)
    const value = decodeAnswer(schema, first)
    // A model that wrote without end is not sent all of that again.
    const hopeless = first.refused || isEcho(first) || first.text.length > MAX_JSON_CHARS
    if (value !== undefined || hopeless) return { value, said: first }
    const repairing: ReadonlyArray<Message> = [
      ...call.messages,
      { role: "assistant", content: first.text },
      { role: "user", content: REPAIR },
    ]
    const second = yield* ask({ ...step, repair: true }, { ...call, messages: repairing }, format)
    return { value: decodeAnswer(schema, second), said: second }
  })

  return {
    propose: (step, question) => ask(step, proposing(question)),
    respond: (step, schema, question) => valueOf(step, schema, (form) => proposing(question, form)),
    examine: (step, question) => ask(step, examining(question)),
    decide: (step, schema, question) => valueOf(step, schema, (form) => examining(question, form)),
  }
}

const paragraphs = (...texts: ReadonlyArray<string>): string => texts.filter((text) => text !== "").join("\n\n")

/** The built-in echo answers with what it was sent: it cannot judge, whatever that looks like. */
export const isEcho = ({ target }: Pick<ModelAnswer, "target">): boolean => target.provider === "echo"

/** Whether an answer counts as one: not a refusal, and not words that say nothing. */
export const counts = (said: ModelAnswer): boolean => !said.refused && !saysNothing(said.text)

/** The value in an answer, or `undefined`. */
const decodeAnswer = <A, I>(schema: Schema.Codec<A, I>, said: ModelAnswer): A | undefined => {
  const value = said.refused || isEcho(said) ? undefined : jsonIn(said.text)
  return value === undefined ? undefined : Option.getOrUndefined(Schema.decodeUnknownOption(schema)(value))
}

/** Bounds that some providers refuse to be sent; they are checked here when the answer is decoded. */
const NOT_SENT = new Set(["minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems"])

/** A schema as providers take it, and in words. */
interface Form {
  readonly document: Readonly<Record<string, unknown>>
  readonly form: string
}

/** What was worked out for a schema, which is the same for every job. */
const forms = new WeakMap<object, Form>()

const jsonSchemaOf = <A, I>(schema: Schema.Codec<A, I>): Form => {
  const known = forms.get(schema)
  if (known !== undefined) return known
  const { schema: whole } = Schema.toJsonSchemaDocument(schema, { onExcessProperty: "error" })
  const document = Object.fromEntries(Object.entries(whole).map(([name, value]) => [name, withoutBounds(value)]))
  const form: Form = { document, form: shape(document) }
  forms.set(schema, form)
  return form
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
