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
} from "../../domain/protocol/evidence.ts"
import { HASH_BYTES } from "../../domain/protocol/transcript.ts"
import { sha256 } from "../crypto/primitives.ts"
import { Tampered } from "../errors.ts"
import { bytes, decodeBytes, integer, literal, objectMember, parseObject, strings } from "../verification/decode.ts"

/** The root that a path leads to (RFC 9162 §2.1.3.2). Throws `Tampered` if the path does not fit its index and size. */
const rootOf = async (nonce: Bytes, path: JsonObject): Promise<Bytes> => {
  let [at, last, hash] = [integer(path, "index"), integer(path, "size") - 1, await sha256(leafInput(nonce))]
  if (at > last) throw new Tampered("The index of the path lies outside its size.")
  for (const text of strings(path, "hashes")) {
    const sibling = decodeBytes(text, "a hash of the path", HASH_BYTES)
    if (last === 0) throw new Tampered("The path has a hash too many.")
    if (at % 2 === 1 || at === last) {
      hash = await sha256(nodeInput(sibling, hash))
      while (at % 2 === 0 && at !== 0) [at, last] = [at >> 1, last >> 1]
    } else hash = await sha256(nodeInput(hash, sibling))
    ;[at, last] = [at >> 1, last >> 1]
  }
  if (last !== 0) throw new Tampered("The path ends before the root.")
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
