/** Writes complete answers. White space sends the headers and keeps the connection alive (sealed protocol §5). */
import { Cause, Duration, Effect, Stream } from "effect"
import { HttpServerResponse } from "effect/http"
import { type Bytes, encodeBase64Url, utf8 } from "../../domain/bytes/bytes.ts"
import { MEDIA_TYPE } from "../../domain/protocol/transcript.ts"
import { logFault } from "../../services/logFault.ts"
import type { Frames } from "../../services/sealing/sealComplete.ts"
import type { SealedReply } from "../../services/sealing/SealedCompletions.ts"
import { makeTimer } from "../../services/Timer.ts"
import { KEEP_ALIVE } from "../shared/EventStream.ts"
import { SEALED } from "./streamResponse.ts"

const SPACE = utf8(" ")

/** Renders a complete answer as JSON. None of its strings needs escaping. */
const renderComplete = (responseNonce: Bytes, [answer, end]: Frames): Uint8Array =>
  Buffer.from(
    `{"response_nonce":"${encodeBase64Url(responseNonce)}","frames":["${encodeBase64Url(answer)}","${encodeBase64Url(end)}"]}`,
    "latin1",
  )

/** Makes the function that turns complete answers into responses. */
export const makeCompleteResponse = Effect.map(
  makeTimer,
  (timer) =>
    ({ frames, responseNonce }: Extract<SealedReply, { readonly _tag: "Complete" }>) => {
      let begun = false
      let done = false
      const next = Effect.callback<readonly [Uint8Array]>((resume) => {
        const stop = timer.callAt(timer.now() + Duration.toMillis(KEEP_ALIVE), () => {
          unobserve()
          resume(Effect.succeed([SPACE]))
        })
        const unobserve = frames.addObserver((exit) => {
          stop()
          done = true
          resume(Effect.map(exit, (frames) => [renderComplete(responseNonce, frames)]))
        })
        return Effect.sync(() => {
          stop()
          unobserve()
        })
      }).pipe(Effect.tapDefect((defect) => logFault("request failed", Cause.die(defect))))
      const pull = Effect.suspend(() => {
        if (done) return Cause.done()
        if (begun) return next
        begun = true
        return Effect.succeed([SPACE] as const)
      })
      return HttpServerResponse.stream(Stream.fromPull(Effect.succeed(pull)), {
        contentType: MEDIA_TYPE.complete,
        headers: SEALED,
      })
    },
)
