/** One unit is so many calls of something that the hot path is made of, or of the bare primitives that it cannot do without. */
import {
  createCipheriv,
  createDecipheriv,
  createHash,
  diffieHellman,
  generateKeyPairSync,
  randomBytes,
} from "node:crypto"
import { Context, Effect, Layer, Scope } from "effect"
import { hpkeSeal } from "../../src/client/crypto/hpke.ts"
import { utf8 } from "../../src/domain/bytes/bytes.ts"
import { type Suite, X25519, X_WING } from "../../src/domain/protocol/suites.ts"
import { responseExportContext } from "../../src/domain/protocol/transcript.ts"
import { hpkeOpen } from "../../src/services/sealing/Hpke.ts"
import { KeyVault } from "../../src/services/sealing/KeyVault.ts"
import { recipientKey } from "../../src/services/sealing/recipientKeys.ts"
import { ResponseSealer } from "../../src/services/sealing/ResponseSealer.ts"
import type { Work } from "../harness/Load.ts"

const bytes = (size: number) => new Uint8Array(randomBytes(size))

const makeSealer = () =>
  new ResponseSealer({
    secret: bytes(32),
    enc: bytes(32),
    responseNonce: bytes(32),
    requestHash: bytes(32),
    request: { credential: bytes(0), payload: utf8("{}") },
  })

const delta = utf8(JSON.stringify({ delta: { choices: [{ index: 0, delta: { content: "word " } }] } }))

/** As long as this process. */
const open = Scope.makeUnsafe()

const opening = async (suite: Suite) => {
  const vault = Context.get(await Effect.runPromise(Scope.provide(Layer.build(KeyVault.layer), open)), KeyVault)
  const key = recipientKey(suite, vault)
  const info = bytes(52)
  const aad = bytes(40)
  const { ciphertext, enc } = await hpkeSeal(suite, key.publicKey, info, aad, bytes(1024))
  return async () => {
    hpkeOpen({ key, enc, info, aad, ciphertext, exportContext: responseExportContext })
  }
}

const bareOpening = async () => {
  const { privateKey } = generateKeyPairSync("x25519")
  const { publicKey } = generateKeyPairSync("x25519")
  const key = bytes(32)
  const nonce = bytes(12)
  const cipher = createCipheriv("aes-256-gcm", key, nonce)
  const body = Buffer.concat([cipher.update(bytes(1024)), cipher.final()])
  return () => {
    diffieHellman({ privateKey, publicKey })
    const decipher = createDecipheriv("aes-256-gcm", key, nonce).setAuthTag(cipher.getAuthTag())
    decipher.update(body)
    decipher.final()
  }
}

const sealing = async (before: number) => {
  const sealer = makeSealer()
  for (let i = 0; i < before; i++) sealer.seal("stream", delta, false)
  return () => {
    sealer.seal("stream", delta, false)
  }
}

/** One AES-256-GCM over a block of the same size, and the two hashes that a chain cannot do without. */
const bareSealing = async () => {
  const key = bytes(32)
  const aad = bytes(60)
  const block = new Uint8Array(512)
  return () => {
    const cipher = createCipheriv("aes-256-gcm", key, bytes(12))
    cipher.setAAD(aad)
    const body = cipher.update(block)
    cipher.final()
    const hash = createHash("sha256").update(body).update(cipher.getAuthTag()).digest()
    createHash("sha256").update(hash).digest()
  }
}

const MAKERS: Readonly<Record<string, () => Promise<() => Promise<void> | void>>> = {
  "open with X25519": () => opening(X25519),
  "open with MLKEM768-X25519": () => opening(X_WING),
  "bare X25519 and AES-GCM": bareOpening,
  "seal a frame": () => sealing(0),
  "seal a frame after 50,000 others": () => sealing(50_000),
  "bare AES-GCM and two hashes": bareSealing,
}

export const make = async ({ name }: { readonly name: string }): Promise<Work> => {
  const call = await MAKERS[name]?.()
  if (call === undefined) throw new Error(`nothing is called ${name}`)
  return {
    unit: async () => {
      for (let i = 0; i < CALLS; i++) await call()
    },
  }
}

/** Calls of one unit: one by one, they would cost less than the load does. */
export const CALLS = 50
