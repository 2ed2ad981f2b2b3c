import { useEffect, useState } from "preact/hooks"
import { storeOf } from "../shared/store.ts"
import { followLink, type Pinned, pinsInLink, rememberedPins, rememberPins } from "./pins.ts"

const store = storeOf(() => localStorage)

/** What is pinned, kept in the browser; and what the link offers instead of it, until somebody decides. */
export const usePins = () => {
  const [state, setState] = useState(() => followLink(rememberedPins(store), pinsInLink(location.hash)))
  const { offered, pinned } = state

  useEffect(() => rememberPins(store, pinned), [pinned])

  useEffect(() => {
    const follow = () => setState((before) => followLink(before.pinned, pinsInLink(location.hash)))
    addEventListener("hashchange", follow)
    return () => removeEventListener("hashchange", follow)
  }, [])

  return {
    pinned,
    offered,
    pin: (next: Pinned) => setState({ pinned: next }),
    /** Keeps what is pinned, and takes what was offered out of the page's address so that a reload does not ask again. */
    decline: () => {
      history.replaceState(history.state, "", location.pathname + location.search)
      setState({ pinned })
    },
  }
}
