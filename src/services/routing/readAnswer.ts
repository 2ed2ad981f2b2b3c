/** Reads a streamed answer to its end; streamed, because only a stream shows when its first token came. */
import { Effect, Stream } from "effect"
import type { StreamEvent, UpstreamError } from "../../domain/upstream.ts"

/** What a model wrote. `text` is its refusal if it refused. */
export interface Answer {
  readonly text: string
  readonly refused: boolean
  /** The provider cut it off at the longest answer that it gives. */
  readonly cut: boolean
}

interface Draft {
  readonly content: string
  readonly refusal: string
}
const EMPTY: Draft = { content: "", refusal: "" }

type Finished = Extract<StreamEvent, { _tag: "Finished" }>

/** Reads `events` to their end. */
export const readAnswer = Effect.fnUntraced(function* (
  events: Stream.Stream<StreamEvent, UpstreamError>,
): Effect.fn.Return<Answer, UpstreamError> {
  let draft = EMPTY
  let finished: Finished | undefined
  yield* Stream.runForEach(events, (event) => {
    switch (event._tag) {
      case "Delta": {
        for (const { delta, index } of event.chunk.choices) {
          if (index !== 0) continue
          draft = { content: draft.content + (delta.content ?? ""), refusal: draft.refusal + (delta.refusal ?? "") }
        }
        return Effect.void
      }
      case "Restarted": {
        draft = EMPTY
        return Effect.void
      }
      case "Finished": {
        finished = event
        return Effect.void
      }
    }
  })
  if (finished === undefined) return yield* Effect.die(new Error("A stream of the upstream ended without its end."))
  const reason = finished.served.finishReasons[0]
  const refused = draft.refusal !== "" || reason === "content_filter"
  return { text: draft.refusal === "" ? draft.content : draft.refusal, refused, cut: reason === "length" }
})
