/**
 * Checks whether evidence binds key, configuration and nonce. Checks no signature, so the result alone proves nothing.
 * For the console, because browsers cannot verify these certificates, and for the conformance kit.
 */
import { type Bytes, decodeBase64Url, encodeBase64Url, equalBytes } from "../../domain/bytes/bytes.ts"
import type { JsonObject } from "../../domain/json/json.ts"
import {
  bindingInput,
  EVIDENCE_FORMATS,
  leafInput,
  nodeInput,
  reportData,
  reportDataAt,
  siblingSides,
} from "../../domain/protocol/evidence.ts"
import { HASH_BYTES } from "../../domain/protocol/transcript.ts"
import { sha256 } from "../crypto/primitives.ts"
import { Tampered } from "../errors.ts"
import { bytes, decodeBytes, integer, literal, objectMember, parseObject, strings } from "../verification/decode.ts"

/** The root that a path leads to (RFC 6962 §2.1.1). Throws `Tampered` if the path does not fit its index and size. */
const rootOf = async (nonce: Bytes, path: JsonObject): Promise<Bytes> => {
  const [index, size, hashes] = [integer(path, "index"), integer(path, "size"), strings(path, "hashes")]
  if (index >= size) throw new Tampered("The index of the path lies outside its size.")
  const sides = siblingSides(index, size)
  if (hashes.length !== sides.length) throw new Tampered("The path has another length than its tree needs.")
  let hash = await sha256(leafInput(nonce))
  for (const [i, text] of hashes.entries()) {
    const sibling = decodeBytes(text, "a hash of the path", HASH_BYTES)
    hash = await sha256(sides[i] === "left" ? nodeInput(sibling, hash) : nodeInput(hash, sibling))
  }
  return hash
}

/** Whether the report has `binding` at the place of its format. */
const isIn = (answer: JsonObject, binding: Bytes): boolean => {
  const report = bytes(answer, "report")
  const format = literal(answer, "format", EVIDENCE_FORMATS)
  if (format === "confidential-space") {
    const payload = decodeBase64Url(new TextDecoder().decode(report).split(".")[1] ?? "")
    const claims = payload === undefined ? {} : parseObject(payload, "the token")
    const nonces: ReadonlyArray<unknown> = [claims["eat_nonce"]].flat()
    return nonces.length === 1 && nonces[0] === encodeBase64Url(binding)
  }
  const at = reportDataAt(format, report)
  return equalBytes(report.subarray(at, at + 2 * HASH_BYTES), reportData(binding))
}

/** Whether the report in the answer to `POST /v1/evidence` names this nonce. Throws `Tampered` if the answer is malformed. */
export const isBound = async (answer: JsonObject, nonce: Bytes): Promise<boolean> => {
  const configuration = await sha256(bytes(answer, "configuration"))
  const root = await rootOf(nonce, objectMember(answer, "path"))
  return isIn(answer, await sha256(bindingInput(bytes(answer, "kid", HASH_BYTES), configuration, root)))
}
