import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { utf8 } from "../../../src/domain/bytes/bytes.ts"
import type { Form } from "../../../src/domain/protocol/transcript.ts"
import { ResponseSealer } from "../../../src/services/sealing/ResponseSealer.ts"
import * as reference from "../../support/protocol/reference.ts"
import { openedOf } from "../../support/protocol/Sealing.ts"

const bytes32 = fc.uint8Array({ minLength: 32, maxLength: 32 })
const inputs = fc.record({
  secret: bytes32,
  enc: bytes32,
  responseNonce: bytes32,
  requestHash: bytes32,
  request: fc.record({
    credential: fc.string({ maxLength: 50, unit: "binary" }),
    payload: fc.uint8Array({ maxLength: 100 }),
  }),
})
const frames = fc.array(fc.uint8Array({ maxLength: 1500 }), { maxLength: 6 })
const forms = fc.constantFrom<Form>("complete", "stream")

describe("the sealer", () => {
  it("seals, links and commits to any frames as the reference does", () => {
    fc.assert(
      fc.property(inputs, frames, forms, (input, some, form) => {
        // A complete answer has one data frame.
        const payloads = form === "complete" ? some.slice(0, 2) : some
        const { enc, request, requestHash, responseNonce, secret } = input
        const keys = reference.responseKeys(secret, enc, responseNonce)
        const exchange = {
          keys,
          requestHash: Buffer.from(requestHash),
          responseNonce: Buffer.from(responseNonce),
        }
        const sealer = new ResponseSealer({
          ...input,
          secret: secret.slice(),
          request: { credential: utf8(request.credential), payload: request.payload },
        })
        const expected: Array<reference.Frame> = []
        for (const [index, payload] of payloads.entries()) {
          const final = index === payloads.length - 1
          if (final) {
            assert.deepStrictEqual(sealer.dataSummary(), {
              root: reference.b64u(expected.at(-1)?.chain ?? reference.chainSeed(requestHash, responseNonce)),
              count: index,
              response_commitment: reference.b64u(
                reference.responseCommitment(keys.commitKey, payloads.slice(0, index)),
              ),
            })
          }
          const frame = reference.sealFrame(exchange, expected, {
            index: expected.length,
            form,
            final,
            payload: Buffer.from(payload),
            floor: reference.FLOOR,
            requestHash: exchange.requestHash,
          })
          expected.push(frame)
          assert.deepStrictEqual(Buffer.from(sealer.seal(form, payload, final)), frame.ciphertext)
          assert.deepStrictEqual(sealer.summary(), { root: reference.b64u(frame.chain), count: index + 1 })
        }
        assert.strictEqual(
          sealer.requestCommitment,
          reference.b64u(reference.requestCommitment(keys, reference.text(request.credential), request.payload)),
        )
      }),
    )
  })

  const make = () => openedOf(new Uint8Array()).sealer

  it("does not change the payload", () => {
    const payload = new Uint8Array([1, 2, 3])
    make().seal("stream", payload, false)
    assert.deepStrictEqual(payload, new Uint8Array([1, 2, 3]))
  })

  it("refuses to seal after its keys were overwritten with zeros", () => {
    const sealer = make()
    sealer.destroy()
    assert.throws(() => sealer.seal("stream", new Uint8Array([1]), false), /destroyed/)
  })
})
