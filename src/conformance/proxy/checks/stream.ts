import type { ChatChunk } from "../../../domain/chat/chat.ts"
import { isObject, type JsonObject } from "../../../domain/json/json.ts"
import { cutChunk, mergeChunks } from "../../../domain/chat/mergeChunks.ts"
import { FLOOR, UNPACED_FLOOR } from "../../../domain/protocol/padding.ts"
import { type Check, check } from "../Check.ts"
import { must } from "../outcome.ts"
import { each, failedAs } from "../expect.ts"
import { type Probe, PROMPT, SUITE_NAMES, UNSERVED } from "../Probe.ts"
import type { OpenedAnswer } from "../OpenedAnswer.ts"

const streamedOf = (content: string) => ({ body: { messages: [{ role: "user", content }], stream: true } })
const STREAMED = streamedOf(PROMPT)
/** Fills several blocks, if the model does as asked. The second word alone is longer than a block. */
const LONG_TEXT = ["Otters", "zzz".repeat(500), ...Array.from({ length: 120 }, (_, index) => `otter${index}`)].join(" ")
/** Each text begins differently, so that no provider answers from its cache. */
const longOf = (number: number) =>
  streamedOf(`${number}. Repeat the following text, and say nothing else: ${LONG_TEXT}`)
/** A pace slow enough for networks with delays. */
const SLOW_MS = 1000
/** Two ticks at the slowest pace, in milliseconds. */
const LATE_MS = 2000
/** Tolerance for the difference between two clocks. */
const CLOCK_MS = 2
/** The longest time from the final frame to the proof, in ticks. */
const AT_ONCE = 0.5

const deltasOf = (data: JsonObject | null): ReadonlyArray<ChatChunk> => {
  const deltas = data?.["deltas"]
  must(Array.isArray(deltas) && deltas.every(isObject), "a data frame has no array of deltas")
  // Checks validate the members that they use.
  return deltas as unknown as ReadonlyArray<ChatChunk>
}

/** Arrival of each frame, in milliseconds after the request. Ticks count from the opening, which is later. */
const timesOf = ({ frames, received }: OpenedAnswer): ReadonlyArray<number> =>
  frames.map(({ at }) => Math.round(at - received.sentAt))

/** Whether the chunk has a text that can be sent in several chunks. */
const isCuttable = (chunk: ChatChunk): boolean => cutChunk(chunk, FLOOR / 4).length > 1

const failingStream = (probe: Probe, pace: unknown) => probe.asking({ ...UNSERVED, ...STREAMED, pace })

/** Late answers after which a check fails: a busy machine delays few. */
const MAX_LATE = 3

/** Returns the first answer if it is in time. If it is late, two must be in time before `MAX_LATE` are late. */
const inTime = async (
  ask: (number: number) => Promise<OpenedAnswer>,
  lateness: (answer: OpenedAnswer) => string | undefined,
): Promise<OpenedAnswer> => {
  let [timely, late] = [0, 0]
  for (let number = 0; ; number++) {
    const answer = await ask(number)
    const why = lateness(answer)
    if (why === undefined) timely++
    else must(++late < MAX_LATE, why)
    if (timely === 2 || (timely === 1 && late === 0)) return answer
  }
}

/** Checks that no frame of a stream precedes its tick of `ms`. */
const mustNotPrecede = (answer: OpenedAnswer, ms: number): OpenedAnswer => {
  for (const [index, time] of timesOf(answer).entries()) {
    must(
      time >= (index + 1) * ms - CLOCK_MS,
      `frame ${index} comes ${time} ms after its request was sent, before tick ${index + 1} of ${ms} ms`,
    )
  }
  must(answer.frames.length >= 2, "there is no data frame")
  return answer
}

/**
 * Error message if frames skip ticks of `ms`. No frame comes before its tick, so each skipped tick delays the last
 * frame.
 */
const emptyTicks = (answer: OpenedAnswer, ms: number): string | undefined => {
  const times = timesOf(answer)
  const [took, frames] = [times.at(-1) ?? 0, times.length]
  return took < (frames + 1) * ms - CLOCK_MS
    ? undefined
    : `${frames} frames take ${took} ms after the request: ticks of ${ms} ms pass without a frame`
}

const timesText = (answer: OpenedAnswer): string => `frames after ${timesOf(answer).join(" and ")} ms`

