/**
 * What must be refused, and a little that must not be: each input breaks one rule of docs/protocol and is otherwise what an
 * honest end would have made of a published exchange. Made by the reference; the product is held against it.
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
