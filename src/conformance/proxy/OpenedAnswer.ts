/** Opens a sealed answer frame by frame, keeping sizes and times of arrival. */
import { type Bytes, decodeBase64Url } from "../../domain/bytes/bytes.ts"
import { NotIJson, parseIJson } from "../../domain/json/iJson.ts"
import { isObject, type JsonObject, parseJson } from "../../domain/json/json.ts"
import { unpad } from "../../domain/protocol/padding.ts"
import type { ProofClaims } from "../../domain/protocol/statement.ts"
import { type Form, frameAad, frameNonce, MEDIA_TYPE } from "../../domain/protocol/transcript.ts"
import { SealgateError } from "../../client/errors.ts"
import { deriveResponseKeys, type ResponseKeys } from "../../client/crypto/primitives.ts"
import { ResponseOpener, type VerifiedEnd } from "../../client/sealed/ResponseOpener.ts"
import type { SentRequest } from "../../client/sealed/sealRequest.ts"
import type { TrustedKeys } from "../../client/verification/trust.ts"
import { mistakesIn } from "./keyMistakes.ts"
import { must, Violation } from "./outcome.ts"
import type { Received } from "./Wire.ts"

interface OpenedFrame {
  readonly block: Bytes
  readonly payload: Bytes
  /** Arrival of its last byte, in milliseconds. */
  readonly at: number
}

export interface OpenedAnswer {
  readonly received: Received
  readonly form: Form
  /** The response_nonce, in base64url. */
  readonly nonce: string
  readonly frames: ReadonlyArray<OpenedFrame>
  readonly data: ReadonlyArray<JsonObject | null>
  readonly record: JsonObject
  readonly end: VerifiedEnd
  /** The statement in the end record. */
  readonly receipt: string
  readonly proof?: { readonly statement: string; readonly claims: ProofClaims }
}

interface WireFrame {
  readonly ciphertext: string
  readonly final: boolean
  readonly at: number
}

interface Taken {
  readonly nonce: string
  readonly frames: ReadonlyArray<WireFrame>
  readonly proof?: string
}

const objectIn = (json: string | Uint8Array, what: string): JsonObject => {
  const value = parse(json, what)
  must(isObject(value), `${what} is not a JSON object`)
  return value
}

const parse = (json: string | Uint8Array, what: string): unknown => {
  try {
    return parseIJson(json)
  } catch (error) {
    throw new Violation(`${what} is no I-JSON: ${error instanceof NotIJson ? error.message : String(error)}`)
  }
}

const textIn = (object: JsonObject, member: string, what: string): string => {
  const value = object[member]
  must(typeof value === "string", `${what} has no text ${member}`)
  return value
}

const takeComplete = ({ body, pieces }: Received): Taken => {
  const answer = objectIn(body, "the body of the answer")
  const { frames } = answer
  must(Array.isArray(frames) && frames.length === 2, "a complete answer has not exactly two frames")
  const at = pieces.at(-1)?.at ?? 0
  return {
    nonce: textIn(answer, "response_nonce", "the body"),
    frames: frames.map((ciphertext, index) => {
      must(typeof ciphertext === "string", "a frame is no text")
      return { ciphertext, final: index === 1, at }
    }),
  }
}

interface TimedEvent {
  readonly event: string
  readonly data: string
  readonly at: number
}

/** Returns the events of a stream with the arrival of each one's end. Drops comments. */
const eventsIn = ({ pieces }: Received): ReadonlyArray<TimedEvent> => {
  const events: Array<TimedEvent> = []
  const decoder = new TextDecoder("utf-8", { fatal: true })
  let rest = ""
  for (const { at, bytes } of pieces) {
    const blocks = (rest + decoder.decode(bytes, { stream: true })).replaceAll("\r\n", "\n").split("\n\n")
    rest = blocks.pop() ?? ""
    for (const block of blocks) {
      const lines = block.split("\n").filter((line) => !line.startsWith(":"))
      const fields = (name: string) =>
        lines.filter((line) => line.startsWith(`${name}:`)).map((line) => line.slice(name.length + 1).replace(/^ /, ""))
      const data = fields("data")
      if (data.length > 0) events.push({ event: fields("event")[0] ?? "message", data: data.join("\n"), at })
    }
  }
  must(rest.trim() === "", "the stream ends within an event")
  return events
}

const takeStream = (received: Received): Taken => {
  const [open, ...events] = eventsIn(received)
  const proof = events.pop()
  must(open?.event === "open", `the first event is ${open?.event ?? "missing"}, and not open`)
  must(proof?.event === "proof", `the last event is ${proof?.event ?? "missing"}, and not proof`)
  const frames = events.map(({ at, data, event }, index) => {
    must(event === "frame", `an event ${event} stands where a frame must be`)
    const frame = objectIn(data, "an event frame")
    must(frame["seq"] === index, `frame ${index} has the seq ${String(frame["seq"])}`)
    const { final = false } = frame
    must(final === (index === events.length - 1), "final is not true of the last frame alone")
    return { ciphertext: textIn(frame, "ciphertext", "an event frame"), final: final === true, at }
  })
  return {
    nonce: textIn(objectIn(open.data, "the event open"), "response_nonce", "the event open"),
    frames,
    proof: textIn(objectIn(proof.data, "the event proof"), "proof", "the event proof"),
  }
}

