import { AnswerIncomplete, type SealgateError, SealedProblem, Tampered, Unreachable } from "../../client/errors.ts"
import type { StreamEnd } from "../../client/sealed/SealedStream.ts"
import { Option, Schema } from "effect"
import { Usage } from "../../domain/chat/chat.ts"
import type { Problem } from "../../domain/problems/problem.ts"
import { ProviderId } from "../../domain/upstream/upstream.ts"
import { costOf, tokensOf } from "../../domain/routing/money.ts"
import { shippedPrice } from "../../services/routing/Prices.ts"
import { usd } from "../../domain/routing/dollars.ts"
import { printableLine } from "../printable.ts"
import { tokensText } from "../tokensText.ts"

const UNAUTHORIZED = 401
const NOT_FOUND = 404
/** The answer of a proxy without evidence mode, which has status 404. */
const NO_EVIDENCE = "no-evidence"
const NOT_OFFERED: ReadonlySet<string> = new Set(["provider-not-configured", "unknown-model"])

/** Codes of failures that the proxy logs: its own and its providers'. */
const LOGGED = /^(internal|upstream-.*)$/

/** Says under which trace the proxy's log explains a failure; empty if the log does not. Of repeated failures it has the first. */
export const logHint = (problem: Problem | undefined): string =>
  problem?.trace_id === undefined || !LOGGED.test(problem.code)
    ? ""
    : `The proxy's log says why, for this trace or an earlier one: ${printableLine(problem.trace_id)}`

const hintOn = (error: SealgateError): string => {
  if (error instanceof Unreachable) return "Check --proxy or SEALGATE_PROXY; `sealgate doctor` finds out more."
  if (error instanceof SealedProblem) return hintOnProblem(error)
  if (error instanceof AnswerIncomplete) return logHint(error.problem)
  return error instanceof Tampered && !error.mayHaveBeenServed
    ? "Is this a sealed proxy? `sealgate doctor` finds out what answers there."
    : ""
}

const hintOnProblem = ({ problem, sealed }: SealedProblem): string => {
  if (NOT_OFFERED.has(problem.code)) return "`sealgate models` lists the providers and models."
  if (problem.status === NOT_FOUND && problem.code !== NO_EVIDENCE) {
    return "Is this a sealed proxy? `sealgate proxy` listens on port 3001, the gateway on 3000."
  }
  // The proxy refuses callers only under the seal.
  if (sealed && problem.status === UNAUTHORIZED) {
    return "The proxy serves known callers only: put the key or token from its operator into SEALGATE_CREDENTIAL, or into a file for --credential-file."
  }
  // Outside the seal, anybody on the path may have chosen the trace.
  return sealed ? logHint(problem) : ""
}

export const explained = (error: SealgateError): string => {
  const hint = hintOn(error)
  return hint === "" ? printableLine(error.message) : `${printableLine(error.message)}\n${hint}`
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

export const STARTS_OVER = "\n(the provider failed midway; another one starts over)\n"

/** Returns one line: what was verified, and which model answered. */
export const summary = ({ receipt }: StreamEnd): string => {
  const tokens = receipt.usage === null ? "" : ` · ${tokensText(receipt.usage)}`
  return printableLine(
    `✓ receipt and proof verified · ${receipt.provider}/${receipt.model}${tokens}${costText(receipt)} · ${receipt.jti}`,
  )
}
