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

export const Pager = ({
  next,
  pages,
  settled,
}: {
  readonly pages: ReturnType<typeof useCursors>
  readonly next: string | undefined
  /** Whether `next` belongs to this page and not to the one before. */
  readonly settled: boolean
}) => {
  const shown = useRef(false)
  // Keeps the buttons, and their focus, while a page loads.
  if (settled) shown.current = pages.page > 1 || next !== undefined
  if (!shown.current) return null
  return (
    <nav class="row" aria-label="Pages">
      <Step onStep={pages.page === 1 ? undefined : pages.newer}>Newer</Step>
      <span class="muted small">Page {pages.page}</span>
      <Step onStep={next === undefined || !settled ? undefined : () => pages.older(next)}>Older</Step>
    </nav>
  )
}
