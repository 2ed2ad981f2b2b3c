/** Binding of evidence to key, configuration and nonces. */
import { createHash } from "node:crypto"
import { assert, describe, it } from "@effect/vitest"
import { bindingOf, rootOf } from "../../src/attestation/binding.ts"
import { NonceTree } from "../../src/services/evidence/NonceTree.ts"

const sha256 = (...parts: ReadonlyArray<Uint8Array>) =>
  parts.reduce((hash, part) => hash.update(part), createHash("sha256")).digest()
const nonces = (count: number) => Array.from({ length: count }, (_, i) => Uint8Array.from(sha256(Uint8Array.of(i))))
const hex = (bytes: Uint8Array | undefined) => (bytes === undefined ? undefined : Buffer.from(bytes).toString("hex"))

describe("binding", () => {
  it("hashes label, kid, configuration and root", () => {
    const [kid, root, configuration] = [new Uint8Array(32).fill(1), new Uint8Array(32).fill(2), Buffer.from("{}")]
    const expected = sha256(Buffer.from("sealgate evidence 1"), kid, sha256(configuration), root)
    assert.strictEqual(hex(bindingOf({ kid, configuration, root })), expected.toString("hex"))
  })

  it("does not lead from another nonce, index or size to the root", () => {
    const leaves = nonces(7)
    const [first = new Uint8Array(32), second = new Uint8Array(32)] = leaves
    const tree = new NonceTree(leaves)
    const path = { index: 0, size: tree.size, hashes: tree.pathFor(0) }
    assert.strictEqual(hex(rootOf(first, path)), hex(tree.root))
    for (const wrong of [
      rootOf(second, path),
      rootOf(first, { ...path, index: 1 }),
      rootOf(first, { ...path, size: 4 }),
    ]) {
      assert.notStrictEqual(hex(wrong), hex(tree.root))
    }
    assert.isUndefined(rootOf(first, { ...path, hashes: path.hashes.slice(1) }))
    assert.isUndefined(rootOf(first, { ...path, index: 7 }))
  })
})
