/** HKDF-SHA256 (RFC 5869) with the labels of HPKE (RFC 9180 §4). Its outputs can be overwritten together. */
import { type Bytes, concat } from "../../domain/bytes/bytes.ts"
import { HPKE_VERSION, u16 } from "../../domain/protocol/hpke.ts"
import { HASH_BYTES } from "../../domain/protocol/transcript.ts"
import { secretBytes } from "./secretBytes.ts"
import { hmacSha256 } from "./sha256.ts"

const NO_SALT = new Uint8Array(HASH_BYTES)
const FIRST_BLOCK = Uint8Array.of(1)
/** Most outputs of one key schedule, including those of a KEM that uses this KDF. */
const MOST_OUTPUTS = 10

/** One buffer for all outputs, because separate buffers cost more garbage collection. */
interface Outputs {
  readonly memory: Bytes
  used: number
}

export class LabeledKdf {
  /** `"HPKE-v1" ‖ suite_id`: the prefix of every labelled input. */
  private readonly prefix: Bytes
  private readonly outputs: Outputs

  constructor(suiteId: Uint8Array, outputs: Outputs = { memory: secretBytes(MOST_OUTPUTS * HASH_BYTES), used: 0 }) {
    this.prefix = concat(HPKE_VERSION, suiteId)
    this.outputs = outputs
  }

  /** The KDF for another suite id, with the same outputs. */
  forSuite(suiteId: Uint8Array): LabeledKdf {
    return new LabeledKdf(suiteId, this.outputs)
  }

  /** `LabeledExtract(salt, label, ikm)`. An empty salt stands for 32 zero bytes (RFC 5869 §2.2). */
  extract(salt: Uint8Array, label: Uint8Array, ikm: Uint8Array): Bytes {
    const output = this.output()
    hmacSha256(output, salt.length === 0 ? NO_SALT : salt, this.prefix, label, ikm)
    return output
  }

  /** `LabeledExpand(prk, label, info, length)`, for up to 32 bytes. */
  expand(prk: Uint8Array, label: Uint8Array, info: Uint8Array, length: number): Bytes {
    if (length > HASH_BYTES) throw new RangeError("nothing of these suites is longer than one block of HKDF")
    const output = this.output()
    hmacSha256(output, prk, u16(length), this.prefix, label, info, FIRST_BLOCK)
    return length === HASH_BYTES ? output : output.subarray(0, length)
  }

  /** Moves a 32-byte secret to the outputs, and overwrites `secret`. */
  keep(secret: Uint8Array): Bytes {
    const output = this.output()
    output.set(secret)
    secret.fill(0)
    return output
  }

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
