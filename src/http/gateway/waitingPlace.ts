import { Effect } from "effect"
import { ConcurrencyLimits } from "../../services/access/ConcurrencyLimits.ts"
import { tooMany } from "../shared/ClientLimits.ts"
import { GatewayLimits } from "./GatewayLimits.ts"

/** Returns a function that counts a waiting request against its tenant's limit until the scope closes. */
export const makeWaitingPlace = Effect.gen(function* () {
  const concurrency = yield* ConcurrencyLimits
  const { waiting } = yield* GatewayLimits
  return (tenant: string) =>
    Effect.mapError(concurrency.enter(`waiting:${tenant}`, waiting), (error) =>
      tooMany(error, `At most ${error.limit} long polls and event streams of one tenant may be open.`),
    )
})
