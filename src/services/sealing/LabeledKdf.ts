/** HKDF-SHA256 (RFC 5869) with the labels of HPKE (RFC 9180 §4). It remembers what it derived, so that all can be overwritten. */
import { createHmac } from "node:crypto"
import { type Bytes, concat } from "../../domain/bytes.ts"
import { HPKE_VERSION, u16 } from "../../domain/hpke.ts"
import { exactBuffer, secretBytes } from "./secretBytes.ts"

const HASH_BYTES = 32
const NO_SALT = new Uint8Array(HASH_BYTES)
const FIRST_BLOCK = Uint8Array.of(1)

export class LabeledKdf {
  /** `"HPKE-v1" ‖ suite_id`, with which everything labelled begins. */
  private readonly prefix: Bytes
  private readonly outputs: Array<Uint8Array>

  constructor(suiteId: Uint8Array, outputs: Array<Uint8Array> = []) {
    this.prefix = concat(HPKE_VERSION, suiteId)
    this.outputs = outputs
  }

  /** The same KDF for another suite id; its outputs are overwritten together with this one's. */
  forSuite(suiteId: Uint8Array): LabeledKdf {
    return new LabeledKdf(suiteId, this.outputs)
  }

  /** `LabeledExtract(salt, label, ikm)`; without a salt, that of RFC 5869. */
  extract(salt: Uint8Array, label: Uint8Array, ikm: Uint8Array): Bytes {
    const hmac = createHmac("sha256", salt.length === 0 ? NO_SALT : salt)
    return this.remember(new Uint8Array(exactBuffer(hmac.update(this.prefix).update(label).update(ikm).digest())))
  }

  /** `LabeledExpand(prk, label, info, length)`, for lengths of up to one block of the hash. */
  expand(prk: Uint8Array, label: Uint8Array, info: Uint8Array, length: number): Bytes {
    if (length > HASH_BYTES) throw new RangeError("nothing of these suites is longer than one block of HKDF")
    const labeled = concat(u16(length), this.prefix, label, info, FIRST_BLOCK)
    const block = createHmac("sha256", prk).update(labeled).digest()
    const output = secretBytes(length)
    output.set(block.subarray(0, length))
    block.fill(0)
    return this.remember(output)
  }

  /** Has `output` overwritten with everything else that is secret here. */
  remember<Output extends Uint8Array>(output: Output): Output {
    this.outputs.push(output)
    return output
  }

  /** Overwrites every secret derived so far. */
  wipe(): void {
    for (const output of this.outputs) output.fill(0)
    this.outputs.length = 0
  }
}
