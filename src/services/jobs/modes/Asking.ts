/**
 * How a mode asks models. Every call is one durable step: it keeps to the agent's limits and policy, and what came back
 * is stored before anything builds on it, so a job that resumes finds the same answers and pays for none of them again.
 */
import { Effect, Option, Schema } from "effect"
import type { Message, ResponseFormat } from "../../../domain/chat.ts"
import type { Role } from "../../../domain/routing.ts"
import { TargetName } from "../../../domain/targets.ts"
import type { Participant } from "../../../domain/verdict.ts"
import type { Ledger } from "../../routing/Ledger.ts"
import type { Router } from "../../routing/Router.ts"
import type { JobContext, JobFailure } from "../JobProgram.ts"
import { limitReached, nothingSaid, refusal, routingFailure } from "./failures.ts"
import { jsonIn, MAX_JSON_CHARS } from "./jsonIn.ts"
import { prompts } from "./prompts.ts"
import { defined } from "../../../domain/defined.ts"

/** What a step keeps of an answer. */
export const Said = Schema.Struct({
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
export type Said = typeof Said.Type

export interface Question {
  readonly role: Role
  readonly system?: string | undefined
  /** Said by the user after the task. */
  readonly instruction?: string | undefined
  readonly independentOf?: ReadonlyArray<TargetName> | undefined
  readonly tier?: number | undefined
  readonly extra?: boolean | undefined
  /** Whether a refusal or an empty answer is an answer; otherwise the job fails, because there is nothing to examine. */
  readonly optional?: boolean | undefined
}

/** A verdict that was asked for; `undefined` if none could be decoded. */
export interface Decided<A> {
  readonly value: A | undefined
  readonly said: Said
}

export interface Asking {
  /** Asks for text. */
  readonly say: (step: string, question: Question) => Effect.Effect<Said, JobFailure>
  /** Asks for a value of `schema`, a second time if the first answer is none. */
  readonly decide: <A, I>(
    step: string,
    schema: Schema.Codec<A, I>,
    question: Question,
  ) => Effect.Effect<Decided<A>, JobFailure>
}

export const makeAsking = (context: JobContext, router: Router["Service"], ledger: Ledger["Service"]): Asking => {
  const { agent, jobId, mode, task, tenant } = context
  const taskMessages: ReadonlyArray<Message> = typeof task === "string" ? [{ role: "user", content: task }] : task

  const messagesOf = ({ instruction, system }: Question): ReadonlyArray<Message> => [
    ...(system === undefined || system === "" ? [] : [{ role: "system" as const, content: system }]),
    ...taskMessages,
    ...(instruction === undefined ? [] : [{ role: "user" as const, content: instruction }]),
  ]

  const ask = (
    step: string,
    { extra, independentOf, optional, role, tier }: Question,
    messages: ReadonlyArray<Message>,
    format?: ResponseFormat,
  ) =>
    context.step(
      step,
      Said,
      Effect.gen(function* () {
        const spent = yield* Effect.mapError(ledger.spent([jobId]), routingFailure)
        const limit = limitReached(agent.limits, spent(jobId))
        if (limit !== undefined) return yield* limit
        const { call, cut, escalateBelow, independent, refused, target, text } = yield* router
          .call({
            tenant,
            job: jobId,
            agent: agent.id,
            mode,
            role,
            policy: agent.model_policy,
            pricedOnly: agent.limits.max_cost_micro_usd !== undefined,
            completion: { messages, ...defined({ response_format: format }) },
            independentOf,
            tier,
            extra,
          })
          .pipe(Effect.mapError(routingFailure))
        if (optional !== true && format === undefined) {
          if (refused) return yield* refusal(text, call)
          if (text.trim() === "") return yield* nothingSaid(call)
        }
        return { value: { text, refused, cut, target, model: call.model, independent, escalateBelow }, call }
      }),
    )

  return {
    say: (step, question) => ask(step, question, messagesOf(question)),

    decide: Effect.fnUntraced(function* <A, I>(step: string, schema: Schema.Codec<A, I>, question: Question) {
      const messages = messagesOf(question)
      const format = formatOf(step, schema)
      const first = yield* ask(step, question, messages, format)
      const value = decodeAnswer(schema, first)
      // A model that wrote without end is not sent all of that again.
      const hopeless = first.refused || isEcho(first) || first.text.length > MAX_JSON_CHARS
      if (value !== undefined || hopeless) return { value, said: first }
      const repairing: ReadonlyArray<Message> = [
        ...messages,
        { role: "assistant", content: first.text },
        { role: "user", content: prompts.repair },
      ]
      const second = yield* ask(`${step}-repair`, question, repairing, format)
      return { value: decodeAnswer(schema, second), said: second }
    }),
  }
}

/** The built-in echo answers with what it was sent: it cannot judge, whatever that looks like. */
export const isEcho = ({ target }: Pick<Said, "target">): boolean => target.provider === "echo"

/** A proposer is not independent of itself; critics and judges are if the router found them others. */
export const participant = (role: Role, { independent, model, target }: Said): Participant => ({
  role,
  provider: target.provider,
  model,
  independent: role !== "proposer" && independent,
})

/** The value in an answer, or `undefined`. */
const decodeAnswer = <A, I>(schema: Schema.Codec<A, I>, said: Said): A | undefined => {
  const json = said.refused || isEcho(said) ? undefined : jsonIn(said.text)
  return json === undefined
    ? undefined
    : Option.getOrUndefined(Schema.decodeUnknownOption(Schema.fromJsonString(schema))(json))
}

/** Bounds that some providers refuse to be sent; they are checked here when the answer is decoded. */
const NOT_SENT = new Set(["minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems"])

const formatOf = <A, I>(step: string, schema: Schema.Codec<A, I>): ResponseFormat => {
  const document = Schema.toJsonSchemaDocument(schema, { onExcessProperty: "error" })
  return {
    type: "json_schema",
    json_schema: {
      name: step.replaceAll(/\W/g, "_"),
      strict: true,
      schema: Object.fromEntries(Object.entries(document.schema).map(([name, value]) => [name, withoutBounds(value)])),
    },
  }
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
