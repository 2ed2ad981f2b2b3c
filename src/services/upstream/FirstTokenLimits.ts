/**
 * How long the first output of a stream may take: of a target that another one can stand in for, as long as its recent
 * calls suggest. A target that hangs is left after some 10 s, and a model that thinks in silence is not cut off.
 */
import type { TargetName } from "../../domain/upstream/targets.ts"
import type { ApiRequest, Attempt, UpstreamRequest } from "../../domain/upstream/upstream.ts"
import { FirstTokenTimes } from "../routing/FirstTokenTimes.ts"
import type { Target } from "./Targets.ts"

/** The shortest limit in milliseconds, unless a shorter one is configured. */
export const LEAST_MS = 10_000

/** A limit is this many times the longest recent time to first token. */
const MARGIN = 3

/** Bytes of a prompt that add a second to its limit: some 2,000 tokens, which slow servers read in that time. */
const BYTES_PER_SECOND = 8_000

/** The members with which requests ask a model to think before it answers. */
const THINKING = ["reasoning_effort", "reasoning", "thinking"]

type Request = UpstreamRequest | ApiRequest

/** The limits of one request. */
export interface FirstTokenLimits {
  /** The limit in milliseconds for a target that another one can stand in for; at most `most`. */
  readonly limit: (target: Target, most: number) => number
  /** Notes how a call ended. */
  readonly ended: (attempt: Attempt) => void
}

/** How long a server may take to read the prompt, in milliseconds. */
const readingMs = (request: Request): number => 1_000 * Math.floor(bytesOf(request) / BYTES_PER_SECOND)

const bytesOf = (request: Request): number => {
  if ("api" in request) return request.body.bytes.length
  let bytes = 0
  for (const { content } of request.completion.messages) if (typeof content === "string") bytes += content.length
  return bytes
}

const asksToThink = (request: Request): boolean =>
  THINKING.some((name) => ("api" in request ? request.body.has(name) : request.completion[name] != null))

/** Makes the limits of requests, from the times that their calls took. */
export const makeFirstTokenLimits = (): ((request: Request) => FirstTokenLimits) => {
  const times = new FirstTokenTimes()

  return (request) => {
    const thinks = asksToThink(request)
    /** Calls that ask a model to think are measured apart. */
    const nameOf = (provider: Attempt["provider"], model: string): TargetName => ({
      provider,
      model: thinks ? `${model}#thinking` : model,
    })
    /** Without any time so far, the least, and twice as long after each call that had no output by then. */
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
        // A target that answered before gets no more time for hanging.
        else if (outcome === "slow" && times.longest(name) === undefined) times.add(name, Infinity, finishedAt)
      },
    }
  }
}
