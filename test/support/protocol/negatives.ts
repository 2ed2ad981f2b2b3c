/**
 * Inputs that must be refused, and a few that must not be. Each breaks one rule of docs/protocol and is otherwise what an honest
 * client or proxy would send in a published exchange. The reference computes them; tests compare the product with them.
 */
import { makeAnswers } from "./negative/answers.ts"
import { makeBeginnings } from "./negative/beginnings.ts"
import { makeEvidence } from "./negative/evidence.ts"
import { makeOffers } from "./negative/offers.ts"
import { makeRequests } from "./negative/requests.ts"
import { OTHER } from "./negative/statements.ts"
import * as reference from "./reference.ts"
import { fromHex } from "./reference.ts"
import type { Vectors } from "./vectors.ts"

/** Everything that docs/protocol/negative.json holds. */
export const makeNegatives = async (vectors: Vectors) => {
  const identity = reference.identityFrom(fromHex(vectors.identity.seed))
  return {
    protocol: vectors.protocol,
    identities: {
      pinned: vectors.identity.jwk,
      other: OTHER.jwk,
    },
    offers: makeOffers(vectors, identity),
    answers: makeAnswers(vectors, identity),
    requests: [...makeBeginnings(vectors), ...(await makeRequests(vectors))],
    evidence: makeEvidence(vectors, identity),
  }
}

export type Negatives = Awaited<ReturnType<typeof makeNegatives>>
