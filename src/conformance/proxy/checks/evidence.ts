/** Checks of `POST /v1/evidence`. Signatures of the hardware are not checked: `D` is bound, whoever signed it. */
import { type Bytes, decodeBase64Url, encodeBase64Url, equalBytes, utf8 } from "../../../domain/bytes/bytes.ts"
import { isObject, type JsonObject } from "../../../domain/json/json.ts"
import { parseIJson } from "../../../domain/json/iJson.ts"
import { bindingInput, leafInput, nodeInput, reportData, reportDataAt } from "../../../domain/protocol/evidence.ts"
import { randomBytes, sha256 } from "../../../client/crypto/primitives.ts"
import { sessionClaimsFrom } from "../../../client/verification/claims.ts"
import { verifyStatement } from "../../../client/verification/trust.ts"
import { type Check, check } from "../Check.ts"
import { each, refusedAs } from "../expect.ts"
import { must, skip } from "../outcome.ts"
import type { Probe } from "../Probe.ts"
import { believing } from "../SealedAnswer.ts"

const PATH = "v1/evidence"

const bytesOf = (object: JsonObject, member: string): Bytes => {
  const bytes = decodeBase64Url(String(object[member]))
  must(bytes !== undefined, `${member} is not base64url`)
  return bytes
}

/** Asks for evidence; skips the check at a proxy that has none. */
const evidenceFor = async (probe: Probe, nonce: Bytes): Promise<JsonObject> => {
  const received = await probe.wire.post(PATH, JSON.stringify({ nonce: encodeBase64Url(nonce) }))
  if (received.status === 404) skip(`the server has no evidence (${refusedAs(received, "it", "404 no-evidence")})`)
  must(received.status === 200, `the status is ${received.status}`)
  const answer = parseIJson(received.body)
  must(isObject(answer), "the answer is no object")
  return answer
}

/** The root that a path leads to (RFC 9162 §2.1.3.2). */
const rootOf = async (nonce: Bytes, path: unknown): Promise<Bytes> => {
  must(isObject(path) && Array.isArray(path["hashes"]), "path has no hashes")
  let [at, last, hash] = [Number(path["index"]), Number(path["size"]) - 1, await sha256(leafInput(nonce))]
  must(at >= 0 && at <= last, "the index in path lies outside its size")
  for (const text of path["hashes"]) {
    const sibling = decodeBase64Url(String(text))
    must(sibling?.length === 32 && last > 0, "a hash of path is not of 32 bytes, or one too many")
    if (at % 2 === 1 || at === last) {
      hash = await sha256(nodeInput(sibling, hash))
      while (at % 2 === 0 && at !== 0) [at, last] = [at >> 1, last >> 1]
    } else hash = await sha256(nodeInput(hash, sibling))
    ;[at, last] = [at >> 1, last >> 1]
  }
  must(last === 0, "path ends before the root")
  return hash
}

/** Whether the report contains `binding` at the place of its format. */
const isIn = (answer: JsonObject, binding: Bytes): boolean => {
  const report = bytesOf(answer, "report")
  const format = String(answer["format"])
  if (format === "confidential-space") {
    const claims = parseIJson(decodeBase64Url(new TextDecoder().decode(report).split(".")[1] ?? "") ?? utf8("null"))
    return isObject(claims) && [claims["eat_nonce"]].flat().join() === encodeBase64Url(binding)
  }
  must(format === "tdx" || format === "dstack" || format === "sev-snp", `the format is ${format}`)
  const at = reportDataAt(format, report)
  return equalBytes(report.subarray(at, at + 64), reportData(binding))
}

export const evidenceChecks: ReadonlyArray<Check> = [
  check("P52", "evidence-nonce", "a nonce that is not base64url of 32 bytes is refused", (probe) =>
    each(["", "AAAA", "A".repeat(42), `${"A".repeat(43)}=`, "A".repeat(44), 1, null], async (nonce) =>
      refusedAs(await probe.wire.post(PATH, JSON.stringify({ nonce })), `the nonce ${nonce}`, "400 malformed"),
    ),
  ),
  check("P53", "evidence-answer", "evidence is of the pinned key, or refused as missing", async (probe) => {
    const body = JSON.stringify({ nonce: encodeBase64Url(randomBytes(32)) })
    const received = await probe.wire.post(PATH, body)
    if (received.status !== 200) return refusedAs(received, "a request for evidence", "404 no-evidence")
    must(/\bno-store\b/.test(received.headers["cache-control"] ?? ""), "the answer may be stored")
    const answer = parseIJson(received.body)
    must(isObject(answer), "the answer is no object")
    must((await probe.trusted()).has(String(answer["kid"])), "its kid is not pinned")
    must(isObject(parseIJson(bytesOf(answer, "configuration"))), "its configuration is no JSON object")
    return `evidence of the format ${String(answer["format"])}`
  }),
  check("P54", "evidence-binding", "the report contains key, configuration and nonce", async (probe) => {
    const nonce = randomBytes(32)
    const answer = await evidenceFor(probe, nonce)
    const configuration = await sha256(bytesOf(answer, "configuration"))
    const root = await rootOf(nonce, answer["path"])
    const binding = await sha256(bindingInput(bytesOf(answer, "kid"), configuration, root))
    must(isIn(answer, binding), "the report is not bound to this nonce, key and configuration")
    return "D is where it must be"
  }),
  check("P55", "evidence-configuration", "sessions name the configuration of the evidence", async (probe) => {
    const answer = await evidenceFor(probe, randomBytes(32))
    const { attestation } = await probe.begin()
    const claims = sessionClaimsFrom(await believing(verifyStatement("session", attestation, await probe.trusted())))
    const hash = encodeBase64Url(await sha256(bytesOf(answer, "configuration")))
    must(claims.configuration === hash, `the claim configuration is ${claims.configuration}, and not ${hash}`)
    return "the hash of the same configuration"
  }),
]
