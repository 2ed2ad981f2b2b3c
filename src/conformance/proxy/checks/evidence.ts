/** Checks of `POST /v1/evidence`. Signatures of the hardware are not checked: `D` is bound, whoever signed it. */
import { type Bytes, decodeBase64Url, encodeBase64Url } from "../../../domain/bytes/bytes.ts"
import { isObject, type JsonObject } from "../../../domain/json/json.ts"
import { parseIJson } from "../../../domain/json/iJson.ts"
import { isBound } from "../../../client/attestation/isBound.ts"
import { randomBytes, sha256 } from "../../../client/crypto/primitives.ts"
import { sessionClaimsFrom } from "../../../client/verification/claims.ts"
import { verifyStatement } from "../../../client/verification/trust.ts"
import { type Check, check } from "../Check.ts"
import { each, refusedAs } from "../expect.ts"
import { must, skip } from "../outcome.ts"
import type { Probe } from "../Probe.ts"
import { believing } from "../OpenedAnswer.ts"

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
    must(isObject(parseIJson(bytesOf(answer, "configuration"))), "its configuration is not a JSON object")
    return `evidence of the format ${String(answer["format"])}`
  }),
  check("P54", "evidence-binding", "the report contains key, configuration and nonce", async (probe) => {
    const nonce = randomBytes(32)
    const bound = await believing(isBound(await evidenceFor(probe, nonce), nonce))
    must(bound, "the report is not bound to this nonce, key and configuration")
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
