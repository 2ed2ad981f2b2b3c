/** The sealing hot path beside its floor: the bare primitives that nobody could leave out. */
import {
  createCipheriv,
  createDecipheriv,
  createHash,
  diffieHellman,
  generateKeyPairSync,
  randomBytes,
} from "node:crypto"
import { Effect } from "effect"
import { hpkeSeal } from "../src/client/primitives.ts"
import { utf8 } from "../src/domain/bytes.ts"
import { type Suite, X25519, X_WING } from "../src/domain/suites.ts"
import { responseExportContext } from "../src/domain/transcript.ts"
import { hpkeOpen } from "../src/services/sealing/Hpke.ts"
import { KeyVault } from "../src/services/sealing/KeyVault.ts"
import { recipientKey } from "../src/services/sealing/recipientKeys.ts"
import { ResponseSealer } from "../src/services/sealing/ResponseSealer.ts"
import { compare, report } from "./measure.ts"

const bytes = (size: number) => new Uint8Array(randomBytes(size))

const makeSealer = () =>
  new ResponseSealer({
    secret: bytes(32),
    enc: bytes(32),
    responseNonce: bytes(32),
    requestHash: bytes(32),
    request: { credential: bytes(0), payload: utf8("{}") },
  })

const delta = utf8(
  JSON.stringify({
    delta: {
      id: "chatcmpl-1",
      object: "chat.completion.chunk",
      created: 1,
      model: "m",
      choices: [{ index: 0, delta: { content: "word " }, finish_reason: null }],
    },
  }),
)

const sealFrames = (calls: number) => {
  const sealer = makeSealer()
  for (let i = 0; i < calls; i++) sealer.seal("stream", delta, false)
}

/** One AES-256-GCM over a block of the same size, and the two hashes that a chain cannot do without. */
const bareFrames = (calls: number) => {
  const key = bytes(32)
  const aad = bytes(60)
  const block = new Uint8Array(512)
  for (let i = 0; i < calls; i++) {
    const cipher = createCipheriv("aes-256-gcm", key, bytes(12))
    cipher.setAAD(aad)
    const body = cipher.update(block)
    cipher.final()
    const hash = createHash("sha256").update(body).update(cipher.getAuthTag()).digest()
    createHash("sha256").update(hash).digest()
  }
}

export const benchSealing = Effect.gen(function* () {
  const vault = yield* KeyVault
  const info = bytes(52)
  const aad = bytes(40)
  const plaintext = bytes(1024)
  const opening = async (suite: Suite) => {
    const key = recipientKey(suite, vault)
    const sealed = await hpkeSeal(suite, key.publicKey, info, aad, plaintext)
    return async (calls: number) => {
      for (let i = 0; i < calls; i++) {
        const { ciphertext, enc } = sealed
        await hpkeOpen({ key, enc, info, aad, ciphertext, exportContext: responseExportContext })
      }
    }
  }
  const pair = generateKeyPairSync("x25519")
  const peer = generateKeyPairSync("x25519")
  const aesKey = bytes(32)
  const nonce = bytes(12)
  const cipher = createCipheriv("aes-256-gcm", aesKey, nonce)
  const body = Buffer.concat([cipher.update(plaintext), cipher.final()])
  const tag = cipher.getAuthTag()
  const bareOpen = (calls: number) => {
    for (let i = 0; i < calls; i++) {
      diffieHellman({ privateKey: pair.privateKey, publicKey: peer.publicKey })
      const decipher = createDecipheriv("aes-256-gcm", aesKey, nonce)
      decipher.setAuthTag(tag)
      decipher.update(body)
      decipher.final()
    }
  }
  const long = makeSealer()
  for (let i = 0; i < 50_000; i++) long.seal("stream", delta, false)
  const late = (calls: number) => {
    for (let i = 0; i < calls; i++) long.seal("stream", delta, false)
  }

  const comparisons = yield* Effect.promise(async () => [
    await compare(`open a request with X25519 (${vault.kind} vault)`, await opening(X25519), bareOpen, { calls: 300 }),
    await compare("open a request with MLKEM768-X25519", await opening(X_WING), bareOpen, { calls: 300 }),
    await compare("seal a stream frame", sealFrames, bareFrames, { calls: 3000 }),
  ])
  report("Sealing", "bare primitives", comparisons)
  const growth = yield* Effect.promise(() =>
    compare("seal a frame after 50,000 others", late, sealFrames, { calls: 3000 }),
  )
  report("Growth with the stream", "at its start", [growth])
}).pipe(Effect.provide(KeyVault.layer))
