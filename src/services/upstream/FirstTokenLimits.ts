/** Limits the time to a stream's first output by the target's recent calls, if another target can take over. */
import type { TargetName } from "../../domain/upstream/targets.ts"
import type { ApiRequest, Attempt, UpstreamRequest } from "../../domain/upstream/upstream.ts"
import { FirstTokenTimes } from "../routing/FirstTokenTimes.ts"
import type { ModelTarget } from "./Targets.ts"

/** The shortest limit in milliseconds, unless a shorter one is configured. */
export const LEAST_MS = 10_000

/** The factor between the longest recent time to first token and the limit. */
const MARGIN = 3

/** Prompt bytes that add a second to the limit: some 2,000 tokens, which slow servers read in that time. */
const BYTES_PER_SECOND = 8_000

/** Request members that ask a model to think before it answers. */
const THINKING = ["reasoning_effort", "reasoning", "thinking"]

export interface FirstTokenLimits {
  /** Returns the limit in milliseconds for a target that another one can replace; at most `most`. */
  readonly limit: (target: ModelTarget, most: number) => number
  readonly ended: (attempt: Attempt) => void
}

/** How long a server may take to read the prompt, in milliseconds. */
const readingMs = (request: UpstreamRequest | ApiRequest): number =>
  1_000 * Math.floor(bytesOf(request) / BYTES_PER_SECOND)

const bytesOf = (request: UpstreamRequest | ApiRequest): number => {
  if ("api" in request) return request.body.bytes.length
  let bytes = 0
  for (const { content } of request.completion.messages) if (typeof content === "string") bytes += content.length
  return bytes
}

const asksToThink = (request: UpstreamRequest | ApiRequest): boolean =>
  THINKING.some((name) => ("api" in request ? request.body.has(name) : request.completion[name] != null))

export const makeFirstTokenLimits = (): ((request: UpstreamRequest | ApiRequest) => FirstTokenLimits) => {
  const times = new FirstTokenTimes()

  return (request) => {
    const thinks = asksToThink(request)
    /** Calls that ask a model to think are measured separately. */
    const nameOf = (provider: Attempt["provider"], model: string): TargetName => ({
      provider,
      model: thinks ? `${model}#thinking` : model,
    })
    /** While no time is known: the minimum, doubled after each call without output until then. */
    const expected = (target: TargetName, most: number): number => {
      const longest = times.longest(target)
      if (longest !== undefined) return Math.max(MARGIN * longest, LEAST_MS)
      return thinks ? most : LEAST_MS * 2 ** times.count(target)
    }
    return {
      limit: ({ model, provider }, most) =>
        Math.min(expected(nameOf(provider.id, model), most) + readingMs(request), most),
      ended: ({ finishedAt, model, outcome, provider, timeToFirstTokenMs }) => {
        const name = nameOf(provider, model)
        if (timeToFirstTokenMs !== null) times.add(name, timeToFirstTokenMs, finishedAt)
        // If a target has answered before, a hanging call does not raise its limit.
        else if (outcome === "slow" && times.longest(name) === undefined) times.add(name, Infinity, finishedAt)
      },
    }
  }
}
