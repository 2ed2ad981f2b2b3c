/** Merges chunks of the same text, so that frames do not reveal the number of tokens (sealed protocol §5). */
import type { ChatChunk } from "./chatTypes.ts"
import { cutText } from "./cutText.ts"

type Json = Readonly<Record<string, unknown>>
type Choice = ChatChunk["choices"][number]

/** Texts of a delta that grow from chunk to chunk. */
const TEXTS: ReadonlySet<string> = new Set(["content", "reasoning", "reasoning_content", "refusal"])
const CALLS = "tool_calls"

export interface Added {
  readonly member: string
  readonly text: string
}

/** `undefined` if the chunks differ in more than one text, or if merging would lose another part of the second. */
export const addedTo = (first: ChatChunk, second: ChatChunk): Added | undefined => {
  const [a] = first.choices
  const [b] = second.choices
  if (a === undefined || b === undefined || first.choices.length > 1 || second.choices.length > 1) return undefined
  if (!sameBut(first, second, "choices") || !sameBut(a, b, "delta") || !isPlain(b)) return undefined
  return addedToDelta(a.delta, b.delta)
}

/** `chunk` with text appended that {@link addedTo} found. */
export const withAdded = (chunk: ChatChunk, { member, text }: Added): ChatChunk => ({
  ...chunk,
  choices: chunk.choices.map((choice) => ({ ...choice, delta: deltaWith(choice.delta, member, text) })),
})

/** Merges two consecutive chunks, if the second only adds to a text. */
export const mergeChunks = (first: ChatChunk, second: ChatChunk): ChatChunk | undefined => {
  const added = addedTo(first, second)
  return added === undefined ? undefined : withAdded(first, added)
}

/** Splits `chunk` into equivalent ones whose texts have at most `most` bytes of JSON. Inseparable texts stay whole. */
export const cutChunk = (chunk: ChatChunk, most: number): ReadonlyArray<ChatChunk> => {
  const [choice] = chunk.choices
  if (choice === undefined || chunk.choices.length > 1) return [chunk]
  const [last = choice.delta, ...before] = cutDelta(choice.delta, most).toReversed()
  if (before.length === 0) return [chunk]
  const empty = Object.fromEntries(Object.entries(choice).filter(([, value]) => value == null))
  const pieces = before.toReversed().map((delta) => ({ ...empty, index: choice.index, delta, finish_reason: null }))
  return [...pieces, { ...choice, delta: last }].map((piece) => ({ ...chunk, choices: [piece] }))
}

/** The same without the padding members that some providers add. */
export const withoutPadding = <Piece extends Json>(piece: Piece): Piece => {
  if (piece["obfuscation"] === undefined) return piece
  const { obfuscation: _padding, ...rest } = piece
  // Only an optional member is removed.
  return rest as unknown as Piece
}

/** Whether a choice has only a delta and its index; other members would be joined, not replaced. */
const isPlain = (choice: Choice): boolean => {
  const members: Json = choice
  for (const name of Object.keys(members)) {
    if (name !== "delta" && name !== "index" && members[name] != null) return false
  }
  return true
}

const sameBut = (a: Json, b: Json, but: string): boolean => {
  const names = Object.keys(a)
  if (names.length !== Object.keys(b).length) return false
  for (const name of names) if (name !== but && !same(a[name], b[name])) return false
  return true
}

const same = (a: unknown, b: unknown): boolean =>
  a === b || (typeof a === "object" && typeof b === "object" && JSON.stringify(a) === JSON.stringify(b))

/** Whether joining `value` changes nothing. */
export const isEmpty = (value: unknown): boolean =>
  value == null || value === "" || (Array.isArray(value) && value.length === 0)

