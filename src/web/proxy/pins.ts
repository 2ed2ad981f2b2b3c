/**
 * Which identities the console believes. Pins are public, so they are remembered: that a proxy shows another identity
 * than last time is what a reader of the page has to notice.
 */
import type { Store } from "../shared/store.ts"
import { objectIn } from "./objectIn.ts"

/** A key id: an RFC 7638 thumbprint, 32 bytes in base64url. */
const KEY_ID = /^[A-Za-z0-9_-]{43}$/
const STORED_AS = "sealgate.pins"

/** The identities that questions are sealed to, none at first, and on whose word. */
export interface Pinned {
  readonly pins: ReadonlyArray<string>
  /** `person`: somebody entered them here, or said that they are right; `link`: they came with the page's address. */
  readonly from: "person" | "link"
}

const NOTHING: Pinned = { pins: [], from: "person" }

type ReadPins = { readonly pins: ReadonlyArray<string> } | { readonly mistake: string }

/** Key ids out of what somebody pasted: separated by spaces, commas or lines. */
export const readPins = (text: string): ReadPins => {
  const words = text.split(/[\s,]+/).filter((word) => word !== "")
  if (words.length === 0) return { mistake: "Paste the key id that the operator of this proxy gave you." }
  const wrong = words.find((word) => !KEY_ID.test(word))
  return wrong === undefined
    ? { pins: [...new Set(words)] }
    : { mistake: `“${wrong.slice(0, 60)}” is not a key id: 43 letters, digits, - or _ are expected.` }
}

/** Pins in a link such as `/console#pin=KID`, which an operator hands out. The fragment is never sent anywhere. */
export const pinsInLink = (fragment: string): ReadonlyArray<string> => {
  const read = readPins(new URLSearchParams(fragment.replace(/^#/, "")).getAll("pin").join(" "))
  return "pins" in read ? read.pins : []
}

/** What was kept last time. The store is the reader's to change, so it may hold anything. */
export const rememberedPins = (store: Store): Pinned => {
  const { from, pins } = objectIn(store.getItem(STORED_AS) ?? "")
  const read = readPins(Array.isArray(pins) ? pins.join(" ") : "")
  return "pins" in read ? { pins: read.pins, from: from === "person" ? from : "link" } : NOTHING
}

export const rememberPins = (store: Store, pinned: Pinned): void => {
  if (pinned.pins.length === 0) store.removeItem(STORED_AS)
  else store.setItem(STORED_AS, JSON.stringify(pinned))
}

const areSame = (some: ReadonlyArray<string>, others: ReadonlyArray<string>): boolean =>
  some.length === others.length && some.every((pin) => others.includes(pin))

/**
 * What a link with `linked` pins does to what is `pinned`: it fills a gap, and replaces nothing. Where it names others,
 * they are `offered` for somebody to decide.
 */
export const followLink = (
  pinned: Pinned,
  linked: ReadonlyArray<string>,
): { readonly pinned: Pinned; readonly offered?: ReadonlyArray<string> } => {
  if (linked.length === 0 || areSame(pinned.pins, linked)) return { pinned }
  return pinned.pins.length === 0 ? { pinned: { pins: linked, from: "link" } } : { pinned, offered: linked }
}
