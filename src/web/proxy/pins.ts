/** The pinned identities. The browser remembers them, which reveals a changed identity at the next visit. */
import type { Store } from "../shared/store.ts"
import { objectIn } from "./objectIn.ts"

/** A key id: an RFC 7638 thumbprint, 32 bytes in base64url. */
const KEY_ID = /^[A-Za-z0-9_-]{43}$/
const STORED_AS = "sealgate.pins"

/** The identities that questions are sealed to, and their origin. */
export interface Pinned {
  readonly pins: ReadonlyArray<string>
  /** `person`: entered or confirmed by the user; `link`: from the page's address. */
  readonly from: "person" | "link"
}

const NOTHING: Pinned = { pins: [], from: "person" }

type ReadPins = { readonly pins: ReadonlyArray<string> } | { readonly mistake: string }

/** Reads pasted key ids, separated by white space or commas. */
export const readPins = (text: string): ReadPins => {
  const words = text.split(/[\s,]+/).filter((word) => word !== "")
  if (words.length === 0) return { mistake: "Paste the key id that the operator of this proxy gave you." }
  const wrong = words.find((word) => !KEY_ID.test(word))
  return wrong === undefined
    ? { pins: [...new Set(words)] }
    : { mistake: `“${wrong.slice(0, 60)}” is not a key id: 43 letters, digits, - or _ are expected.` }
}

/** Reads the pins of a link such as `/console#pin=KID`. Browsers never send the fragment. */
export const pinsInLink = (fragment: string): ReadonlyArray<string> => {
  const read = readPins(new URLSearchParams(fragment.replace(/^#/, "")).getAll("pin").join(" "))
  return "pins" in read ? read.pins : []
}

/** Reads the remembered pins. The user can edit the store, so it may hold anything. */
export const rememberedPins = (store: Store): Pinned => {
  const { from, pins } = objectIn(store.getItem(STORED_AS) ?? "")
  const read = readPins(Array.isArray(pins) ? pins.join(" ") : "")
  return "pins" in read ? { pins: read.pins, from: from === "person" ? from : "link" } : NOTHING
}

export const rememberPins = (store: Store, pinned: Pinned): void => {
  if (pinned.pins.length === 0) store.removeItem(STORED_AS)
  else store.setItem(STORED_AS, JSON.stringify(pinned))
}

export const areSame = (some: ReadonlyArray<string>, others: ReadonlyArray<string>): boolean =>
  some.length === others.length && some.every((pin) => others.includes(pin))

interface PinState {
  readonly pinned: Pinned
  /** Other pins of a link, until the user decides. */
  readonly offered?: ReadonlyArray<string>
}

/** A link sets pins if there are none, and never replaces any. A link without pins, such as `#main`, changes nothing. */
export const followLink = (before: PinState, linked: ReadonlyArray<string>): PinState => {
  const { pinned } = before
  if (linked.length === 0) return before
  if (areSame(pinned.pins, linked)) return { pinned }
  return pinned.pins.length === 0 ? { pinned: { pins: linked, from: "link" } } : { pinned, offered: linked }
}
