import type { RefObject } from "preact"
import { useLayoutEffect, useRef } from "preact/hooks"

/** Focuses an element after the next render, which may remove the element that has the focus now. */
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
