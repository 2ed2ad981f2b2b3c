/** The cryptography of one exchange on bare primitives. Inputs stay the same: the time does not depend on them. */
import {
  createCipheriv,
  createDecipheriv,
  createHash,
  createHmac,
  createPrivateKey,
  createPublicKey,
  decapsulate,
  encapsulate,
  generateKeyPairSync,
  hash,
  randomBytes,
} from "node:crypto"

/** The part of `sodium-native` used here (it has no types). It agrees and signs in half the time of Node's library. */
interface Sodium {
  readonly crypto_scalarmult: (shared: Uint8Array, secret: Uint8Array, peer: Uint8Array) => void
  readonly crypto_scalarmult_base: (publicKey: Uint8Array, secret: Uint8Array) => void
  readonly crypto_sign_keypair: (publicKey: Uint8Array, secret: Uint8Array) => void
  readonly crypto_sign_detached: (signature: Uint8Array, message: Uint8Array, secret: Uint8Array) => void
}

const KEY = randomBytes(32)
const NONCE = randomBytes(12)
/** Typical sizes of the labelled inputs to HPKE's key schedule and the protocol's hashes. */
const INPUT = randomBytes(100)
const REQUEST = 512
const ANSWER = 512
const END_RECORD = 4096

const seal = (length: number): Buffer => {
  const cipher = createCipheriv("aes-256-gcm", KEY, NONCE)
  cipher.setAAD(INPUT)
  return Buffer.concat([cipher.update(Buffer.alloc(length)), cipher.final(), cipher.getAuthTag()])
}

const open = (sealed: Buffer): void => {
  const decipher = createDecipheriv("aes-256-gcm", KEY, NONCE)
  decipher.setAAD(INPUT).setAuthTag(sealed.subarray(-16))
  decipher.update(sealed.subarray(0, -16))
  decipher.final()
}

const times = (count: number, run: () => void): void => {
  for (let i = 0; i < count; i++) run()
}
const mac = () => void createHmac("sha256", KEY).update(INPUT).digest()
const digest = () => void hash("sha256", INPUT, "buffer")

/** Creates the keys of a session and of the identity, and returns a function that computes one exchange. */
export const makeCryptography = async (): Promise<() => void> => {
  // A variable, so that the type checker does not look for types.
  const name: string = "sodium-native"
  const { default: sodium } = (await import(name)) as { readonly default: Sodium }
  // A session holds the 64-byte seed of its key, so each request imports it.
  const seed = generateKeyPairSync("ml-kem-768").privateKey.export({ format: "der", type: "pkcs8" })
  const { ciphertext } = encapsulate(createPublicKey(createPrivateKey({ key: seed, format: "der", type: "pkcs8" })))
  const secret = new Uint8Array(randomBytes(32))
  const peer = new Uint8Array(32)
  sodium.crypto_scalarmult_base(peer, new Uint8Array(randomBytes(32)))
  const shared = new Uint8Array(32)
  const identity = new Uint8Array(64)
  sodium.crypto_sign_keypair(new Uint8Array(32), identity)
  const receipt = new Uint8Array(randomBytes(900))
  const signature = new Uint8Array(64)
  const request = seal(REQUEST)
  return () => {
    // Look up the session by a hash, then open: X-Wing and HPKE's key schedule.
    digest()
    decapsulate(createPrivateKey({ key: seed, format: "der", type: "pkcs8" }), ciphertext)
    sodium.crypto_scalarmult(shared, secret, peer)
    createHash("sha3-256").update(INPUT).digest()
    times(6, mac)
    open(request)
    // Request hash, response keys, commitments, and the start of the chain.
    times(3, digest)
    randomBytes(32)
    times(8, mac)
    // Answer and end record, two links of the chain, and the signed receipt.
    seal(ANSWER)
    sodium.crypto_sign_detached(signature, receipt, identity)
    seal(END_RECORD)
    times(4, digest)
  }
}
