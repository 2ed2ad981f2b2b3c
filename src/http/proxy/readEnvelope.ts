/**
 * Reads the body of a sealed request. Clients send an object of three strings without escapes, whose members are taken
 * from the bytes: that takes 3 ms for 8 MB, and 27 ms with JSON.parse and the schema. Any other text is parsed as JSON and
 * decoded with the schema, which says why it is refused.
 */
import { isUtf8 } from "node:buffer"
import { Effect, Result, Schema } from "effect"
import { Malformed } from "../../api/problems.ts"
import { CompletionRequest, ENC_BYTES } from "../../api/proxy/SealedApi.ts"
import { type Bytes, decodeBase64Url, fromUtf8 } from "../../domain/bytes/bytes.ts"
import { faultSteps, JSON_LIMITS, NOT_JSON, NOT_UTF8 } from "../../domain/json/iJson.ts"
import { releaseBytes } from "../../domain/bytes/releaseBytes.ts"
import { schemaIssues } from "../../domain/json/schemaIssues.ts"
import { Outline } from "../../domain/json/outline.ts"
import { inSteps } from "../../services/inSteps.ts"
import type { Envelope } from "../../services/sealing/RequestOpener.ts"

const OPEN = 0x7b
const CLOSE = 0x7d
const QUOTE = 0x22
const COLON = 0x3a
const COMMA = 0x2c

type Member = keyof Envelope
const MEMBERS: ReadonlyArray<Member> = ["session_id", "enc", "ciphertext"]
type Members = Readonly<Record<Member, Buffer>>
const isMember = (name: string): name is Member => MEMBERS.some((member) => member === name)

const isSpace = (byte: number | undefined): boolean => byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09

/** Longest white space that the fast path accepts. */
const MAX_SPACE = 1024

/** Position of the first byte from `at` on that is not white space, at most {@link MAX_SPACE} later. */
const skipSpace = (body: Buffer, at: number): number => {
  let i = at
  while (i < at + MAX_SPACE && isSpace(body[i])) i++
  return i
}

/**
 * The members of an object that has exactly these three; `undefined` for any other text. Values end at the next quotation
 * mark, because only base64url is valid, which has no escapes.
 */
const plainMembers = (body: Buffer): Members | undefined => {
  const found: Partial<Record<Member, Buffer>> = {}
  let at = skipSpace(body, 0)
  for (const before of [OPEN, COMMA, COMMA]) {
    if (body[at] !== before) return undefined
    const opening = skipSpace(body, at + 1)
    const closing = body.indexOf(QUOTE, opening + 1)
    const colon = skipSpace(body, closing + 1)
    const value = skipSpace(body, colon + 1)
    if (body[opening] !== QUOTE || closing < 0 || body[colon] !== COLON || body[value] !== QUOTE) return undefined
    const name = body.toString("latin1", opening + 1, closing)
    const end = body.indexOf(QUOTE, value + 1)
    if (end < 0 || !isMember(name) || found[name] !== undefined) return undefined
    found[name] = body.subarray(value + 1, end)
    at = skipSpace(body, end + 1)
  }
  if (body[at] !== CLOSE || skipSpace(body, at + 1) !== body.length) return undefined
  const { ciphertext, enc, session_id } = found
  return ciphertext === undefined || enc === undefined || session_id === undefined
    ? undefined
    : { ciphertext, enc, session_id }
}

/** Bytes decoded at once: a multiple of four, and small enough for the young generation of the heap. */
const PIECE = 32 * 1024

/** Decodes base64url in pieces: as one string it would take megabytes of heap. */
const decodeText = (text: Buffer): Bytes | undefined => {
  if (text.length <= PIECE) return decodeBase64Url(text.toString("latin1"))
  const bytes = Buffer.allocUnsafeSlow((text.length * 3) >> 2)
  let length = 0
  for (let at = 0; at < text.length; at += PIECE) {
    const piece = decodeBase64Url(text.toString("latin1", at, at + PIECE))
    if (piece === undefined) return undefined
    bytes.set(piece, length)
    length += piece.length
    releaseBytes(piece)
  }
  return bytes
}

/** Decodes an `enc`; `undefined` if its length is wrong. */
const decodeEnc = (text: Buffer): Bytes | undefined => {
  const [fewest, most] = ENC_BYTES
  const bytes = decodeBase64Url(text.toString("latin1"))
  return bytes !== undefined && bytes.length >= fewest && bytes.length <= most ? bytes : undefined
}

const isSessionId = Schema.is(CompletionRequest.fields.session_id)

/** Reads an envelope in the form that clients send; `undefined` for any other text. */
const readPlain = (body: Buffer): Envelope | undefined => {
  const members = plainMembers(body)
  if (members === undefined) return undefined
  const session_id = members.session_id.toString("latin1")
  const enc = decodeEnc(members.enc)
  if (enc === undefined || !isSessionId(session_id)) return undefined
  const ciphertext = decodeText(members.ciphertext)
  return ciphertext === undefined ? undefined : { session_id, enc, ciphertext }
}

const decode = Schema.decodeUnknownResult(CompletionRequest, { errors: "all" })
const decodeJson = Schema.decodeUnknownResult(Schema.fromJsonString(CompletionRequest), { errors: "all" })

/** Reads an envelope from any JSON. Parses only the members of an envelope. */
function* readAny(bytes: Bytes): Generator<void, Result.Result<Envelope, Malformed>> {
  const refused = ({ issue }: Schema.SchemaError) => new Malformed({ errors: schemaIssues(issue, ["payload"]) })
  const outline = new Outline("")
  const fault = isUtf8(bytes) ? yield* faultSteps(bytes, JSON_LIMITS, outline) : NOT_UTF8
  yield
  if (fault === NOT_JSON || (fault === undefined && !Outline.isObject(bytes))) {
    return Result.mapError(decodeJson(fromUtf8(bytes)), refused)
  }
  if (fault !== undefined) return Result.fail(new Malformed({ detail: fault }))
  const object = outline.object(bytes)
  const members: Partial<Record<Member, unknown>> = {}
  for (const name of MEMBERS) {
    if (!object.has(name)) continue
    members[name] = object.value(name)
    yield
  }
  return Result.mapError(decode(members), refused)
}

/** Body size, in bytes, above which reading yields to other requests. */
const LARGE = 1024 * 1024

/** Reads the envelope in `body` and releases the memory of `body`. */
export const readEnvelope = (body: ArrayBuffer): Effect.Effect<Envelope, Malformed> =>
  Effect.suspend(() => {
    const bytes = Buffer.from(body)
    const isLarge = body.byteLength > LARGE
    const plain = readPlain(bytes)
    if (plain === undefined) {
      return Effect.flatMap(inSteps(readAny(bytes)), (envelope) => {
        releaseBytes(bytes)
        return Effect.fromResult(envelope)
      })
    }
    releaseBytes(bytes)
    // Decoding megabytes takes long, so others run before the request is opened.
    const read = Effect.succeed(plain)
    return isLarge ? Effect.andThen(Effect.yieldNow, read) : read
  })
