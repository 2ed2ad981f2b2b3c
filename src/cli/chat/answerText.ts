/** Formats answers and errors of `chat`. */
import { AnswerIncomplete, type SealgateError, SealedProblem, Tampered, Unreachable } from "../../client/errors.ts"
import type { StreamEnd } from "../../client/sealed/SealedStream.ts"
import { Option, Schema } from "effect"
import { Usage } from "../../domain/chat/chat.ts"
import { ProviderId } from "../../domain/upstream/upstream.ts"
import { costOf, tokensOf } from "../../domain/routing/money.ts"
import { shippedPrice } from "../../services/routing/Prices.ts"
import { usd } from "../../domain/routing/dollars.ts"
import { printableLine } from "../printable.ts"
import { tokensText } from "../tokensText.ts"

const UNAUTHORIZED = 401
const NOT_FOUND = 404

/** Names the trace in the proxy's log, if the proxy sent it under the seal. */
const traceOf = (error: SealgateError): string => {
  const problem =
    error instanceof AnswerIncomplete || (error instanceof SealedProblem && error.sealed) ? error.problem : undefined
  return problem?.trace_id === undefined ? "" : `\nIn the proxy's log: trace ${printableLine(problem.trace_id)}`
}

/** Returns the error message with a hint and the trace. */
export const explained = (error: SealgateError): string => {
  const hint =
    error instanceof Unreachable
      ? "\nCheck --proxy or SEALGATE_PROXY; `sealgate doctor` finds out more."
      : error instanceof SealedProblem && error.problem.status === NOT_FOUND
        ? "\nIs this a sealed proxy? `sealgate proxy` listens on port 3001, the gateway on 3000."
        : error instanceof SealedProblem && error.problem.status === UNAUTHORIZED
          ? "\nThe proxy serves known callers only: put the key or token from its operator into SEALGATE_CREDENTIAL, or into a file for --credential-file."
          : error instanceof Tampered && !error.mayHaveBeenServed
            ? "\nIs this a sealed proxy? `sealgate doctor` finds out what answers there."
            : ""
  return printableLine(error.message) + hint + traceOf(error)
}

/** Returns the cost by the shipped list prices; empty if the model has none. */
const costText = ({ completed_at, model, provider, usage }: StreamEnd["receipt"]): string => {
  const decoded = decodeUsage(usage)
  if (!isProvider(provider) || model === null || Option.isNone(decoded)) return ""
  const quote = shippedPrice({ provider, model }, completed_at * 1000)
  const cost = costOf(quote?.prices ?? null, tokensOf(decoded.value))
  if (cost === null) return ""
  return cost === 0 ? " · free" : ` · about ${usd(cost)}`
}

const isProvider = Schema.is(ProviderId)
const decodeUsage = Schema.decodeUnknownOption(Usage)

/** Shown when another provider begins the answer anew. */
export const STARTS_OVER = "\n(the provider failed midway; another one starts over)\n"

/** Returns one line: what was verified, and which model answered. */
export const summary = ({ receipt }: StreamEnd): string => {
  const tokens = receipt.usage === null ? "" : ` · ${tokensText(receipt.usage)}`
  return printableLine(
    `✓ receipt and proof verified · ${receipt.provider}/${receipt.model}${tokens}${costText(receipt)} · ${receipt.jti}`,
  )
}
