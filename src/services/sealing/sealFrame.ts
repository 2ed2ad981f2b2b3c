import { Effect, Metric } from "effect"
import type { Bytes } from "../../domain/bytes.ts"
import type { Form } from "../../domain/transcript.ts"
import type { ResponseSealer } from "./ResponseSealer.ts"
import { framesSealed } from "./SealingMetrics.ts"

/** Seals the next frame of a response, and counts it. */
export const sealFrame = (
  sealer: ResponseSealer,
  form: Form,
  payload: Uint8Array,
  final: boolean,
): Effect.Effect<Bytes> =>
  Effect.tap(
    Effect.sync(() => sealer.seal(form, payload, final)),
    Metric.update(framesSealed, 1),
  )
