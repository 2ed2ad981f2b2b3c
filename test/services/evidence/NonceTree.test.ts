import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { rootOf } from "../../../src/attestation/binding.ts"
import { leafInput, nodeInput } from "../../../src/domain/protocol/evidence.ts"
import { NonceTree } from "../../../src/services/evidence/NonceTree.ts"
import { sha256 } from "../../../src/services/sealing/sha256.ts"

const nonceOf = (index: number) => sha256(Buffer.from(String(index)))

/** RFC 6962 §2.1, as written there: splits at the largest power of two below the size. */
const treeHash = (nonces: ReadonlyArray<Uint8Array>): Uint8Array => {
  const [first] = nonces
  if (first === undefined) return sha256()
  if (nonces.length === 1) return sha256(leafInput(first))
  let half = 1
  while (half * 2 < nonces.length) half *= 2
  return sha256(nodeInput(treeHash(nonces.slice(0, half)), treeHash(nonces.slice(half))))
}

/** The root to which the verifier finds that a path leads. */
const rootFrom = (nonce: Uint8Array, index: number, tree: NonceTree) =>
  rootOf(nonce, { index, size: tree.size, hashes: tree.pathFor(index) })

describe("the tree of nonces", () => {
  it.prop(
    "has RFC 6962's root, and each path leads to it",
    [Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 70 }))],
    ([size]) => {
      const nonces = Array.from({ length: size }, (_, index) => nonceOf(index))
      const tree = new NonceTree(nonces)
      assert.deepStrictEqual(tree.root, treeHash(nonces))
      for (const [index, nonce] of nonces.entries()) {
        assert.deepStrictEqual(rootFrom(nonce, index, tree), tree.root)
      }
    },
  )
})
