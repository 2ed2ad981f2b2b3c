/** The tree over the nonces that one report answers (RFC 6962 §2.1). */
import type { Bytes } from "../../domain/bytes/bytes.ts"
import { leafInput, nodeInput } from "../../domain/protocol/evidence.ts"
import { sha256 } from "../sealing/sha256.ts"

/** Levels from the leaves to the root. A node without a sibling moves up unchanged, which equals RFC 6962's split. */
export class NonceTree {
  private readonly levels: ReadonlyArray<ReadonlyArray<Bytes>>
  readonly size: number

  constructor(nonces: ReadonlyArray<Bytes>) {
    this.size = nonces.length
    const levels = [nonces.map((nonce) => sha256(leafInput(nonce)))]
    for (let level = levels[0] ?? []; level.length > 1; levels.push(level)) level = parents(level)
    this.levels = levels
  }

  get root(): Bytes {
    return this.levels.at(-1)?.[0] ?? sha256()
  }

  /** The siblings on the way from the nonce at `index` to the root. */
  pathFor(index: number): ReadonlyArray<Bytes> {
    return this.levels.flatMap((level, height) => level[(index >> height) ^ 1] ?? [])
  }
}

const parents = (level: ReadonlyArray<Bytes>): Array<Bytes> =>
  level.flatMap((left, index) => {
    if (index % 2 === 1) return []
    const right = level[index + 1]
    return [right === undefined ? left : sha256(nodeInput(left, right))]
  })
