import { useEffect, useLayoutEffect, useState } from "preact/hooks"
import { storeOf } from "../shared/store.ts"
import { areSame, followLink, type Pinned, pinsInLink, rememberedPins, rememberPins } from "./pins.ts"

const store = storeOf(() => localStorage)

/** The pins, stored in the browser, and the pins that a link offers until the user decides. */
export const usePins = () => {
  const [state, setState] = useState(() => followLink({ pinned: rememberedPins(store) }, pinsInLink(location.hash)))
  const { offered, pinned } = state

  useEffect(() => rememberPins(store, pinned), [pinned])

  // Not `useEffect`, which runs after the next frame: a link that is opened before that would be lost.
  useLayoutEffect(() => {
    const follow = () => setState((before) => followLink(before, pinsInLink(location.hash)))
    addEventListener("hashchange", follow)
    return () => removeEventListener("hashchange", follow)
  }, [])

  return {
    pinned,
    offered,
    /** Keeps the present array if `next` has the same pins. */
    pin: (next: Pinned) =>
      setState({ pinned: areSame(pinned.pins, next.pins) ? { ...next, pins: pinned.pins } : next }),
    /** Keeps the pins, and removes the offer from the address so that a reload does not ask again. */
    decline: () => {
      history.replaceState(history.state, "", location.pathname + location.search)
      setState({ pinned })
    },
  }
}
