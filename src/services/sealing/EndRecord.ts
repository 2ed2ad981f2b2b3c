/** How a response ends: the end record with its receipt inside, and the terminal proof of a stream (§4.7, §5). */
import { Clock, Effect } from "effect"
import { encodeBase64Url, utf8 } from "../../domain/bytes.ts"
import type { Problem } from "../../domain/problem.ts"
import { iJsonOf } from "../../domain/surrogates.ts"
import { SOFTWARE } from "../../domain/software.ts"
import type { EndStatus, Form } from "../../domain/transcript.ts"
import type { Served } from "../../domain/upstream.ts"
import { Attestation } from "./Attestation.ts"
import type { Opened } from "./SealedExchange.ts"
import { defined } from "../../domain/defined.ts"

/**
 * End records are filled up with white space to a multiple of this many bytes before they are padded, and as if every
 * count in them had as many digits as a number can have: the digits must not show in the length.
 */
const GRANULE = 512
/** With its quotes as long as the longest JSON number that JavaScript writes: 24 characters. */
const WIDEST_NUMBER = "0".repeat(22)

export interface Ending {
  readonly opened: Opened
  readonly requestId: string
  readonly form: Exclude<Form, "problem">
  readonly status: EndStatus
  /** Milliseconds since the epoch, from {@link endingNow}. */
  readonly endedAt: number
  readonly served: Omit<Served, "provider"> & { readonly provider: string }
  readonly problem?: Problem
}

/** When a response ends that ends now. However the clock is set meanwhile, the times of an exchange never run backwards. */
export const endingNow = ({ receivedAt }: Opened): Effect.Effect<number> =>
  Effect.map(Clock.currentTimeMillis, (now) => Math.max(now, receivedAt))

/** The JSON bytes of the end record. To be called once, after the last data frame. */
export const endRecord = Effect.fnUntraced(function* (ending: Ending) {
  const { form, opened, problem, requestId, served, status } = ending
  const attestation = yield* Attestation
  const seconds = Math.floor(ending.endedAt / 1000)
  const frames = opened.sealer.dataSummary()
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
    ...frames,
    prompt_persisted: false,
    software: SOFTWARE,
  })
  const json = iJsonOf({
    status,
    finish_reasons: served.finishReasons,
    usage: served.usage,
    ...defined({ problem }),
    receipt,
  })
  const length = utf8(json).length
  const widest = length + widening(receipt, served.usage, frames.count)
  return utf8(json + " ".repeat(Math.ceil(widest / GRANULE) * GRANULE - length))
})

/** How many bytes longer the record were with the widest counts: its usage stands in it plainly and in the receipt. */
const widening = (receipt: string, usage: Served["usage"], count: number): number => {
  const plain = missingDigits(usage)
  const signed = receipt.lastIndexOf(".") - receipt.indexOf(".") - 1
  return plain + base64Length(Math.floor((signed * 3) / 4) + plain + missingDigits(count)) - signed
}

/** How many bytes longer the JSON of `value` were if each of its numbers were the widest. */
const missingDigits = (value: unknown): number =>
  JSON.stringify(value, (_, member: unknown) => (typeof member === "number" ? WIDEST_NUMBER : member)).length -
  JSON.stringify(value).length

/** Length of unpadded base64 of so many bytes. */
const base64Length = (bytes: number): number => Math.ceil((bytes * 4) / 3)

/** The statement over all frames of a stream. To be called after the final frame was sealed. */
export const terminalProof = Effect.fnUntraced(function* (opened: Opened, status: EndStatus, endedAt: number) {
  const attestation = yield* Attestation
  return attestation.sign("proof", {
    iat: Math.floor(endedAt / 1000),
    session_id: opened.sessionId,
    request_hash: encodeBase64Url(opened.sealer.requestHash),
    ...opened.sealer.summary(),
    status,
  })
})
