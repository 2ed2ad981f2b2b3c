/** Files for `sealgate verify`. */
import type { StreamEnd } from "../../client/sealed/SealedStream.ts"
import type { Exchange } from "./exchanges.ts"
import { objectIn } from "./objectIn.ts"

/** Receipt, proof, public keys, and the sealed stream. Contains no plaintext. */
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

/** Evidence that proves question and answer to others, and so reveals both. */
export const revealedFile = (exchange: Exchange, end: StreamEnd): string =>
  JSON.stringify({ evidence: end.evidence, keys: exchange.keys }, undefined, 2)
