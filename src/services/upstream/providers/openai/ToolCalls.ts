/** Streamed tool calls of one choice, as OpenAI-compatible servers send them. */

import { DistinctIds } from "../shared/DistinctIds.ts"

interface PieceOfCall {
  readonly index: number | undefined
  readonly id: string | undefined
  readonly name: string | undefined
  readonly arguments: string
}

/**
 * Assigns pieces to calls. A piece should have its call's index, and only the first one an id and a name. But some
 * servers leave out the index or give all calls the same one, some send no id, the same one for all calls or another one in
 * each piece, and some repeat id and name in every piece. Calls are numbered in the order in which they begin.
 */
export class ToolCalls {
  private readonly prefix: string
  private readonly calls: Array<OpenCall> = []
  private readonly byIndex = new Map<number, OpenCall>()
  private readonly byId = new Map<string, OpenCall>()
  private readonly unnamed = new Set<OpenCall>()
  private readonly ids = new DistinctIds()

  /** `prefix` begins the ids of calls that come without one. */
  constructor(prefix: string) {
    this.prefix = prefix
  }

  /** Whether every call that began has a name, without which it cannot be used. */
  get named(): boolean {
    return this.unnamed.size === 0
  }

  /** Returns the call that `piece` continues, or `undefined` if it begins one. */
  find(piece: PieceOfCall): OpenCall | undefined {
    const sameId = piece.id === undefined ? undefined : this.byId.get(piece.id)
    const expected = piece.index === undefined ? (sameId ?? this.calls.at(-1)) : this.byIndex.get(piece.index)
    if (expected?.takes(piece)) return expected
    // Pieces of calls that share an index may alternate.
    const mayBe = expected !== undefined || piece.name === undefined
    if (mayBe && sameId?.takes(piece)) return sameId
    return sameId === undefined && expected?.isContinuedBy(piece) ? expected : undefined
  }

  begin({ id, index }: PieceOfCall): OpenCall {
    const at = this.calls.length
    const call = new OpenCall(at, this.ids.take(id, `${this.prefix}_${at}`), id)
    this.calls.push(call)
    this.unnamed.add(call)
    if (id !== undefined) this.byId.set(id, call)
    if (index !== undefined) this.byIndex.set(index, call)
    return call
  }

  grow(call: OpenCall, piece: PieceOfCall): void {
    call.grow(piece)
    if (call.name !== undefined) this.unnamed.delete(call)
  }
}

class OpenCall {
  readonly index: number
  readonly id: string
  name: string | undefined
  /** The provider's id of the call. */
  private readonly given: string | undefined
  private readonly arguments = new Nesting()

  constructor(index: number, id: string, given: string | undefined) {
    this.index = index
    this.id = id
    this.given = given
  }

  /** Whether `piece` can belong to this call: not with another id or name, nor after its arguments are complete. */
  takes(piece: PieceOfCall): boolean {
    if (piece.id !== undefined && this.given !== undefined && piece.id !== this.given) return false
    if (piece.name !== undefined && this.name !== undefined && piece.name !== this.name) return false
    const headed = piece.id !== undefined || piece.name !== undefined
    return !(headed && this.arguments.closed && piece.arguments.trim() !== "")
  }

  /** Whether a piece with another id is more of this call's arguments. */
  isContinuedBy(piece: PieceOfCall): boolean {
    const isNameless = piece.name === undefined && piece.arguments !== ""
    return isNameless && this.name !== undefined && !this.arguments.closed
  }

  grow(piece: PieceOfCall): void {
    this.name ??= piece.name
    this.arguments.add(piece.arguments)
  }
}

/** Follows JSON text as it grows, to know when its outermost object has closed. */
class Nesting {
  closed = false
  private depth = 0
  private inString = false
  private escaped = false

  add(text: string): void {
    for (const char of text) {
      if (this.closed) return
      if (this.escaped) this.escaped = false
      else if (char === "\\") this.escaped = this.inString
      else if (char === '"') this.inString = !this.inString
      else if (this.inString) continue
      else if (char === "{" || char === "[") this.depth++
      else if (char === "}" || char === "]") this.closed = --this.depth === 0
    }
  }
}
