/** Asks the proxy for evidence of its code. A page cannot verify certificates, so it checks only what the report is bound to. */
import { isBound } from "../../client/attestation/isBound.ts"
import { Tampered } from "../../client/errors.ts"
import { bytes, literal, string } from "../../client/verification/decode.ts"
import { encodeBase64Url, fromUtf8 } from "../../domain/bytes/bytes.ts"
import { EVIDENCE_FORMATS, EVIDENCE_NONCE_BYTES, type EvidenceFormat } from "../../domain/protocol/evidence.ts"
import { inTime } from "../shared/inTime.ts"
import { baseUrl } from "../shared/render.tsx"
import { objectIn } from "./objectIn.ts"

export type CodeShown =
  | { readonly kind: "none" }
  | { readonly kind: "failed"; readonly why: string }
  | {
      readonly kind: "shown"
      readonly format: EvidenceFormat
      readonly kid: string
      /** Whether the report names this page's nonce, the key and the configuration. */
      readonly bound: boolean
      /** Indented JSON. */
      readonly configuration: string
    }

const NOT_FOUND = 404

const read = async (text: string, nonce: Uint8Array<ArrayBuffer>): Promise<CodeShown> => {
  const answer = objectIn(text)
  return {
    kind: "shown",
    format: literal(answer, "format", EVIDENCE_FORMATS),
    kid: string(answer, "kid"),
    bound: await isBound(answer, nonce),
    configuration: JSON.stringify(objectIn(fromUtf8(bytes(answer, "configuration"))), null, 2),
  }
}

const ask = async (signal: AbortSignal): Promise<CodeShown> => {
  const nonce = crypto.getRandomValues(new Uint8Array(EVIDENCE_NONCE_BYTES))
  const body = JSON.stringify({ nonce: encodeBase64Url(nonce) })
  const headers = { "content-type": "application/json" }
  const response = await fetch(`${baseUrl()}/v1/evidence`, { method: "POST", headers, body, signal })
  if (response.status === NOT_FOUND) return { kind: "none" }
  if (!response.ok) {
    return { kind: "failed", why: `The proxy answered with status ${response.status}. Try again later.` }
  }
  return read(await response.text(), nonce)
}

export const askForCode = async (): Promise<CodeShown> => {
  try {
    return await inTime(ask)
  } catch (error) {
    const why = error instanceof Tampered ? error.message : "The proxy does not answer."
    return { kind: "failed", why }
  }
}
