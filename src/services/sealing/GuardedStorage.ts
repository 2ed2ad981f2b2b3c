/**
 * Key storage in libsodium's guarded memory (`sodium_malloc`): outside the JavaScript heap, between guard pages, locked
 * and left out of core dumps where the system allows it, and inaccessible except during a use. libsodium has no ML-KEM: a
 * use of such a key gives a copy of its seed to Node's crypto library.
 *
 * Keys share slabs: each guarded allocation costs at least three memory mappings, and with one allocation per session a
 * process would reach the system's limit at some twenty thousand sessions.
 */
import { type Bytes, concat } from "../../domain/bytes/bytes.ts"
import { ML_KEM_768 } from "../../domain/protocol/suites.ts"
import type { AgreementKey, HybridKey, HybridSecrets, KeyStorage, SigningKey } from "./KeyStorage.ts"
import { mlKemDecapsulate, mlKemPublicKey } from "./nativeKeys.ts"
import { secretBytes } from "./secretBytes.ts"
import { type Sodium, sodium } from "./sodium.ts"

const AGREEMENT_BYTES = 32
const SIGNING_BYTES = 64
const HYBRID_BYTES = ML_KEM_768.seedBytes + AGREEMENT_BYTES
/** One slab of agreement keys is 32 KiB, one of hybrid keys three times that. */
const SLOTS_PER_SLAB = 1024

/** The storage, or `undefined` where there is no libsodium. */
export const guardedStorage = (): KeyStorage | undefined => {
  if (sodium === undefined) return undefined
  const memory = new GuardedMemory(sodium)
  return {
    kind: "guarded",
    agreementKey: (secret) => new Agreement(memory.filledSlot(AGREEMENT_BYTES, secret)),
    hybridKey: (secrets) => new Hybrid(memory.filledSlot(HYBRID_BYTES, secrets)),
    signingKey: (seed) => new Signing(memory.slot(SIGNING_BYTES, 1), seed),
    wipe: () => memory.wipe(),
  }
}

interface Slab {
  readonly bytes: Bytes
  readonly slotBytes: number
  readonly free: Array<number>
}

class GuardedMemory {
  readonly sodium: Sodium
  isWiped = false
  private readonly slabs: Array<Slab> = []

  constructor(sodium: Sodium) {
    this.sodium = sodium
  }

  /** A free slot of `slotBytes`. A new slab, if one is needed, has room for `slots`. */
  slot(slotBytes: number, slots: number): Slot {
    const slab =
      this.slabs.find((slab) => slab.slotBytes === slotBytes && slab.free.length > 0) ?? this.addSlab(slotBytes, slots)
    const index = slab.free.pop()
    if (index === undefined) throw new Error("a slab without a free slot was chosen")
    return new Slot(this, slab, index)
  }

  /** A slot with `given`, which is overwritten, or random bytes. */
  filledSlot(slotBytes: number, given: Bytes | undefined): Slot {
    if (this.isWiped) throw new Error("a key was asked for after all were wiped")
    const slot = this.slot(slotBytes, SLOTS_PER_SLAB)
    slot.write((bytes) => {
      if (given === undefined) return this.sodium.randombytes_buf(bytes)
      bytes.set(given)
      given.fill(0)
    })
    return slot
  }

  /** Runs `use` while the slab is accessible. It is synchronous, so no other code sees the slab open. */
  use<A>({ bytes }: Slab, access: "read" | "write", use: () => A): A {
    if (access === "read") this.sodium.sodium_mprotect_readonly(bytes)
    else this.sodium.sodium_mprotect_readwrite(bytes)
    try {
      return use()
    } finally {
      this.sodium.sodium_mprotect_noaccess(bytes)
    }
  }

  wipe(): void {
    this.isWiped = true
    for (const slab of this.slabs) this.use(slab, "write", () => this.sodium.sodium_memzero(slab.bytes))
  }

