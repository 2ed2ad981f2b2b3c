/** The cases of the conformance kit, each played in a published exchange: answers to `POST /v1/init` and to sealed requests. */
import { answer, otherForm, type Script } from "../../../../src/conformance/lyingProxy/answer.ts"
import { bodyOf, BREAK, bytesOf, type ProxyReply } from "../../../../src/conformance/lyingProxy/Lie.ts"
import { offerAnswer } from "../../../../src/conformance/lyingProxy/session.ts"
import { type Signers, state } from "../../../../src/conformance/lyingProxy/statement.ts"
import { type Case, isOfAnswers, isOfOffers, type Next, type Verdict } from "../../../../src/conformance/client/Case.ts"
import { CASES } from "../../../../src/conformance/client/cases/all.ts"
import type { Form } from "../../../../src/domain/protocol/transcript.ts"
import type { PublishedExchange } from "../published.ts"
import { fromHex, hex, sha256, text } from "../reference.ts"
import type { Vectors } from "../vectors.ts"
import { type Body, exchangeNamed, type Given } from "./common.ts"

interface Answered extends Body {
  readonly status: number
  readonly content_type: string
  readonly expect: Verdict
}

export type Offer = Given<
  Answered & {
    /** Whose `request_body` was sent. */
    readonly session: string
  }
>

export type Answer = Given<
  Answered & {
    /** Which published request was sent. */
    readonly exchange: string
    /** With `refusal` and `break`. */
    readonly next?: Next
  }
>

/** Random bytes of these vectors. */
const randomFrom = (seed: string) => {
  let drawn = 0
  return (size: number): Buffer => sha256(text(`${seed} ${drawn++}`)).subarray(0, size)
}

const written = (subject: Case, { body, headers, status }: ProxyReply) => {
  // A proxy's own white space before the body would hide a byte order mark.
  const bytes = bodyOf({ status, headers, body: body[0] === " " ? body.slice(1) : body })
  const isText = text(bytes.toString()).equals(bytes)
  return {
    rules: [subject.must],
    why: `the proxy ${subject.says}`,
    status,
    content_type: headers["content-type"] ?? "",
    ...(isText ? { body: bytes.toString() } : { body_hex: hex(bytes) }),
    expect: subject.expect,
  }
}

const isLie = ({ lie }: Case): boolean => Object.keys(lie).length > 0

export const makeOffers = ({ sessions }: Vectors, signers: Signers): ReadonlyArray<Offer> =>
  CASES.filter((subject) => isLie(subject) && (isOfOffers(subject.lie) || subject.lie.instead?.init !== undefined)).map(
    (subject) => {
      const { lie, suite = "X25519" } = subject
      const { claims, name } = sessions[suite]
      const { public_key, suite: taken } = sessions["MLKEM768-X25519"].claims
      const offered = lie.otherSuite === true ? { ...claims, suite: taken, public_key } : claims
      const { statement } = state(signers, "session", offered, lie.session)
      const honest = bytesOf(offerAnswer(signers, statement, lie))
      const reply = { status: 200, headers: { "content-type": "application/json" }, body: [honest] }
      return { ...written(subject, lie.instead?.init ?? reply), session: name }
    },
  )

/** The answer of `said`, given to the request of `asked`. */
const scriptOf = (asked: PublishedExchange, said: PublishedExchange): Script => {
  // The file is our own: its claims have the shapes that the protocol gives them.
  const claims = said.response.receipt_claims as unknown as Script
  const { finish_reasons, model, provider, software, status, usage } = claims
  const data = said.response.frames.filter(({ final }) => !final)
  return {
    payloads: data.map(({ payload }) => JSON.parse(payload) as unknown),
    jti: asked.response.receipt_claims["jti"] as string,
    status,
    provider,
    model,
    finish_reasons,
    usage,
    receivedAt: Math.floor(asked.received_at_ms / 1000),
    completedAt: Math.floor(asked.completed_at_ms / 1000),
    software,
  }
}

/** Both forms if the lie is about the data frames of either. */
const formsOf = ({ form, lie }: Case): ReadonlyArray<Form> => {
  if (form !== undefined) return [form]
  const isOfEither = lie.payloads !== undefined || (lie.body !== undefined && lie.events !== undefined)
  return isOfEither ? ["complete", "stream"] : ["complete"]
}

export const makeAnswers = (vectors: Vectors, signers: Signers): ReadonlyArray<Answer> => {
  const exchanges = {
    complete: exchangeNamed(vectors, "complete-x25519"),
    stream: exchangeNamed(vectors, "paced-x25519"),
  }
  const restarting = exchangeNamed(vectors, "stream")
  const answered = (subject: Case, asked: Form): ReadonlyArray<Answer> => {
    const { lie, restart } = subject
    const exchange = restart === true ? restarting : exchanges[asked]
    const { request } = exchange
    const form = lie.otherForm === true ? otherForm(asked) : asked
    const reply =
      lie.instead?.completions ??
      answer({
        signers,
        opened: {
          sessionId: request.body.session_id,
          payloadBytes: text(request.payload),
          credential: text(request.credential),
          enc: fromHex(request.enc),
          secret: fromHex(request.exported_secret),
          requestHash: fromHex(request.request_hash),
        },
        form,
        unpaced: restart === true,
        script: scriptOf(exchange, exchanges[form]),
        random: randomFrom(subject.name),
        lie,
      })
    // A text cannot show that a connection broke.
    if (reply.body.includes(BREAK)) return []
    const { next } = subject
    return [{ ...written(subject, reply), exchange: exchange.name, ...(next === undefined ? {} : { next }) }]
  }
  return CASES.filter(({ lie }) => isOfAnswers(lie) && lie.instead?.init === undefined).flatMap((subject) =>
    formsOf(subject).flatMap((form) => answered(subject, form)),
  )
}
