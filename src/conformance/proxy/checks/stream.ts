/** Streams, and their pace. */
import type { ChatChunk } from "../../../domain/chat/chat.ts"
import { isObject, type JsonObject } from "../../../domain/json/json.ts"
import { mergeChunks } from "../../../domain/chat/mergeChunks.ts"
import { FLOOR, UNPACED_FLOOR } from "../../../domain/protocol/padding.ts"
import { type Check, check } from "../Check.ts"
import { must, skip } from "../outcome.ts"
import { each, failedAs } from "../expect.ts"
import { type Probe, PROMPT, SUITE_NAMES, UNSERVED } from "../Probe.ts"
import type { SealedAnswer } from "../SealedAnswer.ts"

const STREAMED = { body: { messages: [{ role: "user", content: PROMPT }], stream: true } }
/** Slow enough for networks that hold things up now and then. */
const SLOW_MS = 1000
/** What two ticks of more than a second would take. */
const LATE_MS = 2000
/** How much less than a tick a clock may seem to have gone on. */
const CLOCK_MS = 2
/** How long after the final frame its proof may come, as a part of a tick. */
const AT_ONCE = 0.5
/** How many ticks a failure may take longer than its frames. */
const SPARE_TICKS = 1

const deltasOf = (data: JsonObject | null): ReadonlyArray<ChatChunk> => {
  const deltas = data?.["deltas"]
  must(Array.isArray(deltas) && deltas.every(isObject), "a data frame has no array of deltas")
  // What a client of this API takes it for, member by member, when it is looked at.
  return deltas as unknown as ReadonlyArray<ChatChunk>
}

/**
 * Times of arrival after the request was sent, in milliseconds. The opening, from which ticks count, is later; the event
 * `open` itself may have been held up on its way.
 */
const timesOf = ({ frames, received }: SealedAnswer): ReadonlyArray<number> =>
  frames.map(({ at }) => Math.round(at - received.sentAt))

const failingStream = (probe: Probe, pace: unknown) => probe.asking({ ...UNSERVED, ...STREAMED, pace })

/** Says that a stream of a failure came at ticks of `ms`: one data frame at a tick, and the final one at a later tick. */
const mustTick = (answer: SealedAnswer, ms: number): string => {
  const times = timesOf(answer)
  for (const [index, time] of times.entries()) {
    must(
      time >= (index + 1) * ms - CLOCK_MS,
      `frame ${index} comes ${time} ms after its request was sent, before tick ${index + 1} of ${ms} ms`,
    )
  }
  must(answer.frames.length >= 2, "there is no data frame")
  return `frames after ${times.join(" and ")} ms`
}

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
  check(
    "P36",
    "stream-merged",
    "chunks that follow each other in a frame are merged where nothing is lost by it",
    async (probe) => {
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
    },
  ),
  check("P25", "stream-no-restart", "no restart is sent where the request forbids it", async (probe) => {
    const { data } = await probe.asking({ ...STREAMED, restart: false })
    must(
      data.every((frame) => frame?.["restart"] === undefined),
      "a frame begins again",
    )
    return `none in ${data.length} data frames; that a provider fails midway cannot be brought about from outside`
  }),
  check(
    "P34",
    "pace-ticks",
    `frames come at the ticks of the clock that was asked for, here of ${SLOW_MS} ms`,
    async (probe) => {
      const answer = await failingStream(probe, SLOW_MS)
      const seen = mustTick(answer, SLOW_MS)
      const [took, most] = [timesOf(answer).at(-1) ?? 0, (answer.frames.length + SPARE_TICKS) * SLOW_MS]
      must(took < most, `${answer.frames.length} frames take ${took} ms: ticks pass without a frame`)
      return seen
    },
  ),
  check(
    "P34",
    "pace-served",
    "an answer comes at the ticks of the clock, too, and its proof at once behind its final frame",
    async (probe) => {
      const answer = await probe.served({ ...STREAMED, pace: SLOW_MS })
      const { received } = answer
      const [last, end] = [answer.frames.at(-1)?.at ?? 0, received.pieces.at(-1)?.at ?? 0]
      must(end - last < SLOW_MS * AT_ONCE, `the proof comes ${Math.round(end - last)} ms behind the final frame`)
      return mustTick(answer, SLOW_MS)
    },
  ),
  check("P26", "pace-default", "a pace that is missing, or none, is 100", (probe) =>
    each([undefined, null, "20", 19, 1001, -1, 50.5, true, 5], async (pace) => {
      const answer = await failingStream(probe, pace)
      must(
        answer.frames.every(({ block }) => block.length >= FLOOR),
        "a frame is smaller than that of a paced stream",
      )
      const [first = 0, ...more] = timesOf(answer)
      must(first >= 100 - CLOCK_MS, `with the pace ${String(pace)} the first frame comes after ${first} ms`)
      must((more.at(-1) ?? 0) < LATE_MS, `with the pace ${String(pace)} the last frame comes after ${more.at(-1)} ms`)
      return "about 100 ms"
    }),
  ),
  check("P35", "blocks-paced", "blocks of a paced stream have 1024 bytes, but for the end record's", async (probe) => {
    const { data, frames } = await probe.served({ ...STREAMED, pace: 100 })
    const long = data.some((frame) =>
      deltasOf(frame).some((chunk) => Buffer.byteLength(JSON.stringify(chunk)) > FLOOR - 20),
    )
    if (long) skip("the provider sent a chunk that is longer than a block")
    const sizes = new Set(frames.slice(0, -1).map(({ block }) => block.length))
    must(sizes.size === 1 && sizes.has(FLOOR), `data frames have blocks of ${[...sizes].join(", ")} bytes`)
    return `${frames.length - 1} blocks of ${FLOOR} bytes`
  }),
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
