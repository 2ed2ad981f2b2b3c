/** Ledger rows for tests. */
import { SecureRandom } from "effect/crypto"
import type { CallRecord } from "../../../src/services/routing/CallRecord.ts"

export const callRecord = (members: Partial<CallRecord>): CallRecord => {
  const id = SecureRandom.uuidV7Unsafe()
  return {
    id,
    at: 0,
    requestId: id,
    first: true,
    tenant: "acme",
    job: null,
    agent: null,
    key: null,
    labels: {},
    mode: null,
    strategy: "cost",
    role: "proposer",
    provider: "provider1",
    model: "small",
    servedModel: null,
    tokens: { input: 10, output: 5, cached: 0 },
    priceVersion: "test",
    cost: 1,
    charged: { tokens: 15, cost: 1 },
    estimated: false,
    ownKey: false,
    baseline: 2,
    latency: 100,
    ttft: null,
    outcome: "success",
    ...members,
  }
}
