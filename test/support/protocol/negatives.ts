/**
 * Inputs that must be refused, and a few that must not be. Each breaks one rule of docs/protocol and is otherwise what an honest
 * client or proxy would send in a published exchange. The reference computes them; tests compare the product with them.
 */
import { makeBeginnings } from "./negative/beginnings.ts"
import { makeEvidence } from "./negative/evidence.ts"
import { makeAnswers, makeOffers } from "./negative/lies.ts"
import { makeRequests } from "./negative/requests.ts"
import { fromHex, identityFrom } from "./reference.ts"
import type { Vectors } from "./vectors.ts"

/** Everything that docs/protocol/negative.json holds. */
export const makeNegatives = async (vectors: Vectors) => {
  const signers = {
    pinned: identityFrom(fromHex(vectors.identity.seed)),
    stranger: identityFrom(Buffer.alloc(32, 0x5a)),
  }
  return {
    protocol: vectors.protocol,
    identities: { pinned: vectors.identity.jwk, other: signers.stranger.jwk },
    offers: makeOffers(vectors, signers),
    answers: makeAnswers(vectors, signers),
    requests: [...makeBeginnings(vectors), ...(await makeRequests(vectors))],
    evidence: makeEvidence(vectors, signers),
  }
}

export type Negatives = Awaited<ReturnType<typeof makeNegatives>>