export const streamChecks: ReadonlyArray<Check> = [
  ...SUITE_NAMES.map((suite) =>
    check(
      "P33",
      `stream-${suite.toLowerCase()}`,
      `a stream under ${suite} opens and verifies, up to its proof`,
      async (probe) => {
        const { data, end, form } = await probe.served(STREAMED, suite)
        must(form === "stream", `it has the form ${form}`)
        return `${data.length} data frames, served by ${end.receipt.provider}`
      },
    ),
  ),
  check(
    "P33",
    "stream-failed",
    "a request that fails is answered with a stream, if one was asked for",
    async (probe) => {
      const answer = await failingStream(probe, 0)
      must(answer.form === "stream", `it has the form ${answer.form}`)
      return failedAs(answer, "such a request", "unsupported-api")
    },
  ),
  check(
    "P33",
    "stream-deltas",
    "data frames hold chunks of a chat completion, and no padding of a provider's",
    async (probe) => {
      const { data } = await probe.served(STREAMED)
      const chunks = data.flatMap(deltasOf)
      must(
        chunks.every(({ choices }) => Array.isArray(choices)),
        "a chunk has no choices",
      )
      must(
        chunks.every((chunk) => chunk["obfuscation"] === undefined),
        "a chunk has the member obfuscation",
      )
      return `${chunks.length} chunks`
    },
  ),
  check("P36", "stream-merged", "consecutive chunks of a frame are merged if nothing is lost", async (probe) => {
    const { data } = await probe.served({ ...STREAMED, pace: 500 })
    for (const frame of data) {
      const chunks = deltasOf(frame)
      for (const [index, chunk] of chunks.slice(1).entries()) {
        const before = chunks[index]
        must(
          before === undefined || mergeChunks(before, chunk) === undefined,
          "two chunks of one frame differ in one text alone",
        )
      }
    }
    const most = Math.max(...data.map((frame) => deltasOf(frame).length))
    return `at most ${most} chunks in a frame, none of which could be merged`
  }),
  check("P25", "stream-no-restart", "no restart is sent where the request forbids it", async (probe) => {
    const { data } = await probe.asking({ ...STREAMED, restart: false })
    must(
      data.every((frame) => frame?.["restart"] === undefined),
      "a frame begins again",
    )
    return `none in ${data.length} data frames; the kit cannot make a provider fail midway`
  }),
  check(
    "P34",
    "pace-ticks",
    `frames come at the ticks of the clock that was asked for, here of ${SLOW_MS} ms`,
    async (probe) => {
      const ask = async () => mustNotPrecede(await failingStream(probe, SLOW_MS), SLOW_MS)
      return timesText(await inTime(ask, (answer) => emptyTicks(answer, SLOW_MS)))
    },
  ),
  check(
    "P34",
    "pace-served",
    "a long answer has a frame at every tick, and its proof follows the final frame at once",
    async (probe) => {
      const ask = async (number: number) =>
        mustNotPrecede(await probe.served({ ...longOf(number), pace: SLOW_MS }), SLOW_MS)
      const lateProof = ({ frames, received }: OpenedAnswer) => {
        const [last, end] = [frames.at(-1)?.at ?? 0, received.pieces.at(-1)?.at ?? 0]
        return end - last < SLOW_MS * AT_ONCE
          ? undefined
          : `the proof comes ${Math.round(end - last)} ms behind the final frame`
      }
      return timesText(await inTime(ask, (answer) => lateProof(answer) ?? emptyTicks(answer, SLOW_MS)))
    },
  ),
  check("P26", "pace-default", "a pace that is missing, or none, is 100", (probe) =>
    each([undefined, null, "20", 19, 1001, -1, 50.5, true, 5], async (pace) => {
      const ask = async () => {
        const answer = await failingStream(probe, pace)
        must(
          answer.frames.every(({ block }) => block.length >= FLOOR),
          "a frame is smaller than that of a paced stream",
        )
        const [first = 0] = timesOf(answer)
        must(first >= 100 - CLOCK_MS, `with the pace ${String(pace)} the first frame comes after ${first} ms`)
        return answer
      }
      await inTime(ask, (answer) => {
        const last = timesOf(answer).at(-1) ?? 0
        return last < LATE_MS ? undefined : `with the pace ${String(pace)} the last frame comes after ${last} ms`
      })
      return "about 100 ms"
    }),
  ),
  check(
    "P35",
    "blocks-paced",
    "blocks of a paced stream have 1024 bytes, however long the texts in it",
    async (probe) => {
      const { data, frames } = await probe.served({ ...longOf(MAX_LATE + 2), pace: 100 })
      for (const [index, frame] of data.entries()) {
        const size = frames[index]?.block.length
        if (size === FLOOR) continue
        const [chunk, ...more] = deltasOf(frame)
        must(
          chunk !== undefined && more.length === 0 && !isCuttable(chunk),
          `data frame ${index} has a block of ${size} bytes, and holds more than one chunk without text`,
        )
      }
      return `${data.length} data frames`
    },
  ),
  check("P37", "blocks-unpaced", "blocks of an unpaced stream have at least 512 bytes", async (probe) => {
    const { frames } = await probe.served({ ...STREAMED, pace: 0 })
    const least = Math.min(...frames.map(({ block }) => block.length))
    must(least >= UNPACED_FLOOR, `a block has ${least} bytes`)
    return `the smallest of ${frames.length} blocks has ${least} bytes`
  }),
  check(
    "P31",
    "stream-same-shape",
    "a failure's stream looks like a short answer's: one data frame, the end record, the proof",
    async (probe) => {
      const { frames } = await failingStream(probe, 20)
      const sizes = frames.map(({ block }) => block.length)
      must(
        sizes.slice(0, -1).every((size) => size === FLOOR),
        `its data frames have blocks of ${sizes.slice(0, -1).join(", ")} bytes`,
      )
      must(sizes.length >= 2, "it has no data frame")
      return `blocks of ${sizes.join(" and ")} bytes`
    },
  ),
]
