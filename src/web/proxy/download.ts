/** Files to keep: what `sealgate verify` takes. */
import type { StreamEnd } from "../../client/SealedStream.ts"
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

/** Lets the browser keep `text` under `name`. */
export const download = (name: string, text: string): void => {
  const url = URL.createObjectURL(new Blob([text], { type: "application/json" }))
  const link = document.createElement("a")
  link.href = url
  link.download = name
  link.click()
  // Not at once: the browser may begin to read it only after this.
  setTimeout(() => URL.revokeObjectURL(url), 60_000)
}
