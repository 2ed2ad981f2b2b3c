/** Shared parts of the negative vectors. */
import type { PublishedExchange } from "../published.ts"
import { b64u, fromB64u } from "../reference.ts"
import type { Vectors } from "../vectors.ts"

export type Json = Readonly<Record<string, unknown>>

/** A body: text, or bytes that are none. */
export interface Body {
  readonly body?: string
  readonly body_hex?: string
}

export type Given<Extra> = Extra & { readonly rules: ReadonlyArray<string>; readonly why: string }

export const exchangeNamed = (vectors: Vectors, name: string): PublishedExchange => {
  const found = vectors.exchanges.find((exchange) => exchange.name === name)
  if (found === undefined) throw new Error(`there is no exchange ${name}`)
  return found
}

export const withByte = (textOfBytes: string, at: number): string => {
  const changed = fromB64u(textOfBytes)
  changed[at] = (changed[at] ?? 0) ^ 1
  return b64u(changed)
}

export const JSON_TYPE = "application/json"
