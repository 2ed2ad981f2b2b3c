import { readFileSync } from "node:fs"
import type { Bytes } from "../../../src/domain/bytes/bytes.ts"
import type { Negatives } from "./negatives.ts"
import type { Vectors } from "./vectors.ts"

const read = (name: string): unknown =>
  JSON.parse(readFileSync(new URL(`../../../docs/protocol/${name}`, import.meta.url), "utf8"))

/** docs/protocol/vectors.json as it is published. A test of its own checks that it is what the reference computes. */
export const published = read("vectors.json") as Vectors

/** docs/protocol/negative.json, likewise. */
export const negatives = read("negative.json") as Negatives

/** Bytes of hexadecimal text, in a buffer of their own. */
export const unhex = (value: string): Bytes => new Uint8Array(Buffer.from(value, "hex"))

export type PublishedExchange = Vectors["exchanges"][number]

export const exchangeNamed = (name: string): PublishedExchange => {
  const found = published.exchanges.find((exchange) => exchange.name === name)
  if (found === undefined) throw new Error(`there is no published exchange ${name}`)
  return found
}

export const sessionOf = ({ session }: PublishedExchange): Vectors["sessions"]["X25519"] => published.sessions[session]

/** Whether the frames of an exchange come by the clock, where the tests let it tick. */
export const isPacedExchange = ({ name }: PublishedExchange): boolean => name.startsWith("paced")
