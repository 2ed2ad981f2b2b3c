/** The response of a sealed stream: a Node stream, so that the timer's callback can write a due frame without waking a fiber. */
import { Readable } from "node:stream"
import { Clock, Effect } from "effect"
import { HttpServerResponse } from "effect/http"
import { encodeBase64Url } from "../../domain/bytes/bytes.ts"
import { MEDIA_TYPE } from "../../domain/protocol/transcript.ts"
import { momentOf } from "../../services/moments.ts"
import type { SealedReply } from "../../services/sealing/SealedCompletions.ts"
import type { SealedEvent } from "../../services/sealing/StreamFrames.ts"
import { COMMENT, keepAlive, renderEvent } from "../shared/EventStream.ts"

/** The same headers for success and failure, because only the sender may learn the outcome. */
export const SEALED = { "cache-control": "no-store, no-transform", "x-content-type-options": "nosniff" }

/** One event. Its members are base64url, numbers and a compact JWS, which need no escaping in JSON. */
const renderSealedEvent = (event: SealedEvent): string =>
  event._tag === "Proof"
    ? renderEvent("proof", `{"proof":"${event.proof}"}`)
    : renderEvent(
        "frame",
        `{"seq":${event.seq}${event.final ? ',"final":true' : ""},"ciphertext":"${encodeBase64Url(event.ciphertext)}"}`,
      )

/** If the reader is slow, at most one write waits for the connection. */
export const streamResponse = Effect.fnUntraced(function* (answer: Extract<SealedReply, { readonly _tag: "Stream" }>) {
  const clock = yield* Clock.Clock
  let lastSent = momentOf(clock)
  let isReady = false
  let sendMore: (() => void) | undefined
  const read = () => {
    isReady = true
    sendMore?.()
  }
  const body = new Readable({ highWaterMark: 1, read })
  const push = (text: string | null): void => {
    isReady = false
    lastSent = momentOf(clock)
    body.push(text, "latin1")
  }
  push(renderEvent("open", `{"response_nonce":"${encodeBase64Url(answer.responseNonce)}"}`))
  sendMore = yield* answer.begin({
    isReady: () => isReady,
    write: (events) => push(events.map(renderSealedEvent).join("")),
    end: () => push(null),
    fail: (defect) => void body.destroy(defect instanceof Error ? defect : new Error("sealing failed")),
  })
  // Paced frames keep the connection alive themselves.
  if (!answer.paced) {
    const comment = () => {
      // A slow reader still has data to read.
      if (isReady) push(COMMENT)
      else lastSent = momentOf(clock)
    }
    yield* Effect.forkScoped(keepAlive(() => lastSent, comment))
  }
  return HttpServerResponse.raw(body, {
    contentType: MEDIA_TYPE.stream,
    headers: { ...SEALED, "x-accel-buffering": "no" },
  })
})
