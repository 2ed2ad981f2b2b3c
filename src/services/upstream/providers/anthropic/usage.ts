/** Usage of the Messages API. */
import { Option, Schema } from "effect"
import type { Usage } from "../../../../domain/chat/chat.ts"
import { plausibleUsage } from "../shared/plausibleUsage.ts"
import * as Wire from "./Wire.ts"

const decodeUsage = Schema.decodeUnknownOption(Wire.Usage)

const COUNTS = [
  "input_tokens",
  "output_tokens",
  "cache_creation_input_tokens",
  "cache_read_input_tokens",
] as const satisfies ReadonlyArray<keyof Wire.Usage>

const decodeCreation = Schema.decodeUnknownOption(Wire.CacheCreation)

const writtenForHour = ({ cache_creation }: Wire.Usage): number =>
  Option.match(decodeCreation(cache_creation), {
    onNone: () => 0,
    onSome: ({ ephemeral_1h_input_tokens }) => ephemeral_1h_input_tokens,
  })

/** `written_for_hour` is absent if nothing was written for an hour. */
export interface Counts extends Wire.Usage {
  readonly written_for_hour?: number
}

/**
 * The counts in `value`. Compactions and advisors are counted only in `iterations`, so their sum is used if it is
 * larger.
 */
export const countsOf = (value: unknown): Counts | undefined => {
  const usage = Option.getOrUndefined(decodeUsage(value))
  if (usage === undefined) return undefined
  const iterations = Array.isArray(usage.iterations) ? usage.iterations : []
  const each = iterations.flatMap((iteration) => Option.toArray(decodeUsage(iteration)))
  const sums = COUNTS.map((name) => {
    const sum = each.reduce((total, counts) => total + (counts[name] ?? 0), 0)
    return [name, sum > (usage[name] ?? 0) ? sum : usage[name]] as const
  })
  const sumForHour = each.reduce((total, counts) => total + writtenForHour(counts), 0)
  const forHour = Math.max(sumForHour, writtenForHour(usage))
  return { ...usage, ...Object.fromEntries(sums), ...(forHour > 0 && { written_for_hour: forHour }) }
}

/** The counts at the beginning of a stream, where `output_tokens` is always 1. */
export const firstCountsOf = (value: unknown): Counts | undefined => {
  const counts = countsOf(value)
  return counts && { ...counts, output_tokens: 0 }
}

/** `input_tokens` does not include tokens that the prompt cache read or wrote; `prompt_tokens` includes them. */
export const usageOf = (wire: Counts | undefined): Usage | undefined => {
  if (wire?.output_tokens == null) return undefined
  const read = wire.cache_read_input_tokens ?? 0
  const written = wire.cache_creation_input_tokens ?? 0
  const prompt = (wire.input_tokens ?? 0) + read + written
  const reasoning = wire.output_tokens_details?.thinking_tokens
  return plausibleUsage({
    prompt_tokens: prompt,
    completion_tokens: wire.output_tokens,
    total_tokens: prompt + wire.output_tokens,
    prompt_tokens_details: {
      cached_tokens: read,
      cache_write_tokens: written,
      ...(wire.written_for_hour !== undefined && { cache_write_1h_tokens: wire.written_for_hour }),
    },
    ...(reasoning == null ? {} : { completion_tokens_details: { reasoning_tokens: reasoning } }),
  })
}

/** The counts of `later`, which are cumulative, completed with those of `earlier`. */
export const mergeUsage = (earlier: Counts | undefined, later: Counts): Counts => {
  const merged = { ...earlier }
  for (const [name, count] of Object.entries(later)) if (count != null) Object.assign(merged, { [name]: count })
  return merged
}
