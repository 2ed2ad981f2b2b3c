/**
 * Key storage in libsodium's guarded memory (`sodium_malloc`): outside the JavaScript heap, between guard pages, locked
 * and left out of core dumps where the system allows it, and without any access rights between two uses. libsodium has no
 * ML-KEM: a use of such a key hands a copy of its seed to Node's crypto library.
 *
 * Keys share slabs, because every guarded allocation costs at least three memory mappings, of which a process has a
 * limited number: one allocation per session would fail at some twenty thousand sessions.
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

interface Slab {
  readonly memory: Bytes
  readonly slotBytes: number
  readonly free: Array<number>
}

/** The storage, or `undefined` where there is no libsodium. */
export const guardedStorage = (): KeyStorage | undefined => (sodium === undefined ? undefined : makeStorage(sodium))

const makeStorage = (sodium: Sodium): KeyStorage => {
  const slabs: Array<Slab> = []
  let wiped = false

  const makeSlab = (slotBytes: number, slots: number): Slab => {
    const memory = sodium.sodium_malloc(slotBytes * slots)
    sodium.sodium_memzero(memory)
    sodium.sodium_mprotect_noaccess(memory)
    const slab = { memory, slotBytes, free: Array.from({ length: slots }, (_, slot) => slots - 1 - slot) }
    slabs.push(slab)
    return slab
  }

  /** Runs `use` while the slab is accessible. Synchronous, so nothing else of the process sees it open. */
  const withSlab = <A>(slab: Slab, access: "read" | "write", use: () => A): A => {
    if (access === "read") sodium.sodium_mprotect_readonly(slab.memory)
    else sodium.sodium_mprotect_readwrite(slab.memory)
    try {
      return use()
    } finally {
      sodium.sodium_mprotect_noaccess(slab.memory)
    }
  }

  /** Where one key is. There is one for each session, so it holds no more than it has to. */
  class Slot {
    private readonly slab: Slab
    private readonly index: number
    private live = true

    constructor(slotBytes: number, slots: number) {
      this.slab =
        slabs.find((slab) => slab.slotBytes === slotBytes && slab.free.length > 0) ?? makeSlab(slotBytes, slots)
      const index = this.slab.free.pop()
      if (index === undefined) throw new Error("a slab without a free slot was chosen")
      this.index = index
    }

    private bytes(): Bytes {
      const { memory, slotBytes } = this.slab
      return memory.subarray(this.index * slotBytes, (this.index + 1) * slotBytes)
    }

    read<A>(use: (secret: Bytes) => A): A {
      if (!this.live || wiped) throw new Error("the key was destroyed")
      return withSlab(this.slab, "read", () => use(this.bytes()))
    }

    write(fill: (secret: Bytes) => void): void {
      withSlab(this.slab, "write", () => fill(this.bytes()))
    }

    destroy(): void {
      if (!this.live) return
      this.live = false
      this.write((bytes) => bytes.fill(0))
      this.slab.free.push(this.index)
    }
  }

  /** A slot with `given`, which is overwritten, or random bytes. */
  const filledSlot = (slotBytes: number, given: Bytes | undefined) => {
    if (wiped) throw new Error("a key was asked for after all were wiped")
    const slot = new Slot(slotBytes, SLOTS_PER_SLAB)
    slot.write((bytes) => {
      if (given === undefined) return sodium.randombytes_buf(bytes)
      bytes.set(given)
      given.fill(0)
    })
    return slot
  }

  class Agreement implements AgreementKey {
    readonly publicKey = new Uint8Array(AGREEMENT_BYTES)
    private readonly slot: Slot

    constructor(slot: Slot) {
      this.slot = slot
      slot.read((bytes) => sodium.crypto_scalarmult_base(this.publicKey, bytes))
    }

    agree(peer: Bytes): Bytes {
      const shared = secretBytes(AGREEMENT_BYTES)
      this.slot.read((bytes) => sodium.crypto_scalarmult(shared, bytes, peer))
      return shared
    }

    destroy(): void {
      this.slot.destroy()
    }
  }

  /** Both keys lie in one slot, because making memory accessible and inaccessible again costs as much as a signature. */
  class Hybrid implements HybridKey {
    readonly x25519PublicKey = new Uint8Array(AGREEMENT_BYTES)
    private readonly slot: Slot

    constructor(slot: Slot) {
      this.slot = slot
      slot.read((bytes) => sodium.crypto_scalarmult_base(this.x25519PublicKey, bytes.subarray(ML_KEM_768.seedBytes)))
    }

    get publicKey(): Bytes {
      return concat(
        this.slot.read((bytes) => mlKemPublicKey(bytes.subarray(0, ML_KEM_768.seedBytes))),
        this.x25519PublicKey,
      )
    }

    decapsulate(enc: Bytes): HybridSecrets {
      const x25519 = secretBytes(AGREEMENT_BYTES)
      const mlKem = this.slot.read((bytes) => {
        const peer = enc.subarray(ML_KEM_768.ciphertextBytes)
        sodium.crypto_scalarmult(x25519, bytes.subarray(ML_KEM_768.seedBytes), peer)
        return mlKemDecapsulate(bytes.subarray(0, ML_KEM_768.seedBytes), enc.subarray(0, ML_KEM_768.ciphertextBytes))
      })
      return { mlKem, x25519 }
    }

    destroy(): void {
      this.slot.destroy()
    }
  }

  return {
    kind: "guarded",
    agreementKey: (secret): AgreementKey => new Agreement(filledSlot(AGREEMENT_BYTES, secret)),
    hybridKey: (secrets): HybridKey => new Hybrid(filledSlot(HYBRID_BYTES, secrets)),
    signingKey: (seed): SigningKey => {
      const slot = new Slot(SIGNING_BYTES, 1)
      const publicKey = new Uint8Array(32)
      slot.write((bytes) => sodium.crypto_sign_seed_keypair(publicKey, bytes, seed))
      seed.fill(0)
      return {
        publicKey,
        sign: (message) => {
          const signature = new Uint8Array(64)
          slot.read((bytes) => sodium.crypto_sign_detached(signature, message, bytes))
          return signature
        },
        destroy: () => slot.destroy(),
      }
    },
    wipe: () => {
      wiped = true
      for (const slab of slabs) withSlab(slab, "write", () => sodium.sodium_memzero(slab.memory))
    },
  }
}
