/** Streams of 100 chunks beside a bare pass-through: unpaced, and paced at 60 tokens/s. */
import type { Bench, Case } from "../harness/Case.ts"
import { type Compared, compare } from "../harness/compare.ts"
import { startLoad } from "../harness/Load.ts"
import { runSealgate, runServer } from "../harness/servers.ts"
import type { PlainLoad } from "../loads/plain.ts"
import type { SealedLoad } from "../loads/sealed.ts"

const CHUNKS = 100
const PACE_MS = 100
const TOKENS_PER_SECOND = 60

const body = { model: "gpt-4o", stream: true, messages: [{ role: "user" as const, content: "Tell me of seals." }] }

interface Streams {
  readonly lanes: number
  readonly pace: number
  readonly tokensPerSecond: number
  readonly perSecond: number
}

const measureStreams = async (bench: Bench, streams: Streams): Promise<Compared> => {
  const env = { WORDS: `${CHUNKS}`, WORDS_PER_SECOND: `${streams.tokensPerSecond}` }
  const upstream = await bench.use(runServer("upstream", env))
  const sealgate = await bench.use(runSealgate(upstream))
  let text = ""
  for await (const part of await sealgate.client().stream(body)) {
    if (part.type === "delta") text += part.chunk.choices[0]?.delta.content ?? ""
  }
  if (text !== "word ".repeat(CHUNKS)) throw new Error(`a stream said something else: ${text}`)
  const payload = { pace: streams.pace, api: "chat.completions", body }
  const sealed = { url: sealgate.url, payload, ending: '"}\n\n', perSecond: streams.perSecond } satisfies SealedLoad
  const bare = await bench.use(runServer("bare", { UPSTREAM: upstream.url }))
  const plain = {
    url: `${bare.url}/v1/chat/completions`,
    body: JSON.stringify(body),
    ending: "[DONE]\n\n",
  } satisfies PlainLoad
  return compare(bench, streams.lanes, [
    { subject: "sealgate, sealed", pid: sealgate.pid, load: await bench.use(startLoad("sealed", sealed)) },
    { subject: "node:http pass-through", pid: bare.pid, load: await bench.use(startLoad("plain", plain)) },
  ])
}

const streamCase = (name: string, title: string, atMost: number, streams: Streams): Case => ({
  name,
  title,
  unit: "a stream",
  run: async (bench) => {
    const { measures, ratio } = await measureStreams(bench, streams)
    const value = ratio("sealgate, sealed", "node:http pass-through", "cpu")
    return { measures, figures: [{ what: "CPU, to the bare pass-through", unit: "×", value, atMost }] }
  },
})

export const unpacedStream = streamCase(
  "stream",
  `Streams of ${CHUNKS} chunks, unpaced, 8 connections, upstream as fast as it can`,
  8,
  { lanes: 8, pace: 0, tokensPerSecond: 0, perSecond: 800 },
)

export const pacedStream = streamCase(
  "stream-paced",
  `Streams of ${CHUNKS} chunks, a frame each ${PACE_MS} ms, 100 connections, upstream at ${TOKENS_PER_SECOND} tokens/s`,
  4,
  { lanes: 100, pace: PACE_MS, tokensPerSecond: TOKENS_PER_SECOND, perSecond: 120 },
)
