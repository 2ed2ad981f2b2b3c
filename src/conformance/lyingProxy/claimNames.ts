/** Names of the claims in each kind of statement, read from statements of the lying proxy. */
import type { StatementKind } from "../../domain/protocol/statement.ts"
import { chatScript, sealAnswer } from "./answer.ts"
import { identityFrom } from "./Identity.ts"
import { offerClaims } from "./session.ts"
import { state } from "./statement.ts"

const zeros = (size: number) => Buffer.alloc(size)
const nobody = identityFrom(zeros(32))
const signers = { pinned: nobody, stranger: nobody }

const { proof, receipt } = sealAnswer({
  signers,
  opened: {
    sessionId: "",
    payloadBytes: zeros(0),
    credential: zeros(0),
    enc: zeros(32),
    secret: zeros(32),
    requestHash: zeros(32),
  },
  form: "stream",
  unpaced: true,
  script: chatScript("", []),
  random: zeros,
})
const limits = { lifetimeSeconds: 0, maxRequests: 0, maxRequestBytes: 0 }
const offer = offerClaims({ suite: "X25519", privateKey: zeros(32), id: zeros(16), body: "", now: 0, ...limits })

export const CLAIM_NAMES: Readonly<Record<StatementKind, ReadonlyArray<string>>> = {
  session: Object.keys(state(signers, "session", offer).claims),
  receipt: Object.keys(receipt.claims),
  proof: Object.keys(proof.claims),
}