const addedToDelta = (a: Json, b: Json): Added | undefined => {
  let member: string | undefined
  for (const name of Object.keys(b)) {
    if (name === "role" || isEmpty(b[name])) continue
    if (member !== undefined) return undefined
    member = name
  }
  if (member === undefined || !(member in a) || !sameBut(a, b, member)) return undefined
  const [before, after] = [a[member], b[member]]
  if (TEXTS.has(member)) {
    return typeof before === "string" && typeof after === "string" ? { member, text: after } : undefined
  }
  const text = member === CALLS ? addedToCall(before, after) : undefined
  return text === undefined ? undefined : { member, text }
}

/** Only a text grows, so the type stays valid. */
const deltaWith = (delta: Choice["delta"], member: string, text: string): Choice["delta"] => {
  const members: Json = delta
  const before = members[member]
  if (typeof before === "string") return { ...delta, [member]: before + text }
  const [call]: ReadonlyArray<unknown> = Array.isArray(before) ? before : []
  if (!isRecord(call) || !isRecord(call["function"])) return delta
  const piece = { ...call["function"], arguments: `${String(call["function"]["arguments"])}${text}` }
  return { ...delta, [CALLS]: [{ ...call, function: piece }] } as unknown as Choice["delta"]
}

const cutDelta = (delta: Choice["delta"], most: number): ReadonlyArray<Choice["delta"]> => {
  const members: Json = delta
  const empty = Object.fromEntries(Object.entries(members).filter(([, value]) => isEmpty(value)))
  for (const member of Object.keys(members)) {
    const pieces = piecesOf(member, members[member], most)
    const [first, ...more] = pieces
    const last = more.pop()
    if (last === undefined) continue
    const { role, ...rest } = delta
    const begun = { ...empty, ...(role === undefined ? {} : { role }), [member]: first }
    const others = more.map((piece) => ({ ...empty, [member]: piece }))
    // Only texts become shorter, so the type stays valid.
    return [begun, ...others, ...cutDelta({ ...rest, [member]: last }, most)] as ReadonlyArray<Choice["delta"]>
  }
  return [delta]
}

/** Splits the value of a delta's member. Only the first piece names its tool call. */
const piecesOf = (member: string, value: unknown, most: number): ReadonlyArray<unknown> => {
  if (TEXTS.has(member) && typeof value === "string") return cutText(value, most)
  if (member !== CALLS || !Array.isArray(value) || value.length !== 1) return [value]
  const [call]: ReadonlyArray<unknown> = value
  const piece = isRecord(call) ? call["function"] : undefined
  if (!isRecord(call) || !isRecord(piece) || typeof piece["arguments"] !== "string") return [value]
  const [first, ...more] = cutText(piece["arguments"], most)
  return [
    [{ ...call, function: { ...piece, arguments: first } }],
    ...more.map((text) => [{ index: call["index"], function: { arguments: text } }]),
  ]
}

const isRecord = (value: unknown): value is Json => typeof value === "object" && value !== null && !Array.isArray(value)

/** The arguments in the second of two pieces of a tool call. */
const addedToCall = (before: unknown, after: unknown): string | undefined => {
  if (!Array.isArray(before) || !Array.isArray(after) || before.length !== 1 || after.length !== 1) return undefined
  const [a, b]: ReadonlyArray<unknown> = [before[0], after[0]]
  if (!isRecord(a) || !isRecord(b) || !isRecord(a["function"]) || !isRecord(b["function"])) return undefined
  const { function: pieceA, ...restA } = a
  const { function: pieceB, ...restB } = b
  const named = Object.entries(restB).some(([name, value]) => name !== "index" && !isEmpty(value))
  if (named || !same(restA, restB) || !isRecord(pieceA) || !isRecord(pieceB)) return undefined
  const { arguments: argumentsA, ...nameA } = pieceA
  const { arguments: argumentsB, ...nameB } = pieceB
  if (typeof argumentsA !== "string" || typeof argumentsB !== "string") return undefined
  return same(nameA, nameB) && Object.values(nameB).every(isEmpty) ? argumentsB : undefined
}
