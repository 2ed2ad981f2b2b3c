import { Duration } from "effect"
import type { ConnectionLimits } from "../../src/server/connections/ConnectionLimits.ts"

/** Limits too high for tests to reach by accident. */
export const NO_LIMITS: ConnectionLimits = {
  maxConnections: 1000,
  maxConnectionsPerClient: 1000,
  trustedProxies: [],
  writeTimeout: Duration.minutes(1),
  writeMinRate: 1,
  maxAnswerMemory: Number.MAX_SAFE_INTEGER,
}
