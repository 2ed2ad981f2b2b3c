/** HKDF-SHA256 (RFC 5869) with the labels of HPKE (RFC 9180 §4). It keeps what it derives, so that all can be overwritten. */
import { type Bytes, concat } from "../../domain/bytes/bytes.ts"
import { HPKE_VERSION, u16 } from "../../domain/protocol/hpke.ts"
import { secretBytes } from "./secretBytes.ts"
import { HASH_BYTES, hmacSha256 } from "./sha256.ts"

const NO_SALT = new Uint8Array(HASH_BYTES)
const FIRST_BLOCK = Uint8Array.of(1)
/** How many outputs one key schedule has, with those of a KEM that uses this KDF too. */
const MOST_OUTPUTS = 10

/** One piece of memory for all outputs, because each piece by itself is one more for the collector. */
interface Outputs {
  readonly memory: Bytes
  used: number
}

export class LabeledKdf {
  /** `"HPKE-v1" ‖ suite_id`, with which everything labelled begins. */
  private readonly prefix: Bytes
  private readonly outputs: Outputs

  constructor(suiteId: Uint8Array, outputs: Outputs = { memory: secretBytes(MOST_OUTPUTS * HASH_BYTES), used: 0 }) {
    this.prefix = concat(HPKE_VERSION, suiteId)
    this.outputs = outputs
  }

  /** The same KDF for another suite id; its outputs are overwritten together with this one's. */
  forSuite(suiteId: Uint8Array): LabeledKdf {
    return new LabeledKdf(suiteId, this.outputs)
  }

  /** `LabeledExtract(salt, label, ikm)`; without a salt, that of RFC 5869. */
  extract(salt: Uint8Array, label: Uint8Array, ikm: Uint8Array): Bytes {
    const output = this.output()
    hmacSha256(output, salt.length === 0 ? NO_SALT : salt, this.prefix, label, ikm)
    return output
  }

  /** `LabeledExpand(prk, label, info, length)`, for lengths of up to one block of the hash. */
  expand(prk: Uint8Array, label: Uint8Array, info: Uint8Array, length: number): Bytes {
    if (length > HASH_BYTES) throw new RangeError("nothing of these suites is longer than one block of HKDF")
    const output = this.output()
    hmacSha256(output, prk, u16(length), this.prefix, label, info, FIRST_BLOCK)
    return length === HASH_BYTES ? output : output.subarray(0, length)
  }

  /** A copy of a secret of the length of a hash, which is overwritten with everything else here; `secret` is at once. */
  keep(secret: Uint8Array): Bytes {
    const output = this.output()
    output.set(secret)
    secret.fill(0)
    return output
  }

  /** Overwrites every secret derived so far. The next ones take their place. */
  wipe(): void {
    this.outputs.memory.fill(0)
    this.outputs.used = 0
  }

  private output(): Bytes {
    const { memory, used } = this.outputs
    this.outputs.used = used + HASH_BYTES
    if (this.outputs.used > memory.length) throw new RangeError("no key schedule derives so much")
    return memory.subarray(used, used + HASH_BYTES)
  }
}
