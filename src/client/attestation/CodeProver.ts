/** Proves the code behind a session's key before anything is sealed to it. */
import { encodeBase64Url } from "../../domain/bytes/bytes.ts"
import { EVIDENCE_NONCE_BYTES } from "../../domain/protocol/evidence.ts"
import { randomBytes } from "../crypto/primitives.ts"
import { EvidenceRefused, SealedProblem } from "../errors.ts"
import type { ClientSession } from "../sealed/session.ts"
import type { Transport } from "../transport/transport.ts"
import type { Policy, ProvenCode } from "./Policy.ts"

/** How long evidence counts at most, in milliseconds. */
const MAX_AGE_MS = 3_600_000
const NOT_FOUND = 404

interface Proof {
  readonly code: ProvenCode
  /** Milliseconds since the epoch, on this machine's clock. */
  readonly until: number
}

export class CodeProver {
  private readonly policy: Policy
  private readonly transport: Transport
  private last: Proof | undefined

  constructor(policy: Policy, transport: Transport) {
    this.policy = policy
    this.transport = transport
  }

  /**
   * Returns the session with its proven code; it ends when the proof does. Asks for evidence unless the last one is of the same
   * key and configuration, and still counts. Rejects with `EvidenceRefused` if evidence is missing, stale or wrong.
   */
  async prove(session: ClientSession): Promise<ClientSession> {
    const { configuration, kid } = session
    if (configuration === undefined) {
      throw new EvidenceRefused("no-evidence", "The session's statement names no configuration.")
    }
    const isCurrent = ({ code, until }: Proof) =>
      code.kid === kid && code.configuration === configuration && Date.now() < until
    if (this.last === undefined || !isCurrent(this.last)) this.last = await this.ask(kid, configuration)
    const { code, until } = this.last
    return { ...session, code, usableUntil: Math.min(session.usableUntil, until + session.clockOffset) }
  }

  private async ask(kid: string, configuration: string): Promise<Proof> {
    const nonce = randomBytes(EVIDENCE_NONCE_BYTES)
    const asked = Date.now()
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
      throw new EvidenceRefused("kid-differs", `It is of the key ${code.kid}, but the session is of ${kid}.`)
    }
    if (code.configuration !== configuration) {
      throw new EvidenceRefused("configuration-differs", "The session is of another configuration than the evidence.")
    }
    const until = Math.min(asked + MAX_AGE_MS, code.validUntil * 1000)
    if (until > Date.now()) return { code, until }
    throw new EvidenceRefused("evidence-expired", "What it was verified with has expired meanwhile.")
  }
}
