import { Clock, Console, Effect } from "effect"
import type { GatewayClient } from "../../../client/gateway/GatewayClient.ts"
import type { GatewayKey } from "../../../client/gateway/GatewayKeys.ts"
import { printableJson } from "../../printable.ts"
import { ask } from "../remote.ts"
import { keyText } from "./keyText.ts"

/** Prints a key as JSON, or for people with what is spent of its budgets. */
export const printKey = Effect.fnUntraced(function* (gateway: GatewayClient, key: GatewayKey, json: boolean) {
  if (json) return yield* Console.log(printableJson(key))
  const uses = yield* ask((signal) => gateway.budgets.get({ key: key.id, signal }))
  yield* Console.log(keyText(key, uses, yield* Clock.currentTimeMillis))
})
