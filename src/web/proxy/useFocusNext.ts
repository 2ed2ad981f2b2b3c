import type { RefObject } from "preact"
import { useLayoutEffect, useRef } from "preact/hooks"

/** Gives the focus to an element as soon as what is about to change is on the page: whatever has it now may go then. */
export const useFocusNext = (): ((element: RefObject<HTMLElement | null>) => void) => {
  const next = useRef<RefObject<HTMLElement | null> | undefined>(undefined)
  useLayoutEffect(() => {
    next.current?.current?.focus()
    next.current = undefined
  })
  return (element) => {
    next.current = element
  }
}
