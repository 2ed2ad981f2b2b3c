/** Seals one request to a verified session (sealed protocol §4.1). */
import { type Bytes, encodeBase64Url, utf8 } from "../../domain/bytes/bytes.ts"
import { FLOOR, pad } from "../../domain/protocol/padding.ts"
import { joinContent, MAX_CREDENTIAL_BYTES } from "../../domain/protocol/sealedContent.ts"
import { requestAad, requestInfo, requestTranscript } from "../../domain/protocol/transcript.ts"
import { SealedProblem, Tampered, Unreachable } from "../errors.ts"
import { hpkeSeal } from "../crypto/hpke.ts"
import { sha256 } from "../crypto/primitives.ts"
import { type ClockReading, readClocks } from "./clocks.ts"
import type { ClientSession } from "./session.ts"

export interface SealedRequestBody {
  readonly session_id: string
  readonly enc: string
  readonly ciphertext: string
}

/** A sealed request with the secrets that open its answer. */
export interface SentRequest {
  readonly session: ClientSession
  readonly requestId: string
  readonly body: SealedRequestBody
  readonly payload: Bytes
  readonly credential: string
  readonly enc: Bytes
  readonly secret: Bytes
  readonly requestHash: Bytes
  readonly sealedAt: ClockReading
}

interface SealInput {
  readonly requestId: string
  /** JSON text. */
  readonly payload: string
  /** Value of `Authorization`; empty if there is none. */
  readonly credential: string
}

const tooLarge = (title: string) =>
  new SealedProblem(
    { type: "urn:sealgate:problem:too-large", code: "too-large", status: 413, title, retryable: false },
    false,
    undefined,
  )

/**
 * @param ephemeralSeed fixes the ephemeral key, for published test vectors only
 */
export const sealRequest = async (
  session: ClientSession,
  { credential, payload, requestId }: SealInput,
  ephemeralSeed?: Bytes,
): Promise<SentRequest> => {
  const bytes = utf8(payload)
  const { length } = utf8(credential)
  if (length > MAX_CREDENTIAL_BYTES) {
    throw tooLarge(`The credential is too long: ${length} bytes, at most ${MAX_CREDENTIAL_BYTES} are accepted.`)
  }
  const { ciphertext, enc, secret } = await hpkeSeal(
    session.suite,
    session.publicKey,
    requestInfo(session.attestationHash),
    requestAad(session.idBytes),
    pad(joinContent(credential, bytes), FLOOR),
    ephemeralSeed,
  ).catch((cause: unknown) => {
    if (cause instanceof Unreachable) throw cause
    throw new Tampered("Nothing can be sealed to the session's key.", { cause })
  })
  if (ciphertext.length > session.maxRequestBytes) {
    throw tooLarge(
      `The request is too large: ${ciphertext.length} bytes sealed, at most ${session.maxRequestBytes} are accepted.`,
    )
  }
  return {
    session,
    requestId,
    body: {
      session_id: session.id,
      enc: encodeBase64Url(enc),
      ciphertext: encodeBase64Url(ciphertext),
    },
    payload: bytes,
    credential,
    enc,
    secret,
    requestHash: await sha256(requestTranscript(session.attestationHash, enc, await sha256(ciphertext))),
    sealedAt: readClocks(),
  }
}
