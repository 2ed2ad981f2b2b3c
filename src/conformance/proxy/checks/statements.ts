/** Checks of signed statements. Opening any answer already checks frames, chain and commitments. */
import { randomUUID } from "node:crypto"
import { type Bytes, decodeBase64Url } from "../../../domain/bytes/bytes.ts"
import { isObject, type JsonObject } from "../../../domain/json/json.ts"
import { parseIJson } from "../../../domain/json/iJson.ts"
import { STATEMENT_TYPES, type StatementKind } from "../../../domain/protocol/statement.ts"
import { VERSION } from "../../../domain/protocol/transcript.ts"
import { verifyEd25519 } from "../../../client/crypto/ed25519.ts"
import { verifyEvidence } from "../../../client/verification/verify.ts"
import { publicJwk } from "../../../domain/protocol/statement.ts"
import { CLAIM_NAMES } from "../../lyingProxy/claimNames.ts"
import { type Check, check } from "../Check.ts"
import { must } from "../outcome.ts"
import { each, failedAs } from "../expect.ts"
import { type Probe, UNSERVED } from "../Probe.ts"
import { believing } from "../OpenedAnswer.ts"

const STREAM = { body: { prompt: "hello", stream: true } }

interface Stated {
  readonly kind: StatementKind
  readonly text: string
}

const parts = (text: string): ReadonlyArray<Bytes> =>
  text.split(".").map((part) => {
    const bytes = decodeBase64Url(part)
    must(bytes !== undefined, "a part of a statement is not base64url")
    return bytes
  })

const objectIn = (bytes: Bytes | undefined): JsonObject => {
  const value = parseIJson(bytes ?? new Uint8Array())
  must(isObject(value), "a part of a statement is not a JSON object")
  return value
}

/** One statement of each kind. */
const oneOfEach = async (probe: Probe): Promise<ReadonlyArray<Stated>> => {
  const { attestation, session } = await probe.begin()
  const { proof, receipt } = await probe.ask({ payload: probe.payload(session, { ...UNSERVED, ...STREAM }) }, session)
  return [
    { kind: "session", text: attestation },
    { kind: "receipt", text: receipt },
    { kind: "proof", text: proof?.statement ?? "" },
  ]
}

const ORDERED = ["received_at", "completed_at", "iat"] as const

export const statementChecks: ReadonlyArray<Check> = [
  check(
    "P6",
    "statement-headers",
    "the header of every statement has exactly alg, typ and kid, with the right values",
    async (probe) =>
      each(await oneOfEach(probe), async ({ kind, text }) => {
        const header = objectIn(parts(text)[0])
        must(
          Object.keys(header).sort().join() === "alg,kid,typ",
          `the header of a ${kind} statement has ${Object.keys(header).join(", ")}`,
        )
        must(header["alg"] === "Ed25519", `alg is ${String(header["alg"])}`)
        must(header["typ"] === STATEMENT_TYPES[kind], `typ is ${String(header["typ"])}`)
        return "as it must be"
      }),
  ),
  check("P6", "statement-signatures", "every signature is one by RFC 8032 §5.1.7, by the pinned key", async (probe) => {
    const trusted = await probe.trusted()
    return each(await oneOfEach(probe), async ({ kind, text }) => {
      const [header, , signature = new Uint8Array()] = parts(text)
      const key = trusted.get(String(objectIn(header)["kid"]))
      must(key !== undefined, `the ${kind} statement is signed by a key that is not pinned`)
      const signed = new Uint8Array(Buffer.from(text.slice(0, text.lastIndexOf("."))))
      must(
        await verifyEd25519(signature, signed, key),
        `the signature of the ${kind} statement is wrong, or not canonical`,
      )
      return "canonical"
    })
  }),
  check("P10", "statement-version", `every statement claims version ${VERSION} and the kid as its iss`, async (probe) =>
    each(await oneOfEach(probe), async ({ kind, text }) => {
      const [header, claims] = parts(text).slice(0, 2).map(objectIn)
      must(claims?.["version"] === VERSION, `the ${kind} statement claims version ${String(claims?.["version"])}`)
      must(claims["iss"] === header?.["kid"], `the ${kind} statement claims another iss than its kid`)
      return `version ${VERSION}`
    }),
  ),
  check("P42", "statement-claims", "every statement has all of its claims", async (probe) =>
    each(await oneOfEach(probe), async ({ kind, text }) => {
      const claims = objectIn(parts(text)[1])
      const missing = CLAIM_NAMES[kind].filter((name) => claims[name] === undefined)
      must(missing.length === 0, `the ${kind} statement lacks ${missing.join(", ")}`)
      return "all claims"
    }),
  ),
  check("P43", "statement-times", "times never run backwards within an exchange", async (probe) => {
    const { session } = await probe.begin()
    const { end, proof } = await probe.ask({ payload: probe.payload(session, { ...UNSERVED, ...STREAM }) }, session)
    const times = [session.begunAt, ...ORDERED.map((name) => end.receipt[name]), proof?.claims.iat ?? 0]
    must(
      times.every((time, index) => time >= (times[index - 1] ?? 0)),
      `they do: ${times.join(", ")}`,
    )
    return `${times.join(" ≤ ")}; that its clock is set back cannot be brought about from outside`
  }),
  check(
    "P41",
    "statements-agree",
    "receipt, proof, recording and revealed exchange prove one exchange together",
    async (probe) => {
      const answer = await probe.served({ ...STREAM, pace: 0 })
      const { end, frames, proof, receipt } = answer
      const keys = { keys: [...(await probe.trusted())].map(([kid, key]) => publicJwk(kid, key)) }
      await believing(
        verifyEvidence(
          { receipt, ...(proof === undefined ? {} : { proof: proof.statement }), exchange: end.evidence },
          { pins: keys.keys.map(({ kid }) => kid), keys },
        ),
      )
      return `${frames.length} frames, ${end.receipt.provider}`
    },
  ),
  check("P41", "proof-silent", "a proof does not say how the stream ended", async (probe) => {
    const proof = (await oneOfEach(probe)).find(({ kind }) => kind === "proof")
    const said = ["status", "finish_reasons", "usage", "provider", "model"].filter(
      (name) => objectIn(parts(proof?.text ?? "")[1])[name] !== undefined,
    )
    must(said.length === 0, `it has the claims ${said.join(", ")}`)
    return "it does not say so"
  }),
  check("P29", "response-nonce", "every answer has a response_nonce of its own", async (probe) => {
    const nonces = await Promise.all([1, 2, 3, 4].map(async () => (await probe.asking(UNSERVED)).nonce))
    must(new Set(nonces).size === nonces.length, "two answers have one response_nonce")
    return `${nonces.length} answers, ${nonces.length} nonces`
  }),
  check("P42", "receipt-of-failure", "the receipt of a failure names no provider if none was called", async (probe) => {
    const request_id = randomUUID()
    const answer = await probe.asking({ ...UNSERVED, request_id })
    const { jti, model, provider, usage } = answer.end.receipt
    must(provider === null && model === null, `it names ${String(provider)} and ${String(model)}`)
    must(usage === null, "it counts usage")
    must(jti === request_id, `its jti is ${String(jti)}`)
    return `${failedAs(answer, "such a request", "unsupported-api")}, by no provider`
  }),
  check("P42", "receipt-persisted", "a receipt says that the prompt was not kept", async (probe) => {
    const { prompt_persisted, software } = (await probe.asking(UNSERVED)).end.receipt
    must(prompt_persisted === false, `prompt_persisted is ${String(prompt_persisted)}`)
    return `by ${software}`
  }),
]
