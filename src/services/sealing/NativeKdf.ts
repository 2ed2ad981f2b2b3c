/** HKDF of HPKE on Node's native primitives. It remembers what it derived, so that all of it can be overwritten. */
import { createHmac } from "node:crypto"
import type { KdfInterface } from "@hpke/core"
import { type Bytes, concat, utf8 } from "../../domain/bytes.ts"
import { KDF_ID } from "../../domain/suites.ts"
import { exactBuffer, secretBytes } from "./secretBytes.ts"

const HASH_BYTES = 32
const EMPTY = new Uint8Array(0)
const VERSION_LABEL = utf8("HPKE-v1")

type BufferLike = ArrayBufferLike | ArrayBufferView

export const view = (input: BufferLike): Uint8Array =>
  ArrayBuffer.isView(input) ? new Uint8Array(input.buffer, input.byteOffset, input.byteLength) : new Uint8Array(input)

/** HKDF-SHA256 (RFC 5869) with HPKE's labels. It remembers every output, so that they can all be overwritten. */
export class NativeKdf implements KdfInterface {
  readonly id = KDF_ID
  readonly hashSize = HASH_BYTES
  private suiteId: Uint8Array
  private readonly outputs: Array<Uint8Array>

  constructor(suiteId: Uint8Array = EMPTY, outputs: Array<Uint8Array> = []) {
    this.suiteId = suiteId
    this.outputs = outputs
  }

  /** The same KDF for another suite id; its outputs are overwritten together with this one's. */
  forSuite(suiteId: Uint8Array): NativeKdf {
    return new NativeKdf(suiteId, this.outputs)
  }

  /** Overwrites every secret derived so far. */
  wipe(): void {
    for (const output of this.outputs) output.fill(0)
    this.outputs.length = 0
  }

  init(suiteId: Uint8Array): void {
    this.suiteId = suiteId
  }

  buildLabeledIkm(label: Uint8Array, ikm: Uint8Array): Uint8Array {
    const prefix = concat(VERSION_LABEL, this.suiteId, label)
    const labeled = secretBytes(prefix.length + ikm.length)
    labeled.set(prefix)
    labeled.set(ikm, prefix.length)
    return this.remember(labeled)
  }

  buildLabeledInfo(label: Uint8Array, info: Uint8Array, length: number): Uint8Array {
    return concat(Uint8Array.of(length >> 8, length & 0xff), VERSION_LABEL, this.suiteId, label, info)
  }

  extractSync(salt: Uint8Array, ikm: Uint8Array): Bytes {
    const key = salt.length === 0 ? new Uint8Array(HASH_BYTES) : salt
    return this.remember(new Uint8Array(exactBuffer(createHmac("sha256", key).update(ikm).digest())))
  }

  expandSync(prk: Uint8Array, info: Uint8Array, length: number): Bytes {
    if (length > HASH_BYTES) throw new RangeError("nothing of this suite is longer than one block of HKDF")
    const output = secretBytes(length)
    const block = createHmac("sha256", prk).update(info).update(Uint8Array.of(1)).digest()
    output.set(block.subarray(0, length))
    block.fill(0)
    return this.remember(output)
  }

  async extract(salt: BufferLike, ikm: BufferLike): Promise<ArrayBuffer> {
    return this.extractSync(view(salt), view(ikm)).buffer
  }

  async expand(prk: BufferLike, info: BufferLike, length: number): Promise<ArrayBuffer> {
    return this.expandSync(view(prk), view(info), length).buffer
  }

  async extractAndExpand(salt: BufferLike, ikm: BufferLike, info: BufferLike, length: number): Promise<ArrayBuffer> {
    return this.expandSync(this.extractSync(view(salt), view(ikm)), view(info), length).buffer
  }

  async labeledExtract(salt: BufferLike, label: Uint8Array, ikm: Uint8Array): Promise<ArrayBuffer> {
    return this.extractSync(view(salt), this.buildLabeledIkm(label, ikm)).buffer
  }

  async labeledExpand(prk: BufferLike, label: Uint8Array, info: Uint8Array, length: number): Promise<ArrayBuffer> {
    return this.expandSync(view(prk), this.buildLabeledInfo(label, info, length), length).buffer
  }

  /** Has `output` overwritten with everything else that is secret here. */
  remember<Output extends Uint8Array>(output: Output): Output {
    this.outputs.push(output)
    return output
  }
}
