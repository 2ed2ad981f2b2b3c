/**
 * Key storage in libsodium's guarded memory (`sodium_malloc`): outside the JavaScript heap, between guard pages, locked
 * and left out of core dumps where the system allows it, and inaccessible except during a use. libsodium has no ML-KEM: a
 * use of such a key gives a copy of its seed to Node's crypto library.
 *
 * Keys share slabs: each guarded allocation costs at least three memory mappings, and with one allocation per session a
 * process would reach the system's limit at some twenty thousand sessions.
 */
import type { Bytes } from "../../domain/bytes/bytes.ts"
import type { HeldSecret, KeyStorage } from "./KeyStorage.ts"
import { secretBytes } from "./secretBytes.ts"
import { type Sodium, sodium } from "./sodium.ts"

const KEY_BYTES = 32
/** libsodium keeps an Ed25519 public key beside its seed. */
const SIGNING_BYTES = 64
const SIGNATURE_BYTES = 64
/** One slab of X25519 keys is 32 KiB, one of X-Wing keys three times that. */
const SLOTS_PER_SLAB = 1024

/** The storage, or `undefined` where there is no libsodium. */
export const guardedStorage = (): KeyStorage | undefined => (sodium === undefined ? undefined : storageOf(sodium))

const storageOf = (sodium: Sodium): KeyStorage => {
  const memory = new GuardedMemory(sodium)
  return {
    kind: "guarded",
    hold: (length, given) => memory.filledSlot(length, given),
    x25519PublicKey: (secret) => {
      const publicKey = new Uint8Array(KEY_BYTES)
      sodium.crypto_scalarmult_base(publicKey, secret)
      return publicKey
    },
    x25519: (secret, peer) => {
      const shared = secretBytes(KEY_BYTES)
      sodium.crypto_scalarmult(shared, secret, peer)
      return shared
    },
    signingKey: (seed) => {
      const slot = memory.slot(SIGNING_BYTES, 1)
      const publicKey = new Uint8Array(KEY_BYTES)
      slot.write((secret) => sodium.crypto_sign_seed_keypair(publicKey, secret, seed))
      seed.fill(0)
      return {
        publicKey,
        sign: (message) => {
          const signature = new Uint8Array(SIGNATURE_BYTES)
          slot.read((secret) => sodium.crypto_sign_detached(signature, message, secret))
          return signature
        },
        destroy: () => slot.destroy(),
      }
    },
    wipe: () => memory.wipe(),
  }
}

interface Slab {
  readonly bytes: Bytes
  readonly slotBytes: number
  readonly free: Array<number>
}

class GuardedMemory {
  private readonly sodium: Sodium
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
class Slot implements HeldSecret {
  private readonly memory: GuardedMemory
  private readonly slab: Slab
  private readonly index: number
  private live = true

  constructor(memory: GuardedMemory, slab: Slab, index: number) {
    this.memory = memory
    this.slab = slab
    this.index = index
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
