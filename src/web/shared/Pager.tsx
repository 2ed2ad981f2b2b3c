import { useRef, useState } from "preact/hooks"

/** Pages of a list that only knows the next one: the cursors of the pages so far, the first of which needs none. */
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

/** Buttons that cannot be used stay in the order of the keyboard, so that the focus is not lost on the last page. */
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
  /** Whether `next` follows on this page; until then it follows on the one that was shown before. */
  readonly settled: boolean
}) => {
  const shown = useRef(false)
  // While a page loads the buttons stay, and with them the focus.
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
