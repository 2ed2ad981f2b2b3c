/** Proves the code behind a session's key before anything is sealed to it. */
import { encodeBase64Url } from "../../domain/bytes/bytes.ts"
import { EVIDENCE_NONCE_BYTES } from "../../domain/protocol/evidence.ts"
import { randomBytes } from "../crypto/primitives.ts"
import { EvidenceRefused, SealedProblem } from "../errors.ts"
import { longestSince, type ClockReading, readClocks } from "../sealed/clocks.ts"
import type { ClientSession } from "../sealed/session.ts"
import type { Transport } from "../transport/transport.ts"
import type { Policy, ProvenCode } from "./Policy.ts"

/** How long evidence counts at most, in milliseconds. */
const MAX_AGE_MS = 3_600_000
const NOT_FOUND = 404

interface Proof {
  readonly code: ProvenCode
  /** When its evidence was asked for. */
  readonly asked: ClockReading
}

/** For how many more milliseconds a proof counts. */
const remaining = ({ asked, code }: Proof): number =>
  Math.min(MAX_AGE_MS - longestSince(asked), code.validUntil * 1000 - Date.now())

export class CodeProver {
  private readonly policy: Policy
  private readonly transport: Transport
  private last: Proof | undefined

  constructor(policy: Policy, transport: Transport) {
    this.policy = policy
    this.transport = transport
  }

  /**
   * Returns the session with its proven code; it ends when the proof does. Asks for evidence unless the last one is for the
   * same key and configuration and has not expired. Rejects with `EvidenceRefused`.
   */
  async prove(session: ClientSession): Promise<ClientSession> {
    const { configuration, kid } = session
    if (configuration === undefined) {
      throw new EvidenceRefused("no-evidence", "The session's statement names no configuration.")
    }
    const isCurrent = (proof: Proof) =>
      proof.code.kid === kid && proof.code.configuration === configuration && remaining(proof) > 0
    if (this.last === undefined || !isCurrent(this.last)) this.last = await this.ask(kid, configuration)
    const until = Date.now() + remaining(this.last) + session.clockOffset
    return { ...session, code: this.last.code, usableUntil: Math.min(session.usableUntil, until) }
  }

  private async ask(kid: string, configuration: string): Promise<Proof> {
    const nonce = randomBytes(EVIDENCE_NONCE_BYTES)
    const asked = readClocks()
    const answer = await this.transport
      .postJson("/v1/evidence", JSON.stringify({ nonce: encodeBase64Url(nonce) }))
      .catch((error: unknown) => {
        if (error instanceof SealedProblem && error.problem.status === NOT_FOUND) {
          throw new EvidenceRefused("no-evidence", "The proxy has no evidence mode.")
        }
        throw error
      })
    const code = await this.policy.judge(answer, nonce)
    if (code.kid !== kid) {
      throw new EvidenceRefused("kid-differs", `The evidence is for the key ${code.kid}, the session for ${kid}.`)
    }
    if (code.configuration !== configuration) {
      throw new EvidenceRefused("configuration-differs", "Session and evidence have different configurations.")
    }
    const proof = { code, asked }
    if (remaining(proof) > 0) return proof
    throw new EvidenceRefused("evidence-expired", "The data that verified it has expired.")
  }
}
