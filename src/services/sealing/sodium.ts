/** libsodium, if the optional `sodium-native` is installed. */
import type { Bytes } from "../../domain/bytes/bytes.ts"

/** The functions used from `sodium-native`, which ships no types. */
export interface Sodium {
  readonly sodium_malloc: (size: number) => Bytes
  readonly sodium_memzero: (buffer: Bytes) => void
  readonly sodium_mprotect_noaccess: (buffer: Bytes) => void
  readonly sodium_mprotect_readonly: (buffer: Bytes) => void
  readonly sodium_mprotect_readwrite: (buffer: Bytes) => void
  readonly randombytes_buf: (buffer: Bytes) => void
  readonly crypto_scalarmult: (shared: Bytes, secret: Bytes, peer: Bytes) => void
  readonly crypto_scalarmult_base: (publicKey: Bytes, secret: Bytes) => void
  readonly crypto_sign_seed_keypair: (publicKey: Bytes, secret: Bytes, seed: Bytes) => void
  readonly crypto_sign_detached: (signature: Bytes, message: Bytes, secret: Bytes) => void
}

// A variable, so that the type checker does not resolve the optional package.
const name: string = "sodium-native"

export const sodium: Sodium | undefined = await import(name).then(
  (module: { readonly default: Sodium }) => module.default,
  () => undefined,
)
