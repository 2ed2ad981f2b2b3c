/**
 * Reads the body of a sealed request. What clients send is an object of three strings without escapes; its members are
 * taken from the bytes, since a ciphertext of megabytes would else be scanned four times and copied twice before it is
 * decoded. Everything else goes the way of all JSON here, which decides what is refused and says why.
 */
import { isUtf8 } from "node:buffer"
import { Effect, Result, Schema } from "effect"
import { Malformed } from "../../api/problems.ts"
import { COMPLETION_MEMBERS, CompletionRequest, ENC_BYTES } from "../../api/proxy/SealedApi.ts"
import { type Bytes, decodeBase64Url, fromUtf8 } from "../../domain/bytes/bytes.ts"
import { faultSteps, JSON_LIMITS, NOT_JSON, NOT_UTF8 } from "../../domain/json/iJson.ts"
import { releaseBytes } from "../../domain/bytes/releaseBytes.ts"
import { schemaIssues } from "../../domain/json/schemaIssues.ts"
import { Outline } from "../../domain/json/outline.ts"
import type { ProblemIssue } from "../../domain/problems/problem.ts"
import { inSteps } from "../../services/inSteps.ts"
import type { Envelope } from "../../services/sealing/SealedExchange.ts"

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

/** How much white space clients send in one place, at most. */
const MAX_SPACE = 1024

/** The place of the first byte from `at` on that is no white space of JSON, or stands behind too much of it. */
const skipSpace = (body: Buffer, at: number): number => {
  let i = at
  while (i < at + MAX_SPACE && isSpace(body[i])) i++
  return i
}

/**
 * The three members of an object that has no others and each of them once, taken up to the next quotation mark: so only
 * what is base64url is known to be what JSON has there. `undefined` for any other text.
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

/** How much is decoded at once, in bytes: it has to be a multiple of four, and short enough to be garbage soon. */
const PIECE = 32 * 1024

/** The bytes that `text` stands for, decoded in pieces: as one string it would take megabytes of the collector's heap. */
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

/** The bytes of an `enc`, where there are as many as one has. */
const decodeEnc = (text: Buffer): Bytes | undefined => {
  const [fewest, most] = ENC_BYTES
  const bytes = decodeBase64Url(text.toString("latin1"))
  return bytes !== undefined && bytes.length >= fewest && bytes.length <= most ? bytes : undefined
}

/** What means itself as a string of JSON: printable ASCII without quotation marks and backslashes. */
const LITERAL = /^[ !#-[\]-~]*$/

/** What is wrong with those of `names`, whose members were taken as they stand; `undefined` where that is not known. */
const faultsOf = (members: Members, names: ReadonlyArray<Member>): ReadonlyArray<ProblemIssue> | undefined => {
  const faults: Array<ProblemIssue> = []
  for (const name of names) {
    const { is, message } = COMPLETION_MEMBERS[name]
    const text = members[name].toString("latin1")
    if (is(text)) continue
    if (!LITERAL.test(text)) return undefined
    faults.push({ path: `payload.${name}`, message })
  }
  return faults
}

/** The envelope, or why there is none, of a text in the form that clients send; `undefined` for any other text. */
const readPlain = (body: Buffer): Result.Result<Envelope, Malformed> | undefined => {
  const members = plainMembers(body)
  if (members === undefined) return undefined
  const ciphertext = decodeText(members.ciphertext)
  const enc = decodeEnc(members.enc)
  // What could be decoded is not looked through again.
  const decoded = { session_id: undefined, enc, ciphertext }
  const errors = faultsOf(
    members,
    MEMBERS.filter((member) => decoded[member] === undefined),
  )
  if (errors === undefined) return undefined
  if (errors.length > 0) {
    if (ciphertext !== undefined) releaseBytes(ciphertext)
    return Result.fail(new Malformed({ errors }))
  }
  return Result.succeed({
    session_id: members.session_id.toString("latin1"),
    enc: enc ?? members.enc.toString("latin1"),
    ciphertext: ciphertext ?? members.ciphertext.toString("latin1"),
  })
}

const decode = Schema.decodeUnknownResult(CompletionRequest, { errors: "all" })
const decodeJson = Schema.decodeUnknownResult(Schema.fromJsonString(CompletionRequest), { errors: "all" })

/** The envelope in any text of JSON. Only the members of an envelope are made values of. */
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

/** The shortest body, in bytes, for whose length others are let in. */
const LARGE = 1024 * 1024

/** The envelope in `body`, or why there is none. The memory of `body` is let go of. */
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
    // To decode megabytes takes long enough to let others in before they are opened.
    const read = Effect.fromResult(plain)
    return isLarge ? Effect.andThen(Effect.yieldNow, read) : read
  })
