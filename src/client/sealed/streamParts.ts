/** Decodes the events of a sealed stream and the payloads of its data frames (sealed protocol §5). */
import type { ChatChunk } from "../../domain/chat/chatTypes.ts"
import { integer, parseObject, string } from "../verification/decode.ts"
import { isObject, type JsonObject } from "../../domain/json/json.ts"
import { Tampered } from "../errors.ts"
import type { ServerSentEvent } from "./serverSentEvents.ts"

/** One verified part of a stream. A `restart` voids everything before it. */
export type StreamPart<Chunk = ChatChunk> =
  | { readonly type: "delta"; readonly chunk: Chunk }
  | { readonly type: "restart"; readonly reason: string; readonly provider: string; readonly model: string }

/** Returns the JSON data of `event`, which must have this name. */
export const expectEvent = (event: ServerSentEvent, name: string): JsonObject => {
  if (event.event !== name) {
    const came = /^\w{1,16}$/.test(event.event) ? event.event : "an unknown one"
    throw new Tampered(`A ${name} event was due, but ${came} came.`)
  }
  return parseObject(event.data, `the ${name} event`)
}

export const frameOf = (event: ServerSentEvent, seq: number): { readonly data: string; readonly final: boolean } => {
  const frame = expectEvent(event, "frame")
  const came = integer(frame, "seq")
  if (came !== seq) throw new Tampered(`Frame ${seq} was due, but ${came} came.`)
  const final = frame["final"] ?? false
  if (typeof final !== "boolean") throw new Tampered("final is neither true nor false.")
  return { data: string(frame, "ciphertext"), final }
}

/** Returns the statement in `event`, which must be the proof. */
export const proofOf = (event: ServerSentEvent): string => string(expectEvent(event, "proof"), "proof")

/** Returns the parts in a data frame, in order. */
export const partsOf = <Chunk extends JsonObject>({
  deltas,
  restart,
}: JsonObject): ReadonlyArray<StreamPart<Chunk>> => {
  if (!Array.isArray(deltas) || !deltas.every(isObject)) throw new Tampered("A frame has no array of deltas.")
  // The frame is authentic, so these are chunks of the requested API.
  const parts = deltas.map((chunk): StreamPart<Chunk> => ({ type: "delta", chunk: chunk as unknown as Chunk }))
  if (restart === undefined) return parts
  if (!isObject(restart)) throw new Tampered("A frame begins again without saying why.")
  const [reason, provider, model] = [string(restart, "reason"), string(restart, "provider"), string(restart, "model")]
  return [{ type: "restart", reason, provider, model }, ...parts]
}
