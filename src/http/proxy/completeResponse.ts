/**
 * Writes complete answers. White space before the answer makes the server send the headers and keeps the connection
 * alive (sealed protocol §5).
 */
import { Cause, Clock, Duration, Effect, Exit, Stream } from "effect"
import { HttpServerResponse } from "effect/http"
import { type Bytes, encodeBase64Url, utf8 } from "../../domain/bytes/bytes.ts"
import { MEDIA_TYPE } from "../../domain/protocol/transcript.ts"
import type { Frames } from "../../services/sealing/sealComplete.ts"
import type { SealedAnswer } from "../../services/sealing/SealedCompletions.ts"
import { SEALED } from "./streamResponse.ts"

const KEEP_ALIVE = Duration.seconds(15)
const KEEP_ALIVE_NANOS = Duration.toNanosUnsafe(KEEP_ALIVE)

const SPACE = utf8(" ")

/** JSON of a complete answer; base64url needs no escaping. */
const renderComplete = (responseNonce: Bytes, [answer, end]: Frames): Uint8Array =>
  Buffer.from(
    `{"response_nonce":"${encodeBase64Url(responseNonce)}","frames":["${encodeBase64Url(answer)}","${encodeBase64Url(end)}"]}`,
    "latin1",
  )

/** Calls back after {@link KEEP_ALIVE}. One fiber sleeps for all callbacks. */
const makeKeepAlive = Effect.gen(function* () {
  const clock = yield* Clock.Clock
  /** Due times. All wait equally long, so the first entry is the next one due. */
  const waiting = new Map<() => void, bigint>()
  yield* Effect.suspend(() => {
    const now = clock.monotonicTimeNanosUnsafe()
    for (const [call, due] of waiting) {
      // A callback added during the sleep below is due after it, too.
      if (due > now) return clock.sleep(Duration.nanos(due - now))
      waiting.delete(call)
      call()
    }
    return clock.sleep(KEEP_ALIVE)
  }).pipe(Effect.forever, Effect.forkScoped)
  return {
    /** Returns a function that cancels the call. */
    callLater: (call: () => void) => {
      waiting.set(call, clock.monotonicTimeNanosUnsafe() + KEEP_ALIVE_NANOS)
      return () => void waiting.delete(call)
    },
  }
})

/** Makes the function that turns complete answers into responses. */
export const makeCompleteResponse = Effect.map(
  makeKeepAlive,
  (keepAlive) =>
    ({ frames, responseNonce }: Extract<SealedAnswer, { readonly _tag: "Complete" }>) => {
      let begun = false
      let done = false
      const next = Effect.callback<readonly [Uint8Array]>((resume) => {
        const stop = keepAlive.callLater(() => {
          unobserve()
          resume(Effect.succeed([SPACE]))
        })
        const unobserve = frames.addObserver((exit) => {
          stop()
          done = true
          resume(Exit.map(exit, (frames) => [renderComplete(responseNonce, frames)]))
        })
        return Effect.sync(() => {
          stop()
          unobserve()
        })
      })
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
