/** The end of a response: the end record with its receipt, and a stream's terminal proof (sealed protocol §5, §6). */
import { Clock, Effect } from "effect"
import { type Bytes, encodeBase64Url, utf8 } from "../../domain/bytes/bytes.ts"
import { withoutUndefined } from "../../domain/json/withoutUndefined.ts"
import { endRecordLength } from "../../domain/protocol/padding.ts"
import type { Problem } from "../../domain/problems/problem.ts"
import { SOFTWARE } from "../../domain/operations/software.ts"
import type { ReceiptClaims } from "../../domain/protocol/statement.ts"
import { iJsonOf } from "../../domain/json/surrogates.ts"
import { requestTraceId } from "../../domain/operations/traceContext.ts"
import type { EndStatus, Form } from "../../domain/protocol/transcript.ts"
import type { Attestation } from "./Attestation.ts"
import type { Opened } from "./RequestOpener.ts"

/** The provider and model that answered; all `null` or empty if no provider was called. */
export type ServedBy = {
  readonly provider: ReceiptClaims["provider"]
  readonly model: ReceiptClaims["model"]
  readonly finishReasons: ReceiptClaims["finish_reasons"]
  readonly usage: ReceiptClaims["usage"]
}

export const NOT_SERVED: ServedBy = { provider: null, model: null, finishReasons: [], usage: null }

interface Ending {
  readonly opened: Opened
  readonly requestId: string | null
  readonly form: Form
  readonly status: EndStatus
  /** Milliseconds since the epoch, from {@link endingNow}. */
  readonly endedAt: number
  readonly served: ServedBy
  readonly problem?: Problem | undefined
}

type Signer = Pick<Attestation["Service"], "sign">

/** The time of a response that ends now, never before its request, even if the clock was set back. */
export const endingNow = ({ receivedAt }: Opened): Effect.Effect<number> =>
  Clock.clockWith((clock) => Effect.succeed(Math.max(clock.currentTimeMillisUnsafe(), receivedAt)))

/** Returns the JSON bytes of the end record. Call it once, after the last data frame. */
export const endRecord = (attestation: Signer, ending: Ending): Bytes => {
  const { form, opened, problem, requestId, served, status } = ending
  const seconds = Math.floor(ending.endedAt / 1000)
  const receipt = attestation.sign("receipt", {
    iat: seconds,
    jti: requestId,
    session_id: opened.sessionId,
    form,
    status,
    provider: served.provider,
    model: served.model,
    finish_reasons: served.finishReasons,
    usage: served.usage,
    received_at: Math.floor(opened.receivedAt / 1000),
    completed_at: seconds,
    request_hash: encodeBase64Url(opened.sealer.requestHash),
    request_commitment: opened.sealer.requestCommitment,
    ...opened.sealer.dataSummary(),
    prompt_persisted: false,
    software: SOFTWARE,
  })
  const record = { status, finish_reasons: served.finishReasons, usage: served.usage }
  const jsonWith = (problem: Problem | undefined) =>
    utf8(iJsonOf({ ...record, ...(problem === undefined ? {} : { problem }), receipt }))
  const json = problem === undefined ? jsonWith(undefined) : fitted(problem, jsonWith)
  const filled = new Uint8Array(endRecordLength(json.length)).fill(SPACE)
  filled.set(json)
  return filled
}

/** Adds the trace id, with which the operator finds the problem in the log. */
export const traced = (problem: Problem): Effect.Effect<Problem> =>
  Effect.match(Effect.currentParentSpan, {
    onFailure: () => problem,
    onSuccess: (span) => ({ ...problem, ...withoutUndefined({ trace_id: requestTraceId(span) }) }),
  })

const SPACE = 0x20
/** Largest end record in one block, in bytes. */
const MOST = endRecordLength(0)

/** The record with as much of the problem as fits one block: errors from the end go first, then detail and message. */
const fitted = (problem: Problem, jsonWith: (problem: Problem) => Uint8Array): Uint8Array => {
  let { detail = "", errors = [], provider_error: said } = problem
  for (;;) {
    const { detail: _detail, errors: _errors, provider_error: _said, ...rest } = problem
    const json = jsonWith({
      ...rest,
      ...(detail === "" ? {} : { detail }),
      ...(errors.length === 0 ? {} : { errors }),
      ...(said === undefined ? {} : { provider_error: said }),
    })
    const excess = json.length - MOST
    if (excess <= 0) return json
    if (errors.length > 0) errors = errors.slice(0, Math.floor(errors.length / 2))
    else if (detail !== "") detail = shortened(detail, excess)
    else if (said === undefined) return json
    else if (typeof said["message"] !== "string" || said["message"] === "") said = undefined
    else said = { ...said, message: shortened(said["message"], excess) }
  }
}

/** Removes at least a sixth of the excess: a character has up to six bytes in JSON. */
const shortened = (text: string, excess: number): string =>
  text.slice(0, Math.max(0, Math.min(text.length - 1, Math.floor(text.length - excess / 6))))

/** Returns the statement over all frames of a stream. Call it after the final frame was sealed. */
export const terminalProof = (attestation: Signer, opened: Opened, endedAt: number): string =>
  attestation.sign("proof", {
    iat: Math.floor(endedAt / 1000),
    session_id: opened.sessionId,
    request_hash: encodeBase64Url(opened.sealer.requestHash),
    ...opened.sealer.summary(),
  })
