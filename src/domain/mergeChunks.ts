/**
 * Merges consecutive chunks of a stream into one where they only continue the same text, so that the number of tokens
 * does not show in the number of frames (sealed protocol §5).
 */
import type { ChatChunk } from "./chat.ts"

type Json = Readonly<Record<string, unknown>>
type Choice = ChatChunk["choices"][number]

/** Texts of a delta that grow from chunk to chunk. */
const TEXTS = ["content", "reasoning", "reasoning_content", "refusal"] as const

/** One chunk for two that follow each other, and how much text the second one added to it. */
interface Merged {
  readonly chunk: ChatChunk
  readonly added: string
}

/** `undefined` if the two differ in more than one text, or if merging would lose anything else of the second one. */
export const mergeChunks = (first: ChatChunk, second: ChatChunk): Merged | undefined => {
  const [a, ...others] = first.choices
  const [b, ...more] = second.choices
  if (a === undefined || b === undefined || others.length > 0 || more.length > 0) return undefined
  if (!sameBut(first, second, "choices") || !sameBut(a, b, "delta") || !isPlain(b)) return undefined
  const merged = mergeDeltas(a.delta, b.delta)
  if (merged === undefined) return undefined
  return { chunk: { ...first, choices: [{ ...a, delta: merged.delta }] }, added: merged.added }
}

/** The same without the padding members that some providers add. */
export const withoutPadding = <Piece extends Json>(piece: Piece): Piece => {
  if (piece["obfuscation"] === undefined) return piece
  const { obfuscation: _padding, ...rest } = piece
  // Only a member is gone that no piece has to have.
  return rest as unknown as Piece
}

/** Whether a choice has nothing but a delta and its index: members beside them are joined, not replaced. */
const isPlain = (choice: Choice): boolean =>
  Object.entries(choice).every(([name, value]) => name === "delta" || name === "index" || value == null)

const sameBut = (a: Json, b: Json, but: string): boolean => {
  const names = Object.keys(a)
  return names.length === Object.keys(b).length && names.every((name) => name === but || same(a[name], b[name]))
}

const same = (a: unknown, b: unknown): boolean =>
  a === b || (typeof a === "object" && typeof b === "object" && JSON.stringify(a) === JSON.stringify(b))

/** Whether joining `value` to anything changes nothing. */
export const isEmpty = (value: unknown): boolean =>
  value == null || value === "" || (Array.isArray(value) && value.length === 0)

const mergeDeltas = (a: Json, b: Json): { readonly delta: Choice["delta"]; readonly added: string } | undefined => {
  const names = Object.keys(a)
  if (names.length !== Object.keys(b).length || !names.every((name) => name in b)) return undefined
  const said = names.filter((name) => name !== "role" && !isEmpty(b[name]))
  const [name, ...more] = said
  if (name === undefined || more.length > 0) return undefined
  if (!sameBut(a, b, name)) return undefined
  const [before, after] = [a[name], b[name]]
  if (TEXTS.some((text) => text === name)) {
    if (typeof before !== "string" || typeof after !== "string") return undefined
    return { delta: { ...a, [name]: before + after }, added: after }
  }
  if (name !== "tool_calls") return undefined
  const merged = mergeCalls(before, after)
  // Only a text in it grew, so it still has the shape of its type.
  return merged === undefined
    ? undefined
    : { delta: { ...a, tool_calls: [merged.call] } as unknown as Choice["delta"], added: merged.added }
}

const isRecord = (value: unknown): value is Json => typeof value === "object" && value !== null && !Array.isArray(value)

/** Pieces of the arguments of one tool call. */
const mergeCalls = (before: unknown, after: unknown): { readonly call: Json; readonly added: string } | undefined => {
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
  if (!same(nameA, nameB) || !Object.values(nameB).every(isEmpty)) return undefined
  return { call: { ...a, function: { ...pieceA, arguments: argumentsA + argumentsB } }, added: argumentsB }
}
