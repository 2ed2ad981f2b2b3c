/** How a response ends: the end record with its receipt inside, and the terminal proof of a stream (§4.7, §5). */
import { Clock, Effect } from "effect"
import { utf8 } from "../../domain/bytes.ts"
import type { Problem } from "../../domain/problem.ts"
import { SOFTWARE } from "../../domain/software.ts"
import type { EndStatus, Form } from "../../domain/transcript.ts"
import type { Served } from "../../domain/upstream.ts"
import { encodeBase64Url } from "../../domain/bytes.ts"
import { Attestation } from "./Attestation.ts"
import type { Opened } from "./SealedExchange.ts"

/**
 * End records are filled up with white space to a multiple of this many bytes before they are padded. Token counts
 * stand in them twice, once signed, and their digits must not move the length across a padding boundary.
 */
const GRANULE = 512

export interface Ending {
  readonly opened: Opened
  readonly requestId: string
  readonly form: Form
  readonly status: EndStatus
  readonly served: Omit<Served, "provider"> & { readonly provider: string }
  readonly problem?: Problem
}

/** The JSON bytes of the end record. To be called once, after the last data frame. */
export const endRecord = Effect.fnUntraced(function* (ending: Ending) {
  const { form, opened, problem, requestId, served, status } = ending
  const attestation = yield* Attestation
  const seconds = Math.floor((yield* Clock.currentTimeMillis) / 1000)
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
  const json = JSON.stringify({
    status,
    finish_reasons: served.finishReasons,
    usage: served.usage,
    ...(problem === undefined ? {} : { problem }),
    receipt,
  })
  const bytes = utf8(json)
  return utf8(json + " ".repeat((GRANULE - (bytes.length % GRANULE)) % GRANULE))
})

/** The statement over all frames of a stream. To be called after the final frame was sealed. */
export const terminalProof = Effect.fnUntraced(function* (opened: Opened, status: EndStatus) {
  const attestation = yield* Attestation
  return attestation.sign("proof", {
    iat: Math.floor((yield* Clock.currentTimeMillis) / 1000),
    session_id: opened.sessionId,
    request_hash: encodeBase64Url(opened.sealer.requestHash),
    ...opened.sealer.summary(),
    status,
  })
})
