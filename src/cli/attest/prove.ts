/** Gets evidence from a proxy or a file, and verifies it. */
import { Clock, Effect } from "effect"
import { type Collateral, decodeCollateral } from "../../attestation/collateral.ts"
import { decodeEvidence } from "../../attestation/evidence.ts"
import { EvidenceFailure } from "../../attestation/failure.ts"
import type { EvidencePolicy } from "../../attestation/policy.ts"
import type { KeptEvidence } from "../../client/attestation/Policy.ts"
import { type JudgeOptions, policyOf } from "../../client/attestation/readPolicy.ts"
import { randomBytes } from "../../client/crypto/primitives.ts"
import { EvidenceRefused, SealgateError } from "../../client/errors.ts"
import { Transport } from "../../client/transport/transport.ts"
import { integer, objectMember, parseObject, bytes } from "../../client/verification/decode.ts"
import { type Bytes, encodeBase64Url } from "../../domain/bytes/bytes.ts"
import type { JsonObject } from "../../domain/json/json.ts"
import { EVIDENCE_NONCE_BYTES } from "../../domain/protocol/evidence.ts"
import { CommandFailed, unusable } from "../CommandFailed.ts"
import { explained } from "../chat/answerText.ts"
import { Judging } from "./Judging.ts"
import { type Names, shownRules } from "./shownRules.ts"

interface AnsweredNonce {
  readonly answer: JsonObject
  readonly nonce: Bytes
}

interface KeptAnswer extends AnsweredNonce, Pick<KeptEvidence, "verified_at"> {
  readonly collateral: Collateral
}

/** Errors of the client and the verifiers, in one. Throws any other, which is a bug. */
const refusal = (error: unknown): SealgateError => {
  if (error instanceof EvidenceFailure) return new EvidenceRefused(error.code, error.message)
  if (error instanceof SealgateError) return error
  throw error
}

const failed = (error: unknown): CommandFailed => new CommandFailed({ message: explained(refusal(error)), exitCode: 1 })

export const askAt = (proxy: URL) =>
  Effect.tryPromise({
    try: async (): Promise<AnsweredNonce> => {
      const nonce = randomBytes(EVIDENCE_NONCE_BYTES)
      const body = JSON.stringify({ nonce: encodeBase64Url(nonce) })
      return { answer: await new Transport(proxy, undefined).postJson("/v1/evidence", body), nonce }
    },
    catch: failed,
  })

export const rulesOf = ({ answer }: AnsweredNonce, names: Names, expires: number) =>
  Effect.try({ try: () => shownRules(decodeEvidence(answer), names, expires), catch: failed })

const judged = ({ answer, nonce }: AnsweredNonce, rules: EvidencePolicy, options: JudgeOptions) =>
  Effect.tryPromise({ try: () => policyOf(rules, options).judge(answer, nonce), catch: failed })

/** Returns the code that the evidence proves. Fails with exit code 1 if the evidence is refused. */
export const prove = (asked: AnsweredNonce, rules: EvidencePolicy) =>
  Effect.flatMap(Judging, (judging) => judged(asked, rules, judging))

export const proveKept = (kept: KeptAnswer, rules: EvidencePolicy) =>
  Effect.flatMap(Judging, (judging) =>
    judged(kept, rules, {
      ...judging,
      collateral: { collateralFor: () => Promise.resolve(kept.collateral) },
      now: () => kept.verified_at,
    }),
  )

/** Reads a file that the connector kept, or `attest show --json` printed. */
export const readKept = (text: string, path: string) =>
  Effect.try({
    try: (): KeptAnswer => {
      const kept = parseObject(text, path)
      return {
        answer: objectMember(kept, "answer"),
        collateral: decodeCollateral(objectMember(kept, "collateral")),
        nonce: bytes(kept, "nonce", EVIDENCE_NONCE_BYTES),
        verified_at: integer(kept, "verified_at"),
      }
    },
    catch: (error) => unusable(`${path} holds no kept evidence of code: ${refusal(error).message}`),
  })

export const secondsNow = Effect.map(Clock.currentTimeMillis, (now) => Math.floor(now / 1000))
