import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { chainLink, chainSeed, type Form, frameAad, frameNonce } from "../../../src/domain/protocol/transcript.ts"
import { equalBytes } from "../../../src/domain/bytes/bytes.ts"
import * as reference from "../../support/protocol/reference.ts"

const hash = fc.uint8Array({ minLength: 32, maxLength: 32 })
const nonce = fc.uint8Array({ minLength: 12, maxLength: 12 })
const form = fc.constantFrom<Form>("complete", "stream")

interface Link {
  readonly final: boolean
  readonly ciphertext: Uint8Array
}
const link = fc.record({ final: fc.boolean(), ciphertext: fc.uint8Array({ minLength: 1, maxLength: 20 }) })

const rootOf = (links: ReadonlyArray<Link>): Buffer => {
  let chain = reference.sha256(chainSeed(Buffer.alloc(32, 1), Buffer.alloc(32, 2)))
  for (const [index, { ciphertext, final }] of links.entries()) {
    chain = reference.sha256(chainLink(chain, index, final, reference.sha256(ciphertext)))
  }
  return chain
}

describe("frames", () => {
  it("have the same nonce and associated data as the reference's", () => {
    fc.assert(
      fc.property(nonce, hash, form, fc.maxSafeNat(), fc.boolean(), (base, requestHash, form, index, final) => {
        assert.deepStrictEqual(frameNonce(base, index), new Uint8Array(reference.frameNonce(base, index)))
        assert.deepStrictEqual(
          frameAad(form, index, final, requestHash),
          new Uint8Array(reference.frameAad(form, index, final, requestHash)),
        )
      }),
    )
  })

  it("never share a nonce", () => {
    fc.assert(
      fc.property(nonce, fc.maxSafeNat(), fc.maxSafeNat(), (base, a, b) => {
        assert.strictEqual(equalBytes(frameNonce(base, a), frameNonce(base, b)), a === b)
      }),
    )
  })

  it("do not change the base nonce", () => {
    const base = new Uint8Array(12).fill(7)
    frameNonce(base, 12345)
    assert.deepStrictEqual(base, new Uint8Array(12).fill(7))
  })
})

describe("the chain", () => {
  const links = fc.array(link, { minLength: 1, maxLength: 8 })
  /** Whether two sequences of frames are equal. */
  const same = (a: ReadonlyArray<Link>, b: ReadonlyArray<Link>) =>
    a.length === b.length &&
    a.every(({ ciphertext, final }, i) => {
      const other = b[i]
      return other !== undefined && other.final === final && equalBytes(other.ciphertext, ciphertext)
    })

  const change = fc.oneof(
    fc.record({ kind: fc.constant("drop" as const), at: fc.nat() }),
    fc.record({ kind: fc.constant("duplicate" as const), at: fc.nat() }),
    fc.record({ kind: fc.constant("swap" as const), at: fc.nat(), with: fc.nat() }),
    fc.record({ kind: fc.constant("insert" as const), at: fc.nat(), link }),
    fc.record({ kind: fc.constant("finality" as const), at: fc.nat() }),
    fc.record({
      kind: fc.constant("byte" as const),
      at: fc.nat(),
      byte: fc.nat(),
      value: fc.integer({ min: 1, max: 255 }),
    }),
  )

  const apply = (links: ReadonlyArray<Link>, edit: typeof change extends fc.Arbitrary<infer A> ? A : never) => {
    const at = edit.at % links.length
    const edited = [...links]
    const here = edited[at]
    if (here === undefined) return edited
    switch (edit.kind) {
      case "drop":
        edited.splice(at, 1)
        break
      case "duplicate":
        edited.splice(at, 0, here)
        break
      case "swap": {
        const other = edit.with % links.length
        edited[at] = edited[other] ?? here
        edited[other] = here
        break
      }
      case "insert":
        edited.splice(at, 0, edit.link)
        break
      case "finality":
        edited[at] = { ...here, final: !here.final }
        break
      case "byte": {
        const ciphertext = here.ciphertext.slice()
        const byte = edit.byte % ciphertext.length
        ciphertext[byte] = (ciphertext[byte] ?? 0) ^ edit.value
        edited[at] = { ...here, ciphertext }
      }
    }
    return edited
  }

  it("has another root after any change, removal, repetition, swap or insertion of frames", () => {
    fc.assert(
      fc.property(links, change, (links, edit) => {
        const edited = apply(links, edit)
        assert.strictEqual(rootOf(links).equals(rootOf(edited)), same(links, edited))
      }),
      { numRuns: 1000 },
    )
  })

  it("starts from the request and the nonce", () => {
    fc.assert(
      fc.property(hash, hash, hash, (request, nonce, other) => {
        fc.pre(!equalBytes(request, other) && !equalBytes(nonce, other))
        const seed = reference.sha256(chainSeed(request, nonce))
        assert.isFalse(seed.equals(reference.sha256(chainSeed(other, nonce))))
        assert.isFalse(seed.equals(reference.sha256(chainSeed(request, other))))
        assert.deepStrictEqual(seed, reference.chainSeed(request, nonce))
      }),
    )
  })
})
