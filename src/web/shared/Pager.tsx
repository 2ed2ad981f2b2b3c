import { useRef, useState } from "preact/hooks"

/** Cursors of the pages visited so far, for a list that links only to the next page. */
export const useCursors = () => {
  const [cursors, setCursors] = useState<ReadonlyArray<string | undefined>>([undefined])
  return {
    cursor: cursors.at(-1),
    page: cursors.length,
    older: (next: string) => setCursors([...cursors, next]),
    newer: () => setCursors(cursors.slice(0, -1)),
    reset: () => setCursors([undefined]),
  }
}

/** Unusable buttons stay focusable, so that the focus is not lost on the last page. */
const Step = ({ children, onStep }: { readonly children: string; readonly onStep: (() => void) | undefined }) => (
  <button type="button" aria-disabled={onStep === undefined} onClick={onStep}>
    {children}
  </button>
)

interface PagerProps {
  readonly pages: {
    readonly cursors: ReturnType<typeof useCursors>
    readonly next: string | undefined
    readonly busy: boolean
    readonly failure: unknown
  }
}

export const Pager = ({ pages: { busy, cursors, failure, next } }: PagerProps) => {
  const shown = useRef(false)
  // Else `next` may belong to the page before.
  const settled = !busy && failure === undefined
  // Keeps the buttons, and their focus, while a page loads.
  if (settled) shown.current = cursors.page > 1 || next !== undefined
  if (!shown.current) return null
  return (
    <nav class="row" aria-label="Pages">
      <Step onStep={cursors.page === 1 ? undefined : cursors.newer}>Newer</Step>
      <span class="muted small">Page {cursors.page}</span>
      <Step onStep={next === undefined || !settled ? undefined : () => cursors.older(next)}>Older</Step>
    </nav>
  )
}
