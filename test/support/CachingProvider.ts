/**
 * A provider that caches exact prefixes of requests, up to the end of a message, like the vendors. It answers every API,
 * whole and streamed, and counts cache hits.
 */
import { Effect } from "effect"
import { anthropic } from "./fake-upstream/Anthropic.ts"
import { OK } from "./fake-upstream/FullAnswer.ts"
import { openAi } from "./fake-upstream/OpenAi.ts"
import type { WireFormat } from "./fake-upstream/WireFormat.ts"
import { gptResponse } from "./nativeAnswers.ts"
import { namedEvents, startNative } from "./nativeUpstream.ts"

/** Returns the ends of the elements of the array at `from` in a JSON text. */
const elementEnds = (json: string, from: number): ReadonlyArray<number> => {
  const ends: Array<number> = []
  let depth = 0
  for (let i = from; i < json.length; i++) {
    const character = json[i]
    if (character === '"') {
      for (i++; json[i] !== '"'; i++) if (json[i] === "\\") i++
    } else if (character === "[" || character === "{") depth++
    else if (character === "]" || character === "}") {
      depth--
      if (depth === 1) ends.push(i + 1)
      if (depth === 0) return ends
    }
  }
  return ends
}

/** Returns the prefixes of a request, up to the end of each message. */
const beginnings = (body: string): ReadonlyArray<string> => {
  const list = /"(?:messages|input)":(?=\[)/.exec(body)
  if (list === null) throw new Error(`no list of messages: ${body}`)
  return elementEnds(body, list.index + list[0].length).map((end) => body.slice(0, end))
}

const written = (format: WireFormat) => ({
  whole: format.whole(OK),
  streamed: format.frames(OK, false).map(({ text }) => text),
})

const item = {
  id: "i",
  type: "message",
  role: "assistant",
  status: "completed",
  content: [{ type: "output_text", text: "ok", annotations: [] }],
}
const response = gptResponse("completed", { output: [item], usage: { input_tokens: 3, output_tokens: 1 } })

interface Written {
  readonly whole: unknown
  readonly streamed: ReadonlyArray<string>
}

/** The answers of each API, by path. */
const ANSWERS = new Map<string, Written>([
  ["/v1/chat/completions", written(openAi)],
  ["/v1/messages", written(anthropic)],
  [
    "/v1/responses",
    {
      whole: response,
      streamed: namedEvents(
        { type: "response.created", response: gptResponse("in_progress") },
        { type: "response.output_item.added", output_index: 0, item: { ...item, status: "in_progress", content: [] } },
        { type: "response.output_text.delta", item_id: "i", output_index: 0, content_index: 0, delta: "ok" },
        { type: "response.output_item.done", output_index: 0, item },
        { type: "response.completed", response },
      ),
    },
  ],
])

export const cachingProvider = Effect.gen(function* () {
  const seen = new Set<string>()
  const counts = { found: 0, missed: 0 }
  let left = Infinity
  const { url } = yield* startNative(({ body, path }) => {
    const answer = ANSWERS.get(path)
    if (answer === undefined) throw new Error(`no such path: ${path}`)
    if (left-- <= 0) return { status: 500, body: '{"error":{"message":"failed"}}' }
    const all = beginnings(body)
    // A turn adds an answer and a question.
    const earlier = all.at(-3)
    if (earlier !== undefined) counts[seen.has(earlier) ? "found" : "missed"]++
    for (const beginning of all) seen.add(beginning)
    return { body: /"stream":\s*true/.test(body) ? answer.streamed : JSON.stringify(answer.whole) }
  })
  return {
    url,
    /** `found`: requests whose messages, except for the last two, had been answered here; `missed`: the other ones. */
    counts,
    /** Fails all requests after this many successes, until the next call. */
    failAfter: (requests: number) => {
      left = requests
    },
  }
})
