/** Content of a request's block (sealed protocol §3): a credential, then the payload. */
import { type Bytes, concat, fromUtf8, u32, utf8 } from "../bytes/bytes.ts"

/** Longest credential, in bytes. */
export const MAX_CREDENTIAL_BYTES = 8192

const LENGTH_BYTES = 4

export interface SealedContent {
  /** The value for `Authorization`; empty if there is none. */
  readonly credential: Bytes
  /** The JSON of the request. A revealed exchange shows it, but never the credential. */
  readonly payload: Bytes
}

/** `u32(length of credential) ‖ credential ‖ payload`. */
export const joinContent = (credential: string, payload: Uint8Array): Bytes => {
  const bytes = utf8(credential)
  return concat(u32(bytes.length), bytes, payload)
}

/** Both parts, as views on `content`; `undefined` if {@link joinContent} cannot have made it. */
export const splitContent = (content: Bytes): SealedContent | undefined => {
  if (content.length < LENGTH_BYTES) return undefined
  const length = new DataView(content.buffer, content.byteOffset).getUint32(0)
  const end = LENGTH_BYTES + length
  if (length > MAX_CREDENTIAL_BYTES || end > content.length) return undefined
  const credential = content.subarray(LENGTH_BYTES, end)
  return isUtf8(credential) ? { credential, payload: content.subarray(end) } : undefined
}

const isUtf8 = (bytes: Uint8Array): boolean => {
  try {
    fromUtf8(bytes)
    return true
  } catch {
    return false
  }
}
