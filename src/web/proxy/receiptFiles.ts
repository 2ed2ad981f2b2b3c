/** Files to keep: what `sealgate verify` takes. */
import type { StreamEnd } from "../../client/sealed/SealedStream.ts"
import type { Exchange } from "./exchanges.ts"
import { objectIn } from "./objectIn.ts"

/** Receipt, proof, the public keys to check them with, and the sealed stream that the proof is about. No plaintext. */
export const receiptFile = (exchange: Exchange, end: StreamEnd): string => {
  const opening = exchange.wire.find(({ title }) => title === "The stream opens")
  return JSON.stringify(
    {
      statements: end.statements,
      recording: {
        response_nonce: opening === undefined ? "" : objectIn(opening.text)["response_nonce"],
        frames: exchange.wire.filter(({ what }) => what === "frame").map(({ text }) => objectIn(text)["ciphertext"]),
      },
      keys: exchange.keys,
    },
    undefined,
    2,
  )
}

/** What proves question and answer to somebody else, and so reveals both. */
export const revealedFile = (exchange: Exchange, end: StreamEnd): string =>
  JSON.stringify({ evidence: end.evidence, keys: exchange.keys }, undefined, 2)
