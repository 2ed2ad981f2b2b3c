/** `npm run bench`: every benchmark, each beside a peer or a floor in the same run. */
import { Effect } from "effect"
import { benchHttp } from "./http.ts"
import { benchSealing } from "./sealing.ts"

await Effect.runPromise(Effect.andThen(benchSealing, benchHttp))