  private addSlab(slotBytes: number, slots: number): Slab {
    const bytes = this.sodium.sodium_malloc(slotBytes * slots)
    this.sodium.sodium_memzero(bytes)
    this.sodium.sodium_mprotect_noaccess(bytes)
    const slab = { bytes, slotBytes, free: Array.from({ length: slots }, (_, slot) => slots - 1 - slot) }
    this.slabs.push(slab)
    return slab
  }
}

/** The place of one key. A class, because a session has one, and closures would take more memory. */
class Slot {
  private readonly memory: GuardedMemory
  private readonly slab: Slab
  private readonly index: number
  private live = true

  constructor(memory: GuardedMemory, slab: Slab, index: number) {
    this.memory = memory
    this.slab = slab
    this.index = index
  }

  get sodium(): Sodium {
    return this.memory.sodium
  }

  read<A>(use: (secret: Bytes) => A): A {
    if (!this.live || this.memory.isWiped) throw new Error("the key was destroyed")
    return this.memory.use(this.slab, "read", () => use(this.bytes()))
  }

  write(fill: (secret: Bytes) => void): void {
    this.memory.use(this.slab, "write", () => fill(this.bytes()))
  }

  destroy(): void {
    if (!this.live) return
    this.live = false
    this.write((bytes) => bytes.fill(0))
    this.slab.free.push(this.index)
  }

  private bytes(): Bytes {
    const { bytes, slotBytes } = this.slab
    return bytes.subarray(this.index * slotBytes, (this.index + 1) * slotBytes)
  }
}

class Agreement implements AgreementKey {
  readonly publicKey = new Uint8Array(AGREEMENT_BYTES)
  private readonly slot: Slot

  constructor(slot: Slot) {
    this.slot = slot
    slot.read((bytes) => slot.sodium.crypto_scalarmult_base(this.publicKey, bytes))
  }

  agree(peer: Bytes): Bytes {
    const shared = secretBytes(AGREEMENT_BYTES)
    this.slot.read((bytes) => this.slot.sodium.crypto_scalarmult(shared, bytes, peer))
    return shared
  }

  destroy(): void {
    this.slot.destroy()
  }
}

/** Both keys lie in one slot: to make memory accessible and inaccessible again costs as much as a signature. */
class Hybrid implements HybridKey {
  readonly x25519PublicKey = new Uint8Array(AGREEMENT_BYTES)
  private readonly slot: Slot

  constructor(slot: Slot) {
    this.slot = slot
    slot.read((bytes) => slot.sodium.crypto_scalarmult_base(this.x25519PublicKey, x25519In(bytes)))
  }

  get publicKey(): Bytes {
    return concat(
      this.slot.read((bytes) => mlKemPublicKey(mlKemIn(bytes))),
      this.x25519PublicKey,
    )
  }

  decapsulate(enc: Bytes): HybridSecrets {
    const x25519 = secretBytes(AGREEMENT_BYTES)
    const mlKem = this.slot.read((bytes) => {
      this.slot.sodium.crypto_scalarmult(x25519, x25519In(bytes), enc.subarray(ML_KEM_768.ciphertextBytes))
      return mlKemDecapsulate(mlKemIn(bytes), enc.subarray(0, ML_KEM_768.ciphertextBytes))
    })
    return { mlKem, x25519 }
  }

  destroy(): void {
    this.slot.destroy()
  }
}

const mlKemIn = (bytes: Bytes): Bytes => bytes.subarray(0, ML_KEM_768.seedBytes)
const x25519In = (bytes: Bytes): Bytes => bytes.subarray(ML_KEM_768.seedBytes)

class Signing implements SigningKey {
  readonly publicKey = new Uint8Array(32)
  private readonly slot: Slot

  constructor(slot: Slot, seed: Bytes) {
    this.slot = slot
    slot.write((bytes) => slot.sodium.crypto_sign_seed_keypair(this.publicKey, bytes, seed))
    seed.fill(0)
  }

  sign(message: Bytes): Bytes {
    const signature = new Uint8Array(SIGNING_BYTES)
    this.slot.read((bytes) => this.slot.sodium.crypto_sign_detached(signature, message, bytes))
    return signature
  }

  destroy(): void {
    this.slot.destroy()
  }
}