const bytesOf = (text: string, what: string): Bytes => {
  const bytes = decodeBase64Url(text)
  must(bytes !== undefined, `${what} is not base64url`)
  return bytes
}

/** Opens frame `index` and checks only that it belongs there. */
const openOne = async (
  sent: SentRequest,
  keys: ResponseKeys,
  form: Form,
  { at, ciphertext, final }: WireFrame,
  index: number,
  floor: number,
  whyNot: (ciphertext: Bytes) => Promise<string>,
): Promise<OpenedFrame> => {
  const bytes = bytesOf(ciphertext, `frame ${index}`)
  const block = await keys.open(
    frameNonce(keys.baseNonce, index),
    frameAad(form, index, final, sent.requestHash),
    bytes,
  )
  if (block === undefined) throw new Violation(`frame ${index} does not open: ${await whyNot(bytes)}`)
  const payload = unpad(block, floor)
  must(payload !== undefined, `the block of frame ${index} (${block.length} bytes) is not padded as it must be`)
  return { block, payload, at }
}

/** Runs `work` of the client and turns its refusals into violations of the server. */
export const believing = async <A>(work: Promise<A>): Promise<A> =>
  work.catch((error: unknown) => {
    throw error instanceof SealgateError ? new Violation(error.message) : error
  })

const codeOf = (body: Bytes): unknown => {
  const problem = parseJson(Buffer.from(body).toString("utf8"))
  return isObject(problem) ? problem["code"] : undefined
}

const formOf = ({ body, headers, status }: Received): Form => {
  if (status !== 200) {
    throw new Violation(
      codeOf(body) === "unopenable"
        ? "the server finds a request unopenable: compare info, aad, key and block with docs/protocol/vectors.json"
        : `the status is ${status}, and not 200`,
    )
  }
  const type = (headers["content-type"] ?? "").split(";")[0]?.trim().toLowerCase()
  if (type === MEDIA_TYPE.complete) return "complete"
  if (type === MEDIA_TYPE.stream) return "stream"
  throw new Violation(`the media type is ${type === "" ? "missing" : type}, which is of neither form`)
}

interface Layout {
  readonly form: Form
  readonly taken: Taken
  readonly frames: ReadonlyArray<OpenedFrame>
  readonly nonce: string
}

const openFrames = async (received: Received, sent: SentRequest, floor: number): Promise<Layout> => {
  const form = formOf(received)
  must(received.broken === undefined, `the answer broke off: ${received.broken}`)
  const taken = form === "complete" ? takeComplete(received) : takeStream(received)
  const nonce = bytesOf(taken.nonce, "response_nonce")
  const keys = await deriveResponseKeys(sent.secret, sent.enc, nonce)
  const frames: Array<OpenedFrame> = []
  for (const [index, frame] of taken.frames.entries()) {
    const whyNot = (ciphertext: Bytes) => mistakesIn(sent, nonce, { ciphertext, form, index, final: frame.final })
    frames.push(await openOne(sent, keys, form, frame, index, floor, whyNot))
  }
  return { form, taken, frames, nonce: taken.nonce }
}

/** Returns the end record of an answer without checking anything else. */
export const openRecord = async (received: Received, sent: SentRequest, floor: number): Promise<JsonObject> => {
  const { frames } = await openFrames(received, sent, floor)
  return objectIn(frames.at(-1)?.payload ?? "", "the end record")
}

/**
 * Opens an answer and checks everything that a client checks.
 *
 * @param floor the smallest block of the stream's data frames
 */
export const openAnswer = async (
  received: Received,
  sent: SentRequest,
  trusted: TrustedKeys,
  floor: number,
): Promise<OpenedAnswer> => {
  const { form, frames, nonce, taken } = await openFrames(received, sent, floor)
  const opener = await believing(ResponseOpener.begin(sent, trusted, { form, floor }, nonce))
  const data: Array<JsonObject | null> = []
  let record: JsonObject = {}
  for (const { ciphertext, final } of taken.frames) {
    if (final) record = await believing(opener.open(ciphertext, true))
    else if (form === "complete") data.push(await believing(opener.openAnswer(ciphertext)))
    else data.push(await believing(opener.open(ciphertext, false)))
  }
  const end = await believing(opener.end(record))
  const answer = {
    received,
    form,
    nonce,
    frames,
    data,
    record,
    end,
    receipt: textIn(record, "receipt", "the end record"),
  }
  if (taken.proof === undefined) return answer
  return { ...answer, proof: { statement: taken.proof, claims: await believing(opener.prove(taken.proof, end)) } }
}
